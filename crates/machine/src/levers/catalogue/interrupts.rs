//! How packets are taken from a device: budgets, deferral, polling.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::DeviceSetting;
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "busy-poll",
            title: "poll(2) and epoll look at the device first",
            group: Group::Interrupts,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower(
                "each program that waits for sockets keeps its CPU busy for a second",
            ),
            about: "Microseconds for which a program that waits polls the device queue of its \
                sockets itself before it sleeps.",
            helps: "requests and answers at low load, on a device whose driver can be polled",
            hurts: "every program on the machine that waits for sockets burns CPU for that long; \
                nothing on veth and loopback",
            published: Some(
                "with adaptive coalescing +28 % requests/s (834 k to 1.06 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::Sysctls(&["net.core.busy_poll"]),
        accepts: Accepts::Range(0, 1_000_000),
        advised: Advised::Depends(
            "1 in the article, 50 in the profiles of tuned; it helps only where the driver can be polled",
        ),
    },
    Tunable {
        card: Card {
            name: "busy-read",
            title: "recv(2) looks at the device first",
            group: Group::Interrupts,
            scope: Scope::Host,
            binds: Binds::Connect,
            worst: Worst::Slower(
                "each program that waits for sockets keeps its CPU busy for a second",
            ),
            about: "Microseconds for which a blocking read polls the device queue; sockets made \
                afterwards take it as their SO_BUSY_POLL.",
            helps: "programs that block in reads, at low load",
            hurts: "every such program burns CPU for that long; nothing on veth and loopback",
            published: None,
        },
        places: Places::Sysctls(&["net.core.busy_read"]),
        accepts: Accepts::Range(0, 1_000_000),
        advised: Advised::Depends(
            "50 in the profiles of tuned; it helps only where the driver can be polled",
        ),
    },
    Tunable {
        card: Card {
            name: "gro-flush-timeout",
            title: "how long the kernel waits before it takes packets",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "packets lie for a second before they are looked at, and sessions stall",
            ),
            about: "Nanoseconds. With napi-defer-hard-irqs above 0, interrupts stay off and a \
                timer looks at the queue instead.",
            helps: "servers at high load: fewer interrupts for each packet",
            hurts: "adds up to that time to each packet while the machine is idle",
            published: Some(
                "with 20 µs the p99 of memcached at 200 k requests/s went from 458 to 178 µs \
                at the same CPU (kernel documentation of IRQ suspension)",
            ),
        },
        places: Places::Device(DeviceSetting::GroFlushTimeout),
        accepts: Accepts::Range(0, 1_000_000_000),
        advised: Advised::Depends("20000 is a beginning, together with napi-defer-hard-irqs"),
    },
    Tunable {
        card: Card {
            name: "napi-defer-hard-irqs",
            title: "empty looks before interrupts are on again",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "interrupts stay off, and packets lie for as long as gro-flush-timeout says",
            ),
            about: "How many times in a row the timer of gro-flush-timeout may find nothing \
                before the device interrupts again.",
            helps: "servers at high load, with gro-flush-timeout",
            hurts: "adds the delay of gro-flush-timeout to each packet while the machine is idle",
            published: None,
        },
        places: Places::Device(DeviceSetting::NapiDeferHardIrqs),
        accepts: Accepts::Range(0, 2_147_483_647),
        advised: Advised::Depends("2 is a beginning, together with gro-flush-timeout"),
    },
    Tunable {
        card: Card {
            name: "interrupt-suspension",
            title: "no interrupts for as long as a program asks by itself",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "a program that stalls leaves the packets of all connections of its queue lying for a second",
            ),
            about: "Nanoseconds (Linux 6.13). For so long at most the interrupts of a NAPI stay off while a \
                program that prefers to poll (EPIOCSPARAMS of epoll) finds packets at each look; when \
                it finds none, gro-flush-timeout and napi-defer-hard-irqs hold as before. 0 is never.",
            helps: "servers that are busy and then not: the throughput of busy polling under load, and \
                sleep without it; our own asks for it with `serve --busy-poll 50us --prefer-busy-poll`",
            hurts: "a program that stalls leaves packets lying for up to the time; all connections of \
                one epoll must be of one NAPI",
            published: Some(
                "memcached: at most 1.22 in the place of 1.006 M requests/s, and at 1 M offered a p99 of 0.32 \
                in the place of 14.2 ms, in the cover letter of the patches “Suspend IRQs during \
                application busy periods” (netdev, 2024)",
            ),
        },
        places: Places::EachNapi,
        accepts: Accepts::Range(0, 1_000_000_000),
        advised: Advised::Depends(
            "20000000 is a beginning, longer than an answer of the program takes; with \
            gro-flush-timeout and napi-defer-hard-irqs",
        ),
    },
    Tunable {
        card: Card {
            name: "threaded-napi",
            title: "packets are taken by threads",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "a real-time thread keeps the CPU of the threads that take packets, and nothing comes in",
            ),
            about: "With 1, each queue has a kernel thread of its own instead of a soft \
                interrupt, so that the scheduler shares out its time.",
            helps: "machines where soft interrupts starve programs, with those threads pinned",
            hurts: "packets now compete with every other thread; no difference was found on veth",
            published: None,
        },
        places: Places::Device(DeviceSetting::ThreadedNapi),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("no difference was found here"),
    },
    Tunable {
        card: Card {
            name: "softirq-budget",
            title: "packets in one go",
            group: Group::Interrupts,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "under many packets a CPU runs no programs any more, a login’s neither",
            ),
            about: "How many packets one CPU takes from all its devices before it lets programs \
                run.",
            helps: "high packet rates where the third column of /proc/net/softnet_stat grows",
            hurts: "programs wait longer for their CPU",
            published: None,
        },
        places: Places::Sysctls(&["net.core.netdev_budget"]),
        accepts: Accepts::Range(64, 10_000),
        advised: Advised::Depends("600 where softnet_stat counts squeezes"),
    },
    Tunable {
        card: Card {
            name: "softirq-budget-time",
            title: "time in one go",
            group: Group::Interrupts,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "under many packets a CPU runs no programs for a tenth of a second at a time, a login’s neither",
            ),
            about: "Microseconds for which one CPU takes packets before it lets programs run.",
            helps: "high packet rates where the third column of /proc/net/softnet_stat grows",
            hurts: "programs wait longer for their CPU",
            published: None,
        },
        places: Places::Sysctls(&["net.core.netdev_budget_usecs"]),
        accepts: Accepts::Range(1000, 100_000),
        advised: Advised::Depends("8000 is the usual; more where softnet_stat counts squeezes"),
    },
    Tunable {
        card: Card {
            name: "receive-backlog",
            title: "packets that wait for another CPU",
            group: Group::Interrupts,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "short, loopback and veth drop bursts, and containers are hard to reach; long, what waits takes gigabytes",
            ),
            about: "The queue of packets of each CPU that come by RPS, loopback or veth; what \
                finds it full is dropped.",
            helps: "bursts through veth or RPS; the second column of /proc/net/softnet_stat \
                counts what was dropped",
            hurts: "delay where it is full",
            published: None,
        },
        places: Places::Sysctls(&["net.core.netdev_max_backlog"]),
        accepts: Accepts::Range(100, 1_000_000),
        advised: Advised::Depends("more than 1000 where softnet_stat counts drops"),
    },
    Tunable {
        card: Card {
            name: "device-weight",
            title: "packets of one device in one go",
            group: Group::Interrupts,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Slower("one device keeps a CPU from the others"),
            about: "How many packets a CPU takes from its backlog before the next device has its \
                turn.",
            helps: "veth and RPS at high packet rates",
            hurts: "other devices of the same CPU wait longer",
            published: None,
        },
        places: Places::Sysctls(&["net.core.dev_weight"]),
        accepts: Accepts::Range(1, 100_000),
        advised: Advised::Depends("64 is what drivers use"),
    },
];
