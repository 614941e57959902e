//! Which CPU does the work of a packet.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::QueueSetting;
use crate::levers::share::{Share, Unit};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

/// A table is one piece of memory that no program can be given any more; a connection has one entry.
const FLOWS: Accepts = Accepts::PowerOfTwo(Share {
    one_of: 256,
    unit: Unit::Flows,
});

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "interrupt-affinity",
            title: "CPUs that serve the interrupts of a device",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "all interrupts of the device fall to a CPU that a real-time thread keeps, and nothing comes in",
            ),
            about: "The CPUs to which the kernel may direct each interrupt of the device; the one \
                that serves it also takes the packets of its queue from the device.",
            helps: "devices with several queues whose interrupts share a CPU; programs that are \
                pinned to the CPU where their packets come in",
            hurts: "all on one CPU, and that is full while others idle",
            published: Some(
                "part of the +38 % requests/s of the locality step in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::Interrupts,
        accepts: Accepts::CpusOrSpread,
        advised: Advised::Depends("spread where there is a queue for each CPU"),
    },
    Tunable {
        card: Card {
            name: "receive-packet-steering",
            title: "CPUs that share the work of a receiving queue",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "all packets fall to a CPU that a real-time thread keeps, and nothing comes in",
            ),
            about: "RPS: the CPU that takes a packet from the device hands it to one of these, \
                by a hash of the connection.",
            helps: "devices with fewer queues than the machine has CPUs",
            hurts: "an interrupt between CPUs and cold caches for each packet; on loopback −36 % \
                requests/s",
            published: Some(
                "three to four times the packets on single-queue devices in the commit that \
                brought it (2010)",
            ),
        },
        places: Places::EachQueue(QueueSetting::RpsCpus),
        accepts: Accepts::Cpus,
        advised: Advised::Depends("none where there is a queue for each CPU"),
    },
    Tunable {
        card: Card {
            name: "receive-flow-table",
            title: "connections that RFS remembers",
            group: Group::Locality,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Memory(
                "a table as large as is taken is memory that no program has any more",
            ),
            about: "RFS: a table of which CPU last read each connection, so that its packets go \
                there; receive-flow-count must be set as well.",
            helps: "many connections whose programs run elsewhere than their interrupts",
            hurts: "8 bytes for each entry; nothing without receive-flow-count",
            published: None,
        },
        places: Places::Sysctls(&["net.core.rps_sock_flow_entries"]),
        accepts: FLOWS,
        advised: Advised::Depends("32768 for a server of some thousand connections"),
    },
    Tunable {
        card: Card {
            name: "receive-flow-count",
            title: "connections that RFS remembers for a queue",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Memory(
                "tables as large as are taken, one for each queue, are memory that no program has any more",
            ),
            about: "RFS: the share of receive-flow-table that this queue may use.",
            helps: "as receive-flow-table",
            hurts: "nothing without receive-flow-table",
            published: None,
        },
        places: Places::EachQueue(QueueSetting::RpsFlowCount),
        accepts: FLOWS,
        advised: Advised::Depends("receive-flow-table divided by the queues"),
    },
    Tunable {
        card: Card {
            name: "transmit-packet-steering",
            title: "CPUs that send by a queue",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Slower("all packets leave by one queue, and wait for each other"),
            about: "XPS: a packet leaves by the queue whose CPUs hold the one that sends it, so \
                that no two CPUs share the lock of a queue.",
            helps: "devices with a queue for each CPU",
            hurts: "a CPU in no mask sends by a queue of the hash",
            published: Some(
                "part of the +38 % requests/s of the locality step in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::EachQueue(QueueSetting::XpsCpus),
        accepts: Accepts::Cpus,
        advised: Advised::Depends("queue N for CPU N where there are as many"),
    },
];
