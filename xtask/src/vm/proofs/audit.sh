# How often the kernel's audit code is entered by the system calls of processes that were born at different
# times, all while audit is off, and what linerate tells at those times. Last of all: what it leaves stays until the
# next boot.
set -e
by_hand="syscall-audit=never,task"
rule=${by_hand#*=}
calls=100
tracing=/sys/kernel/tracing
mount -t tracefs tracing $tracing
echo 'p:audited __audit_syscall_entry' > $tracing/kprobe_events
# A process that makes more than so many system calls once it is told to, without one for its birth alone.
born() {
    mkfifo "go.$1"
    (
        read -r _ < "go.$1"
        for _ in $(seq $calls); do : < /dev/null; done
    ) &
    echo "$!" > "born.$1"
}
told() { tell "audit.told.$1" "$(linerate levers show syscall-audit --json | sed -n 's/^  "now": "\(.*\)",$/\1/p')"; }
off_is_told() { dmesg | grep -q 'audit_enabled=0 old=1'; }
told early
born early
auditctl -e 1
told on
born on
auditctl -e 0
await off_is_told
told late
born late
auditctl -a "$rule"
told spared
born spared
auditctl -d "$rule"
told again
born again
echo 'hist:keys=common_pid' > $tracing/events/kprobes/audited/trigger
echo 1 > $tracing/events/kprobes/audited/enable
for time in early on late spared again; do
    process=$(cat born.$time)
    echo > go.$time
    wait "$process"
    tell "audit.born.$time" "$(awk -v pid="$process" '$2 == "common_pid:" && $3 == pid { count = $NF }
        END { print count + 0 }' $tracing/events/kprobes/audited/hist)"
done
was() {
    entered=$(seen "audit.born.$1")
    if [ "$2" = slow ]; then [ "$entered" -gt $calls ]; else same "$entered" 0; fi ||
        said "born $1, it was audited $entered times" || return
    case $(seen "audit.told.$1") in "$3"*) ;; *) said "$1: $(seen "audit.told.$1")" ;; esac
}
latch_is_told() {
    latched='System calls are not audited now, but were since boot'
    was early fast 'System calls are not audited.' && was on slow 'System calls are audited.' &&
        was late slow "$latched" && was again slow "$latched" &&
        was spared fast 'System calls of processes that are started now are not audited;'
}
claim 'processes born after audit was on enter its code though it is off, but for a rule, and that is told' latch_is_told
