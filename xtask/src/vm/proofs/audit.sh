# How often the kernel's audit code is entered by the system calls of processes that were born at different
# times, all while audit is off, as lines `audit.born.TIME COUNT` in `truth`, and beside it what linerate
# tells at those times, as `audit.told.TIME WORDS`. Last of all: what it leaves stays until the next boot.
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
