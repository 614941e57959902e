//! What network cards and their drivers do by themselves: found and explained, and left to a person.

use model::Binds;

use crate::levers::Places;
use crate::levers::advice::{Advice, Look};
use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::knob::FeatureName;
use crate::levers::sights;

pub(super) static ROWS: &[Advice] = &[
    Advice {
        card: Card {
            name: "receive-hash",
            title: "which queue a packet comes to (RSS)",
            group: Group::Locality,
            scope: Scope::Device,
            binds: Binds::Live,
            worst: Worst::Access(
                "packets fall to a queue that nobody serves, and their connections hang",
            ),
            about: "The card takes a hash of a packet's addresses and ports with a key, and of a table \
                with as many entries as that has values the queue. Rules (ntuple) send single \
                connections to a queue of their own.",
            helps: "machines on whose CPUs the connections fall unevenly: count with `ethtool -S`; \
                and who keeps queues for one program alone",
            hurts: "connections change their queue, and their packets may overtake each other once; \
                a queue without an entry idles",
            published: Some(
                "part of +38 % requests/s (603 to 834 k) for all of locality in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        look: Look::Sight(sights::receive_hash),
        by_hand: "no driver that we could try it on has it, so it is yours to do: note `ethtool -x \
            DEVICE` first, then `ethtool -X DEVICE equal 4` deals out to the first 4 queues, \
            `ethtool -X DEVICE weight 6 2` by weights, `ethtool -X DEVICE hkey KEY` sets the key, \
            `ethtool -N DEVICE flow-type tcp4 dst-port 443 action 2` sends a port to queue 2; \
            `ethtool -X DEVICE default`, `ethtool -X DEVICE hkey OLD` and `ethtool -N DEVICE delete \
            RULE` go back",
    },
    Advice {
        card: Card {
            name: "zero-copy-receive",
            title: "what is received is put where the program reads it",
            group: Group::Tcp,
            scope: Scope::Device,
            binds: Binds::Fork,
            worst: Worst::Access("connections that fall to the queue which was taken hang"),
            about: "Since Linux 6.15 a ring of io_uring may lend memory to a queue of the card, which \
                puts there what follows the headers of a packet; nothing is copied then, and the \
                program hands the memory back.",
            helps: "bulk to a program at 100 Gbit/s and more, where the copy is what the CPU does",
            hurts: "it takes a queue from all other traffic, headers split from data cost small \
                packets, and the program must be written for it",
            published: None,
        },
        look: Look::Sight(sights::zero_copy_receive),
        by_hand: "it takes a card that splits headers from data and a program that is written for it \
            (IORING_REGISTER_ZCRX_IFQ), of which we have neither: `ethtool -g DEVICE` tells of `TCP data \
            split`, `ethtool -G DEVICE tcp-data-split on`, `ethtool -X DEVICE equal 3` keeps queue 3 from \
            all others, `ethtool -N DEVICE flow-type tcp4 dst-port 9000 action 3` sends the \
            connection there; see https://docs.kernel.org/networking/iou-zcrx.html",
    },
    Advice {
        card: Card {
            name: "tls-offload",
            title: "the card makes the records of TLS",
            group: Group::Offloads,
            scope: Scope::Device,
            binds: Binds::Connect,
            worst: Worst::Failures("records that the card makes wrong end their connections"),
            about: "Sessions that are the kernel's (see `kernel-tls`) leave unencrypted, and the \
                card encrypts each record on its way out; some decrypt what comes as well.",
            helps: "downloads over TLS at 100 Gbit/s and more",
            hurts: "what is sent again must be encrypted by the CPU after all, and the card has room for \
                so many sessions; few cards can",
            published: None,
        },
        look: Look::Knobs(Places::Features(&[
            FeatureName::TlsHwTxOffload,
            FeatureName::TlsHwRxOffload,
        ])),
        by_hand: "no card that we could try it on has it, so it is yours to do: `ethtool -K DEVICE \
            tls-hw-tx-offload on`, then start servers that use kTLS anew; TlsCurrTxDevice of \
            /proc/net/tls_stat counts the sessions that the card has; `ethtool -K DEVICE \
            tls-hw-tx-offload off` goes back",
    },
];
