//! What else the kernel does with the time of programs.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "numa-balancing",
            title: "memory moved to where it is used",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower(
                "memory stays far from the CPU that reads it, or is moved to and fro",
            ),
            about: "With 1, the kernel takes pages away for a moment to see which node uses \
                them, and moves them there.",
            helps: "with 0: programs that are pinned, or that place their memory themselves",
            hurts: "with 0: memory of other programs stays where it first was",
            published: Some("off in the latency profiles of tuned; no figure of its own"),
        },
        places: Places::Sysctls(&["kernel.numa_balancing"]),
        accepts: Accepts::Range(0, 3),
        advised: Advised::Depends(
            "0 where programs are pinned; nothing on a machine with one node",
        ),
    },
    Tunable {
        card: Card {
            name: "timer-migration",
            title: "timers of idle CPUs moved away",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("idle CPUs wake for nothing"),
            about: "With 1, timers of an idle CPU go off on a busy one, so that it can sleep on.",
            helps: "with 0: timers go off where they were set, with warm caches",
            hurts: "with 0: more wakes of idle CPUs",
            published: None,
        },
        places: Places::Sysctls(&["kernel.timer_migration"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("0 for even latency on pinned programs"),
    },
    Tunable {
        card: Card {
            name: "nmi-watchdog",
            title: "watch for CPUs that hang",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Failures(
                "a CPU that hangs is not told of, and the machine is not started anew",
            ),
            about: "With 1, a counter of each CPU interrupts it every few seconds to see that it \
                still runs.",
            helps: "with 0: one performance counter and a few interrupts more for others",
            hurts: "with 0: a CPU that hangs is not told of",
            published: None,
        },
        places: Places::Sysctls(&["kernel.nmi_watchdog"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("0 only where something else watches the machine"),
    },
    Tunable {
        card: Card {
            name: "statistics-interval",
            title: "how often memory statistics are folded",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::None("what is shown of memory is an hour old"),
            about: "Seconds between two rounds in which each CPU adds its counters to those of \
                the machine.",
            helps: "even latency on CPUs that run one program",
            hurts: "vmstat and the like lag by that much",
            published: None,
        },
        places: Places::Sysctls(&["vm.stat_interval"]),
        accepts: Accepts::Range(1, 3600),
        advised: Advised::AtLeast(10),
    },
    Tunable {
        card: Card {
            name: "scheduler-autogroup",
            title: "sessions share the CPU, not programs",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Fork,
            worst: Worst::Slower("one session’s many processes leave the others little"),
            about: "With 1, the programs of one terminal session have the weight of one.",
            helps: "with 0: a server that was started from a terminal has its own weight",
            hurts: "with 0: a build with many processes takes more from the desktop beside it",
            published: None,
        },
        places: Places::Sysctls(&["kernel.sched_autogroup_enabled"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Value("0"),
    },
    Tunable {
        card: Card {
            name: "realtime-share",
            title: "time that real-time threads leave to others",
            group: Group::Scheduling,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "with -1, a real-time thread that spins keeps its CPUs from all else, logins included; with 0, real-time threads never run",
            ),
            about: "Microseconds of each second that real-time threads may run; -1 for all of it.",
            helps: "nothing by itself: it is what keeps a machine with a real-time thread that \
                spins within reach",
            hurts: "with -1, a thread that spins takes the machine away",
            published: None,
        },
        places: Places::Sysctls(&["kernel.sched_rt_runtime_us"]),
        accepts: Accepts::Range(-1, 1_000_000),
        advised: Advised::Depends(
            "950000 is the usual; -1 where real-time threads are known to sleep",
        ),
    },
];
