//! What a driver is set to: how it holds interrupts back, its rings and its channels.

use model::Binds;
use sys::ethtool::Setting;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::DriverSetting;
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

/// With more, each packet of a session would wait noticeably.
const MOST_US: i64 = 100_000;

/// As many packets as a driver takes at a time (`NAPI_POLL_WEIGHT`).
const LEAST_RING: i64 = 64;

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "receive-coalescing",
            title: "how long a device waits before it interrupts",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "each packet waits for a tenth of a second, and some drivers take small numbers for a mode",
            ),
            about: "Microseconds for which the device holds back the interrupt of a packet that \
                came, so that one interrupt is for several. Drivers keep it in units of their \
                own, and some have small numbers stand for modes: what the driver made of yours \
                is told.",
            helps: "servers at high packet rates: fewer interrupts for each packet",
            hurts: "adds up to that time to each packet while the machine is idle",
            published: Some(
                "static in the place of adaptive, with reno and without GRO: +4 % \
                requests/s (1.15 to 1.20 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::Driver(DriverSetting::new(Setting::ReceiveUs)),
        accepts: Accepts::Range(0, MOST_US),
        advised: Advised::Depends(
            "0 for the shortest answers, 100 and more for the most; the driver's default is between",
        ),
    },
    Tunable {
        card: Card {
            name: "receive-coalescing-frames",
            title: "how many packets a device waits for",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access("packets wait for others that never come, and sessions hang"),
            about: "Packets that come before the device interrupts, if the time of \
                receive-coalescing is not over before. Of a tap device, packets that are handed \
                on in one go.",
            helps: "as receive-coalescing",
            hurts: "packets wait for others that may not come, where receive-coalescing is 0",
            published: None,
        },
        places: Places::Driver(DriverSetting::new(Setting::ReceiveFrames)),
        accepts: Accepts::Range(0, 1_000_000),
        advised: Advised::Depends("the driver's default suits its rings"),
    },
    Tunable {
        card: Card {
            name: "receive-ring",
            title: "packets that a device may hold for us",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "the device does not come up again after it was set up anew, or drops most of each burst",
            ),
            about: "Descriptors of each receiving ring. What comes while all are in use is \
                dropped by the device, and counted as missed.",
            helps: "bursts, where ethtool -S counts what was missed or had no buffer",
            hurts: "the device is set up anew, and nothing passes meanwhile; larger rings do not \
                fit the cache",
            published: None,
        },
        places: Places::Driver(DriverSetting::new(Setting::ReceiveRing)),
        accepts: Accepts::UpToMost(LEAST_RING),
        advised: Advised::Depends("more than now only where the device counts drops"),
    },
    Tunable {
        card: Card {
            name: "transmit-ring",
            title: "packets that a device may still have to send",
            group: Group::Interrupts,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access("the device does not come up again after it was set up anew"),
            about: "Descriptors of each sending ring; while all are in use, packets wait in the \
                queue discipline.",
            helps: "bursts of senders on fast devices",
            hurts: "the device is set up anew, and nothing passes meanwhile; more waits where no \
                queue discipline orders it",
            published: None,
        },
        places: Places::Driver(DriverSetting::new(Setting::TransmitRing)),
        accepts: Accepts::UpToMost(LEAST_RING),
        advised: Advised::Depends("the driver's default suits most"),
    },
    Tunable {
        card: Card {
            name: "receive-channels",
            title: "queues that a device receives by",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access("the device does not come up again after it was set up anew"),
            about: "How many of its receiving queues a device uses that has them apart from those \
                that send. Connections are shared out anew.",
            helps: "machines with more CPUs than the device uses queues",
            hurts: "the device is set up anew, and nothing passes meanwhile",
            published: None,
        },
        places: Places::Driver(DriverSetting::new(Setting::ReceiveChannels)),
        accepts: Accepts::UpToMost(1),
        advised: Advised::Depends("one for each CPU that serves"),
    },
    Tunable {
        card: Card {
            name: "transmit-channels",
            title: "queues that a device sends by",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access("the device does not come up again after it was set up anew"),
            about: "How many of its sending queues a device uses that has them apart from those \
                that receive.",
            helps: "machines with more CPUs than the device uses queues",
            hurts: "the device is set up anew, and nothing passes meanwhile",
            published: None,
        },
        places: Places::Driver(DriverSetting::new(Setting::TransmitChannels)),
        accepts: Accepts::UpToMost(1),
        advised: Advised::Depends("one for each CPU that sends"),
    },
];
