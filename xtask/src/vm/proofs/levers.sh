# Each lever of the host, set to another value, looked at and put back, as lines `lever.NAME STATE` in
# `truth`: on a machine of its own, so that none of a user's is touched.
asked="busy-poll=50 busy-read=50 softirq-budget=600 softirq-budget-time=16000 receive-backlog=2000
device-weight=32 default-qdisc=pfifo_fast receive-flow-table=32768 receive-buffer-limit=4194304
send-buffer-limit=4194304 swappiness=10 dirty-ratio=11 dirty-background-ratio=3 memory-reserve=20000
huge-pages=always huge-pages-defrag=madvise timer-migration=0 statistics-interval=10
realtime-share=900000 clocksource=hpet mtu=1400 transmit-queue-length=500 gro-flush-timeout=20000
napi-defer-hard-irqs=2 threaded-napi=1 receive-packet-steering=0-1"
# What is not on this kernel ends nothing.
set +e
# What the kernel counts by itself is no setting.
state() {
    (cd /proc/sys && grep -s . kernel/sched_* kernel/timer_migration net/core/* net/ipv4/* vm/*) |
        grep -v -e stat_refresh -e nr_ -e "$followed"
    cat /sys/kernel/mm/transparent_hugepage/* /sys/devices/system/clocksource/clocksource0/current*
    cd /sys/class/net/eth0 || return
    cat mtu tx_queue_len gro_flush_timeout napi_defer_hard_irqs threaded queues/*/rps_cpus
    cd - > /dev/null || return
}
for lever in $asked; do
    name=${lever%%=*}
    # With huge pages the kernel counts its reserve anew, as the lever's page says.
    followed=none
    if [ "$name" = huge-pages ]; then followed=min_free_kbytes; fi
    state > before 2> /dev/null
    if ! linerate levers apply "$lever" --device eth0 > said 2>&1; then
        tell "lever.$name" "$(tr '\n' ' ' < said)"
        continue
    fi
    state > during 2> /dev/null
    linerate levers undo "$name" > said 2>&1
    state > after 2> /dev/null
    if cmp -s before during; then
        tell "lever.$name" "changed nothing"
    elif cmp -s before after; then
        tell "lever.$name" "restored"
    else
        tell "lever.$name" "not put back: $(diff before after | tr '\n' ' ')"
    fi
done
