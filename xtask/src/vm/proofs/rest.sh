# What a guest has by its own files, as lines `NAME VALUE` in `truth`, and beside it what linerate
# tells of the same at rest.
set -eu
tell() {
    name=$1
    shift
    echo "$name $*" >> truth
}
await() {
    for _ in $(seq 500); do
        if "$@" > /dev/null 2>&1; then return; fi
        usleep 20000
    done
    echo "in vain: $*" >&2
    exit 1
}

tell release "$(uname -r)"
tell cpus "$(grep -c ^processor /proc/cpuinfo)"
tell memory_kib "$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)"
# The kernel has this file where it keeps the time of interrupts, and no other shows it.
tell irq_pressure "$(if [ -e /proc/pressure/irq ]; then echo on; else echo off; fi)"
tell clocksource "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
linerate facts --json > at-rest.json

# The oldest kernel that has what a ring needs is among the guests.
linerate serve --listen 8080 --engine uring > near &
await grep listening near
linerate load http://127.0.0.1:8080/json -c 4 --settle 100ms -d 1s --json > loopback.json
