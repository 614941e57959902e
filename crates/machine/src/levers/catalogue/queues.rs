//! What a device holds before it sends.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::{DeviceSetting, QueueSetting};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "default-qdisc",
            title: "queue discipline of new devices",
            group: Group::QueueDisciplines,
            scope: Scope::Host,
            binds: Binds::Listen,
            worst: Worst::Slower(
                "what comes up afterwards drops all that a device does not take at once",
            ),
            about: "Which queue discipline a device has when it comes up. Those that are up keep \
                theirs.",
            helps: "fq for hosts that pace or run bbr, fq_codel for routers",
            hurts: "with noqueue a card drops what finds its ring full, and nothing paces or shares it \
                out among connections; nothing on devices that are up already",
            published: Some(
                "noqueue by this setting, with mq: +2 % requests/s (1.12 to 1.15 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::Sysctls(&["net.core.default_qdisc"]),
        accepts: Accepts::Words(&[
            "pfifo_fast",
            "fq",
            "fq_codel",
            "noqueue",
            "cake",
            "pfifo",
            "sfq",
        ]),
        advised: Advised::Depends("fq for a server that paces, fq_codel for a router"),
    },
    Tunable {
        card: Card {
            name: "transmit-queue-length",
            title: "packets that wait for a device",
            group: Group::QueueDisciplines,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "with one packet, all that a device does not take at once is dropped, and sessions stall",
            ),
            about: "How many packets queue disciplines that have no limit of their own hold for \
                a device.",
            helps: "bursts on slow devices",
            hurts: "delay of up to that many packets",
            published: None,
        },
        places: Places::Device(DeviceSetting::TransmitQueueLength),
        accepts: Accepts::Range(1, 1_000_000),
        advised: Advised::Depends("1000 is the usual"),
    },
    Tunable {
        card: Card {
            name: "transmit-byte-limit",
            title: "bytes that a card may have to send (BQL)",
            group: Group::QueueDisciplines,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "with 0, the card is handed a packet at a time, and sessions crawl",
            ),
            about: "The kernel counts what it has handed to a sending queue of the card, and learns how little \
                keeps it busy; what is more waits in the queue discipline. This bounds what it may learn, \
                for each queue.",
            helps: "less: small answers that wait behind bulk, on slow ways out; the queue discipline can \
                order what still waits there",
            hurts: "less than the card sends between two interrupts: the way out idles",
            published: None,
        },
        places: Places::EachQueue(QueueSetting::ByteLimit),
        accepts: Accepts::Range(0, 1_879_048_192),
        advised: Advised::Depends(
            "1879048192, which bounds nothing, unless delay under load says otherwise",
        ),
    },
    Tunable {
        card: Card {
            name: "qdisc",
            title: "queue discipline of a device",
            group: Group::QueueDisciplines,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "what the discipline holds back or drops are the packets of its operator’s session too",
            ),
            about: "What orders, holds back and drops what leaves by the device. What waits when it \
                is set is lost. `default:` before a name says that the kernel chose it.",
            helps: "fq for hosts that pace or run bbr, fq_codel where a device is slower than what \
                feeds it, noqueue where its lock costs more than the order is worth",
            hurts: "noqueue drops whatever the device does not take at once; pfifo_fast lets one \
                sender fill the queue for all",
            published: Some(
                "noqueue below mq: +2 % requests/s (1.12 to 1.15 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::RootQdisc,
        accepts: Accepts::Words(&["fq", "fq_codel", "pfifo_fast", "noqueue", "mq"]),
        advised: Advised::Depends("fq for a server that paces, fq_codel for a router"),
    },
];
