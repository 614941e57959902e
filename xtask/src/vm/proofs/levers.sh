# Each lever of the host that a guest has, set to another value, looked at and put back: on a machine of its own, so
# that none of a user's is touched.
# On in some kernels, off in others.
autogroup=$((1 - $(cat /proc/sys/kernel/sched_autogroup_enabled)))
asked="busy-poll=50 busy-read=50 softirq-budget=600 softirq-budget-time=16000 receive-backlog=2000
device-weight=32 default-qdisc=pfifo_fast receive-flow-table=32768 receive-buffer-limit=4194304
send-buffer-limit=4194304 swappiness=10 dirty-ratio=11 dirty-background-ratio=3 memory-reserve=20000
huge-pages=always huge-pages-defrag=madvise timer-migration=0 statistics-interval=10
realtime-share=900000 numa-balancing=1 nmi-watchdog=1 scheduler-autogroup=$autogroup clocksource=hpet
tcp-memory=10000,20000,30000 udp-memory=10000,20000,30000 guest-halt-poll=100000 frequency-governor=powersave energy-preference=power"
of_card="mtu=1400 transmit-queue-length=500 gro-flush-timeout=20000 napi-defer-hard-irqs=2 threaded-napi=1
receive-packet-steering=0-1 interrupt-affinity=1 receive-coalescing=9000 receive-ring=1024 transmit-ring=512
receive-offload=on segmentation-offload=off software-segmentation=off udp-receive-offload=on
qdisc=pfifo_fast qdisc=noqueue big-tcp=60000 initial-window=30 initial-receive-window=40"
# What is not on this kernel ends nothing.
set +e
state=state_of_host
# What was put there before is no default, and has settings that no undo would bring back.
tc qdisc del dev eth0 root 2> /dev/null
# What the kernel counts by itself is no setting.
state_of_host() {
    (cd /proc/sys && grep -s . kernel/sched_* kernel/timer_migration kernel/numa_balancing \
        kernel/nmi_watchdog net/core/* net/ipv4/* vm/*) |
        grep -v -e stat_refresh -e nr_
    cat /sys/kernel/mm/transparent_hugepage/* /sys/devices/system/clocksource/clocksource0/current*
    cat /sys/module/haltpoll/parameters/* /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
    cat /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference
}
state_of_card() {
    ethtool -c eth0
    ethtool -g eth0
    ethtool -k eth0
    tc qdisc show dev eth0
    # Whether the wire is up changes for a while after the card was set up anew.
    ip -details link show eth0 | grep -o 'gso_max_size.*'
    ip route | sed 's/ linkdown//'
    cat /proc/irq/*/smp_affinity_list
    cd /sys/class/net/eth0 || return
    cat mtu tx_queue_len gro_flush_timeout napi_defer_hard_irqs threaded queues/*/rps_cpus
    cd - > /dev/null || return
}
after() { tr ' ' '\n' | awk -v name="$1" 'last == name { print } { last = $1 }'; }
# What ethtool, tc and ip say of a setting of the card.
told_by_card() {
    case $1 in
        rx-usecs) ethtool -c eth0 | awk '/^rx-usecs:/ { print $2 }' ;;
        rx-ring) ethtool -g eth0 | awk '/^RX:/ { last = $2 } END { print last }' ;;
        tx-ring) ethtool -g eth0 | awk '/^TX:/ { last = $2 } END { print last }' ;;
        qdisc) tc qdisc show dev eth0 root | awk '{ print $2 }' ;;
        init*) ip route show "$(echo "$1" | awk '{ print $5 }')" dev eth0 | after "${1%% *}" ;;
        gso_* | gro_*) ip -details link show eth0 | after "$1" ;;
        rx-gro) told_by_card generic-receive-offload ;;
        tx-generic-segmentation) told_by_card generic-segmentation-offload ;;
        *) ethtool -k eth0 | awk -v name="$1:" '$1 == name { print $2 }' ;;
    esac
}
# What the knobs hold that linerate says it has set, each once: of words to choose from, that in
# brackets.
held() {
    sed -n '/the kernel changed it as well/d; s/^\(.*\): .* → .*/\1/p' said | while read -r knob; do
        case $knob in
            *" of eth0") told_by_card "${knob% of eth0}" ;;
            /*) cat "$knob" ;;
            *) cat "/proc/sys/$(echo "$knob" | tr . /)" ;;
        esac
    done | sed 's/.*\[\(.*\)\].*/\1/' | tr '\t' , | sort -u
}
for lever in $asked $of_card; do
    if [ "$lever" = "${of_card%% *}" ]; then state=state_of_card; fi
    name=${lever%%=*}
    wanted=${lever#*=}
    # CPUs are asked for as a list and held as a mask.
    if [ "$wanted" = 0-1 ]; then wanted=3; fi
    # The card counts interrupts a second, and in fours.
    if [ "$lever" = receive-coalescing=9000 ]; then wanted=9259; fi
    # With huge pages the kernel keeps more memory free than this, which must come back.
    if [ "$name" = huge-pages ]; then echo 5000 > /proc/sys/vm/min_free_kbytes; fi
    $state > before 2> /dev/null
    if ! linerate levers apply "$lever" --device eth0 > said 2>&1; then
        tell "lever.$name" "$(tr '\n' ' ' < said)"
        continue
    fi
    holds=$(held)
    if [ "$name" = huge-pages ]; then moved=$(cat /proc/sys/vm/min_free_kbytes); fi
    $state > during 2> /dev/null
    linerate levers undo "$name" > said 2>&1
    $state > after 2> /dev/null
    if [ "$holds" != "$wanted" ]; then
        tell "lever.$name" "holds $holds instead of $wanted"
    elif cmp -s before during; then
        tell "lever.$name" "changed nothing"
    elif cmp -s before after; then
        tell "lever.$name" "restored"
    else
        tell "lever.$name" "not put back: $(diff before after | tr '\n' ' ')"
    fi
done
# What is not restored may only be what a guest has nothing of, by the words for it. A watchdog without a counter to
# run it is refused by Linux 6.1 and only shown by later ones.
levers_come_back() {
    none='this kernel or machine has no'
    grep '^lever\.' seen | grep -v -e ' restored$' -e "^lever.energy-preference .*$none" \
        -e "^lever.frequency-governor .*$none" -e "^lever.guest-halt-poll .*$none" \
        -e '^lever.nmi-watchdog .*kernel\.nmi_watchdog' && return 1
    same "$(grep -c '^lever\.' seen)" "$(echo $asked $of_card | wc -w)"
}
claim 'each lever of the host and of a card that there is is set, held and put back' levers_come_back
# The default was noqueue when the kernel chose for this card; an undo would get it another by now.
default=$(cat /proc/sys/net/core/default_qdisc)
tc qdisc replace dev eth0 root pfifo
echo noqueue > /proc/sys/net/core/default_qdisc
tc qdisc del dev eth0 root
echo "$default" > /proc/sys/net/core/default_qdisc
noqueue_stays() {
    same "$(told_by_card qdisc)" noqueue &&
        linerate levers apply qdisc=pfifo_fast --device eth0 2>&1 |
        grep 'its noqueue is from a time when net.core.default_qdisc was that'
}
claim 'with huge pages the kernel keeps more memory free, which is put back with them' [ "$moved" -gt 5000 ]
claim 'a card whose noqueue would not come back is left as it is' noqueue_stays
