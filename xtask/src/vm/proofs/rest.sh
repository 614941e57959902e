# What must hold at rest of what linerate tells, and what all scripts of a guest need.
set -eu
# What was seen, for claims about it, as lines `NAME VALUE` in `seen`.
tell() {
    name=$1
    shift
    echo "$name $*" >> seen
}
seen() { sed -n "s/^$1 //p" seen | head -n 1; }
await() {
    for _ in $(seq 500); do
        if "$@" > /dev/null 2>&1; then return; fi
        usleep 20000
    done
    echo "in vain: $*" >&2
    exit 1
}

# A claim holds where what follows it does; what that prints is why it does not.
claim() {
    words=$1
    shift
    if why=$("$@" 2>&1); then echo "held   $words"; else echo "FAILED $words: $why"; fi
}
# What linerate tells, and what is so.
said() { echo "$*" && false; }
same() { [ "$1" = "$2" ] || { echo "told $1, in truth $2" && false; }; }
has_word() { case " $2 " in *" $1 "*) ;; *) echo "no $1 in $2" && false ;; esac; }
# What jq(1) makes of a page of linerate's, and what must be so of one.
page() { jq -r "$2" "$1.json"; }
so() { [ "$(page "$1" "$2")" = true ] || { echo "in $1.json it is not so that $2" && false; }; }

# A young kernel may take another clock at any moment, as `tsc` in the place of `tsc-early`.
clock() { cat /sys/devices/system/clocksource/clocksource0/current_clocksource; }
clock_before=$(clock)
linerate facts --json > at-rest.json
clock_after=$(clock)

# The oldest kernel that has what a ring needs is among the guests.
linerate serve --listen 8080 --engine uring > near &
await grep listening near
linerate load http://127.0.0.1:8080/json -c 4 --settle 100ms -d 1s --json > loopback.json

kernel_is_told() {
    same "$(page at-rest .facts.kernel_release)" "$(uname -r)" && same "$(uname -r)" "$release"
}
board_is_told() {
    memory_kib=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
    same "$(page at-rest .facts.cpus_online)" "$(grep -c ^processor /proc/cpuinfo)" &&
        same "$(page at-rest .facts.memory_bytes)" $((memory_kib * 1024)) &&
        has_word "$(page at-rest .facts.clocksource)" "$clock_before $clock_after" &&
        same "$(page at-rest .facts.virtualisation)" QEMU
}
# PSI has a file for interrupts where the kernel keeps their time (kernel/sched/psi.c, Linux 6.1 on). Whatever
# the kind: what loopback receives in softirqs is in the account.
interrupts_are_told() {
    if [ -e /proc/pressure/irq ]; then kept=on; else kept=off; fi
    same $kept "$keeps_irq_time" && same "$(page at-rest .facts.irq_time_accounting)" $kept &&
        so loopback '.machine_us_per_request.softirq > 0'
}
claim 'facts have the kernel that was booted' kernel_is_told
claim 'facts have its processors, memory, clock and hypervisor' board_is_told
claim 'facts tell whether interrupts are kept off the clocks of processes, and softirqs are in the machine'"'"'s account' \
    interrupts_are_told
