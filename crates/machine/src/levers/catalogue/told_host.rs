//! What is chosen when a machine is booted or a program is built: found and explained, and left to a person.

use model::Binds;

use crate::levers::advice::{Advice, Look};
use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::sights;

pub(super) static ROWS: &[Advice] = &[
    Advice {
        card: Card {
            name: "program-build",
            title: "how a program was compiled",
            group: Group::Application,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Failures(
                "the program ends with SIGILL, or computes what its source does not say",
            ),
            about: "Flags of the compiler (-O3, -march=native, link-time and profile-guided \
                optimisation), which only another build changes.",
            helps: "programs that spend their time in their own code: see `linerate doctor --pid PID` \
                and a profile for how much that is",
            hurts: "what is built for one processor ends with SIGILL on an older one; a profile that \
                is not like the load makes it slower",
            published: Some(
                "-O3 and -march=native 5 to 10 % each, as a part of +55 % requests/s (224 to 347 k), in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Sight(sights::of_each_program),
        by_hand: "a program is built by whoever has its source: CFLAGS='-O3 -march=native -flto', or \
            RUSTFLAGS='-C target-cpu=native' cargo build --release; then start both builds side by side, and `linerate versus \
            http://127.0.0.1:8080/ http://127.0.0.1:8081/` says which is better and by how much, as `linerate \
            bench 'old CMD' 'new CMD'` does for commands; its memory allocator takes no other build: allocator",
    },
    Advice {
        card: Card {
            name: "memory-nodes",
            title: "memory near the CPU that reads it (NUMA)",
            group: Group::Memory,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Memory(
                "with --membind a program is killed when its node is full, beside memory that is free",
            ),
            about: "On a machine with several nodes each CPU and each card has memory that is near, and \
                all other is farther. A program gets its memory where it first writes it.",
            helps: "programs that fit into one node: there, near their card",
            hurts: "a node that is full gives memory of another, or with --membind none at all",
            published: None,
        },
        look: Look::Sight(sights::memory_nodes),
        by_hand: "no machine that we could try it on has several, so it is yours to do: `cat \
            /sys/class/net/DEVICE/device/numa_node` and `numactl --hardware` tell what there is, `numactl \
            --cpunodebind=0 --preferred=0 CMD` starts a program there, `numastat -p PID` tells where its memory is; \
            the kernel's own moving is numa-balancing",
    },
    Advice {
        card: Card {
            name: "cpu-isolation",
            title: "CPUs that ordinary work is kept from",
            group: Group::Scheduling,
            scope: Scope::Boot,
            binds: Binds::Boot,
            worst: Worst::Slower("all other work is left one CPU"),
            about: "isolcpus= takes CPUs from the scheduler, nohz_full= lets them run without a tick \
                while one thread has them, rcu_nocbs= moves the kernel's clean-up elsewhere. A partition of \
                cgroups (Linux 6.1) does the first while the machine runs.",
            helps: "one thread for each such CPU that polls or must answer in microseconds",
            hurts: "nothing else runs there: the work of all others has fewer CPUs, and a program that is \
                put on several of them is not balanced among them",
            published: None,
        },
        look: Look::Sight(sights::isolated_cpus),
        by_hand: "it takes CPUs from everybody else on the machine, so it is yours to do: `cd \
            /sys/fs/cgroup && echo +cpuset > cgroup.subtree_control && mkdir apart && cd apart && echo 2-3 > \
            cpuset.cpus && echo isolated > cpuset.cpus.partition && echo PID > cgroup.procs`; `echo PID > \
            /sys/fs/cgroup/cgroup.procs && rmdir /sys/fs/cgroup/apart` goes back; or add isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3 to the \
            kernel command line and reboot; one program on chosen CPUs, beside others, is cpu-affinity",
    },
    Advice {
        card: Card {
            name: "core-sharing",
            title: "two threads on each core (SMT)",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("half of the CPUs go at once"),
            about: "With on, each core has two CPUs that take turns at its units and share its caches; \
                with off every other CPU goes off line.",
            helps: "on: throughput of most servers; off: latency that must not hang on a neighbour, and \
                strangers' code on one core",
            hurts: "off: half of the CPUs are gone at once, with the interrupts and programs that were \
                bound to them",
            published: None,
        },
        look: Look::Sight(sights::core_sharing),
        by_hand: "no machine that we could try it on has the choice, and an undo does not bring back \
            what was bound to the CPUs, so it is yours to do: `cat \
            /sys/devices/system/cpu/cpu*/topology/thread_siblings_list` tells the pairs, `echo off > \
            /sys/devices/system/cpu/smt/control`, and `echo on` to go back; without that, leave the second \
            thread of each core idle with cpu-affinity",
    },
    Advice {
        card: Card {
            name: "preemption",
            title: "where the kernel lets itself be interrupted",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("a long system call keeps every other thread of its CPU waiting"),
            about: "With none, a system call runs until it ends or waits; with voluntary it looks at \
                chosen places whether another should run, with full everywhere, and lazy (Linux 6.13) waits \
                for the tick unless a real-time thread wants to run.",
            helps: "none, lazy: throughput; full: threads that must run within microseconds",
            hurts: "full: more switches in the midst of work; none: a long system call keeps others \
                waiting",
            published: None,
        },
        look: Look::Sight(sights::preemption),
        by_hand: "it is in a file system for debugging that lockdown closes, and at boot elsewhere, so it is \
            yours to do: `cat /sys/kernel/debug/sched/preempt`, with the one that holds in brackets, `echo \
            full > /sys/kernel/debug/sched/preempt`, or preempt=full on the kernel command line",
    },
];
