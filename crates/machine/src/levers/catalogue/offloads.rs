//! What a device does with packets in the place of the protocols, and how large they may be.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::{DeviceSetting, FeatureName, LinkSetting};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

const ON_OR_OFF: Accepts = Accepts::Words(&["on", "off"]);

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "receive-offload",
            title: "packets of one connection are taken as one (GRO)",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Slower("the CPU has no time for what comes at full speed"),
            about: "GRO: what came in one go and belongs together is merged before the protocols \
                see it.",
            helps: "on: bulk, where each packet costs the way through the protocols; off: \
                requests that fit into one packet, which it only looks at",
            hurts: "off: bulk takes far more CPU",
            published: Some(
                "off, with reno and static coalescing: +4 % requests/s (1.15 to 1.20 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        places: Places::Features(&[FeatureName::RxGro]),
        accepts: ON_OR_OFF,
        advised: Advised::Depends("on for bulk, off for requests of one packet each"),
    },
    Tunable {
        card: Card {
            name: "udp-receive-offload",
            title: "UDP that is passed on is merged as well",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Failures("a device in the way drops datagrams that were put together"),
            about: "GRO of UDP packets that are not for a socket of this machine, and are cut \
                again where they leave.",
            helps: "routers, tunnels and containers that pass UDP on, QUIC among it",
            hurts: "a little CPU where packets do not come in rows",
            published: None,
        },
        places: Places::Features(&[FeatureName::RxUdpGroForwarding]),
        accepts: ON_OR_OFF,
        advised: Advised::Depends("on where UDP of few senders is passed on"),
    },
    Tunable {
        card: Card {
            name: "segmentation-offload",
            title: "the device cuts what TCP sends (TSO)",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "a card that cuts wrong sends what the other end drops, and sessions hang",
            ),
            about: "TSO: TCP hands up to 64 KiB to the device, which cuts it into packets. Off, \
                the kernel cuts it just before the device (GSO), unless that is off as well.",
            helps: "on: all that sends more than a packet at a time",
            hurts: "off: bulk takes far more CPU; −62 % bit/s of one stream and +174 % CPU time \
                a byte were measured on veth",
            published: None,
        },
        places: Places::Features(&[
            FeatureName::TxTcpSegmentation,
            FeatureName::TxTcp6Segmentation,
        ]),
        accepts: ON_OR_OFF,
        advised: Advised::Value("on"),
    },
    Tunable {
        card: Card {
            name: "software-segmentation",
            title: "the kernel cuts what TCP sends as late as it can (GSO)",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Slower("the CPU has no time for what leaves at full speed"),
            about: "GSO: what the device does not cut itself goes through the protocols in one \
                piece, and is cut before the driver.",
            helps: "on: all that sends more than a packet at a time",
            hurts: "off: each packet costs the whole way through the protocols",
            published: None,
        },
        places: Places::Features(&[FeatureName::TxGenericSegmentation]),
        accepts: ON_OR_OFF,
        advised: Advised::Value("on"),
    },
    Tunable {
        card: Card {
            name: "transmit-checksum",
            title: "the device fills in checksums",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "a card that sums wrong sends what the other end drops, and sessions hang",
            ),
            about: "With off the kernel adds up each byte that it sends, and what rests on it is off as \
                well: cutting by the device (TSO), and sending pieces from where they lie.",
            helps: "off: looking for a card, a driver or a tunnel that spoils packets",
            hurts: "off: bulk takes far more CPU",
            published: None,
        },
        places: Places::Features(&[
            FeatureName::TxChecksumIpGeneric,
            FeatureName::TxChecksumIpv4,
            FeatureName::TxChecksumIpv6,
        ]),
        accepts: ON_OR_OFF,
        advised: Advised::Value("on"),
    },
    Tunable {
        card: Card {
            name: "mtu",
            title: "largest packet of a device",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "packets are larger than a hop takes that says nothing, and sessions hang",
            ),
            about: "Bytes of an IP packet that the device takes. Every hop up to the other end \
                must take as much.",
            helps: "bulk where packets a second are the limit: six times fewer with 9000",
            hurts: "connections hang where one hop takes less and says nothing; less than 1280 is not \
                offered, since the kernel then drops the IPv6 addresses of the device for good",
            published: None,
        },
        places: Places::Device(DeviceSetting::Mtu),
        // Below IPV6_MIN_MTU the kernel takes IPv6 off a device, addresses and all, which an undo
        // does not bring back (addrconf_notify of net/ipv6/addrconf.c).
        accepts: Accepts::Range(1280, 65_535),
        advised: Advised::Depends("9000 only where every hop is known to take it"),
    },
    Tunable {
        card: Card {
            name: "big-tcp",
            title: "larger packets than 64 KiB inside the machine, of IPv6",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "a driver or a program in the way drops what is larger than 64 KiB, and sessions hang",
            ),
            about: "BIG TCP: bytes that TCP over IPv6 may hand to the device in one piece \
                (gso_max_size), and that GRO may merge (gro_max_size). On the wire nothing \
                changes.",
            helps: "bulk and large answers on fast devices: fewer ways through the protocols",
            hurts: "programs that look at packets and expect TCP right behind the IPv6 header: \
                captures, BPF filters",
            published: Some(
                "185000 in the place of 74 KB, requests and answers of 80 kB on 100 Gbit/s with an MTU \
                of 4 KB: 8.9 to 12.8 k a second (+44 %), p99 172 to 132 µs, means of ten runs, in \
                https://lore.kernel.org/netdev/20220510033219.2639364-1-eric.dumazet@gmail.com/",
            ),
        },
        places: Places::Links(&[LinkSetting::GsoMaxSize, LinkSetting::GroMaxSize]),
        accepts: Accepts::UpToMost(4096),
        advised: Advised::Depends("185000 is what its author tried, on a device of 100 Gbit/s"),
    },
    Tunable {
        card: Card {
            name: "big-tcp-ipv4",
            title: "larger packets than 64 KiB inside the machine, of IPv4",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "a driver or a program in the way drops what is larger than 64 KiB, and sessions hang",
            ),
            about: "BIG TCP of Linux 6.3: bytes that TCP over IPv4 may hand to the device in one piece \
                (gso_ipv4_max_size), and that GRO may merge (gro_ipv4_max_size). Such a packet says of its own \
                length 0. On the wire nothing changes.",
            helps: "bulk and large answers on fast devices: fewer ways through the protocols",
            hurts: "programs that look at packets and believe the length in the IPv4 header: captures, BPF \
                filters",
            published: None,
        },
        places: Places::Links(&[LinkSetting::GsoIpv4MaxSize, LinkSetting::GroIpv4MaxSize]),
        accepts: Accepts::UpToMost(4096),
        advised: Advised::Depends("185000 is what was tried of IPv6, on a device of 100 Gbit/s"),
    },
];
