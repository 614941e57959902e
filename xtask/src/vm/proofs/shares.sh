# Two programs want one CPU, each in a control group: a thousand times the ratio of their CPU times, before one of
# them is given another weight by the lever, while it has it, and after, of five windows the median.
of_program="cpu-weight=300"
groups=/sys/fs/cgroup
echo +cpu > $groups/cgroup.subtree_control
mkdir $groups/neighbour $groups/program
# In that group, with further levers.
spin() {
    echo 0 > "$groups/$1/cgroup.procs"
    shift
    exec linerate levers run cpu-affinity=0 "$@" -- sh -c 'while :; do :; done'
}
# Whoever still becomes the program is called otherwise.
spins() { tr '\0' ' ' < "/proc/$1/cmdline" | grep -q '^sh -c '; }
used() { awk '/^usage_usec/ { print $2 }' "$groups$(cut -d : -f 3 "/proc/$1/cgroup")/cpu.stat"; }
# A guest that has to wait for this machine takes that for time of whatever it was running, which spoils one of them.
windows() {
    for _ in 1 2 3 4 5; do
        set -- $(used $neighbour) $(used $program)
        usleep 300000
        echo $(($(used $neighbour) - $1)) $(($(used $program) - $2))
    done | awk '{ printf "%d\n", 1000 * $2 / ($1 + 1) }'
}
share() {
    time=$1
    shift
    spin program "$@" &
    program=$!
    await spins $program
    tell "shares.$time" "$(windows | sort -n | sed -n 3p)"
    kill $program
    wait $program || true
}
spin neighbour &
neighbour=$!
await spins $neighbour
share before
share during $of_program
have_no_group() { ! ls -d $groups/linerate-*; }
await have_no_group
share after
kill $neighbour
wait $neighbour || true
rmdir $groups/neighbour $groups/program
echo -cpu > $groups/cgroup.subtree_control
is_within() {
    ratio=$(seen "shares.$1")
    [ "$ratio" -ge "$2" ] && [ "$ratio" -lt "$3" ] || said "$1 it had $ratio thousandths of its neighbour's time"
}
weight_is_given() { is_within before 500 2000 && is_within during 2000 6000 && is_within after 500 2000; }
claim 'a program with three times the weight has that much of the CPU beside its neighbour, and no other after it' \
    weight_is_given
