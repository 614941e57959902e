# The locality step of the article on 1.2 million requests a second: a worker on each CPU, and for each a queue of the
# card. The server has eth0; the client has eth1, in a namespace of its own, where this `ssh` leads.
cat > /usr/bin/ssh << 'END'
#!/bin/sh
while :; do
    case $1 in
        -o | -F | -p | -l) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=$1
shift
if [ "$host" = client ]; then exec ip netns exec far sh -c "$*"; fi
exec sh -c "$*"
END
chmod +x /usr/bin/ssh
printf '[host.client]\nssh = "client"\n[host.server]\nssh = "server"\naddress = "10.77.0.1"\n' > hosts.toml
modprobe virtio_net
await [ -e /sys/class/net/eth1 ]
ip netns add far
ip link set eth1 netns far
ip address add 10.77.0.1/24 dev eth0
ip link set eth0 up
ip -n far address add 10.77.0.2/24 dev eth1
ip -n far link set eth1 up
card=$(basename "$(readlink /sys/class/net/eth0/device)")
numbers() { sed -n "s/^ *\([0-9]*\):.* $card-[io].*put\.\([0-9]*\)$/\1 \2/p" /proc/interrupts; }

# An ordinary box: interrupts come to any CPU and any sends by any queue, of which there are two. The driver by itself
# would give each queue a CPU.
leave_to_chance() {
    for queue in /sys/class/net/eth0/queues/tx-*; do echo 0 > "$queue/xps_cpus"; done
    numbers | while read -r number _; do echo 0-3 > "/proc/irq/$number/smp_affinity_list"; done
}
ethtool -L eth0 combined 2
leave_to_chance
state() {
    ethtool -l eth0 | tail -n 2
    grep . /sys/class/net/eth0/queues/*/?ps_cpus
    cat /proc/irq/*/smp_affinity_list
}
state > ordinary

of_card="combined-channels=spread interrupt-affinity=spread transmit-packet-steering=spread"
for lever in $of_card; do
    linerate levers apply "$lever" --device eth0 --trial 600
    if [ "$lever" = "${of_card%% *}" ]; then leave_to_chance; fi
done > said 2>&1
numbers | while read -r number queue; do echo "$queue $(cat "/proc/irq/$number/smp_affinity_list")"; done > served
for queue in 0 1 2 3; do
    echo "$queue $(printf %d "0x$(cat /sys/class/net/eth0/queues/tx-$queue/xps_cpus)")"
done > sent
queues_are_spread() {
    same "$(ethtool -l eth0 | awk '/^Combined:/ { last = $2 } END { print last }')" 4 &&
        same "$(wc -l < served)" 8 && awk '$1 != $2 { exit 1 }' served && same "$(echo $(cat sent))" "0 1 1 2 2 4 3 8" ||
        { cat said served sent && false; }
}
claim 'each queue of a card has a CPU that serves its interrupts and alone sends by it' queues_are_spread

linerate serve --listen 10.77.0.1:8080 --workers 4 --cpus 0-3 --steer cbpf > steered-server &
server=$!
await grep listening steered-server
await ip netns exec far ping -c 1 -W 1 10.77.0.1
# Of each queue, the interrupts by which packets came; of each CPU, the sockets of the processes that have it alone.
came() { awk -v name="$card-input" 'index($NF, name) { print $2 + $3 + $4 + $5 }' /proc/interrupts; }
has() {
    for cpu in 0 1 2 3; do
        for process in $(pidof linerate); do
            if grep -q "^Cpus_allowed_list:.$cpu\$" "/proc/$process/status"; then ls -l "/proc/$process/fd"; fi
        done | grep -c socket:
    done
}
rose() { paste "$1" "$2" | awk '$2 > $1 { print NR - 1 }'; }
for _ in 1 2 3 4 5 6 7 8; do
    came > came-before
    has > had
    (sleep 60 | ip netns exec far nc 10.77.0.1 8080) > /dev/null 2>&1 &
    accepted() { has > has-now && ! cmp -s had has-now; }
    await accepted
    came > came-now
    # Other packets, such as those of ARP, may have come by other queues meanwhile.
    echo $(rose had has-now) by $(rose came-before came-now) >> steered
done
kill $server
connections_are_steered() {
    awk '{ found = 0; for (field = 3; field <= NF; field++) if ($field == $1) found = 1; if (!found) exit 1 }' steered &&
        [ "$(cut -c1 steered | sort -u | wc -l)" -gt 1 ] || { cat steered && false; }
}
claim 'the worker on the CPU that a connection came in by has it, one by one, on several CPUs' connections_are_steered
linerate levers undo > said 2>&1
put_back() { state | diff ordinary -; }
claim 'channels, interrupts and senders are put back as they were' put_back

whole() {
    linerate study run http-json --whole --hosts hosts.toml --host --server-cpus 0-3 --client-cpus 0-3 --yes "$@"
}
whole --workers 4 --dry-run > plan 2>&1
whole --dry-run > plan-of-one 2>&1
step_is_planned() {
    grep "^locality: .*$of_card connection-steering=cbpf" plan && ! grep 'spread was left out' plan || { cat plan && false; }
}
one_worker_is_named() {
    for lever in combined-channels interrupt-affinity transmit-packet-steering connection-steering; do
        grep "doubt: $lever=[a-z]* was left out: the server has one worker" plan-of-one || { cat plan-of-one && false; } || return
    done
}
claim 'the locality step is planned as the article has it' step_is_planned
claim 'with one worker each part of the step that is missing is named' one_worker_is_named
