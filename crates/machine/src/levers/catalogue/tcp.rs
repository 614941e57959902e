//! How TCP behaves in a network namespace.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::share::{Share, Unit};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

/// Bytes. A page is the least that the kernel itself begins with. Of the usual size a quarter is the window
/// of a new connection (`TCP_DEFAULT_SCALING_RATIO` of include/net/tcp.h): two full segments of Ethernet.
const BUFFER: Accepts = Accepts::Sizes(
    &[4096, 16_384, 16_384],
    Share {
        one_of: 64,
        unit: Unit::Bytes,
    },
);

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "slow-start-after-idle",
            title: "slow start after a pause",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Slower(
                "bursts are lost on a way that has become narrower, and sent again",
            ),
            about: "With 1, a connection that was idle for longer than its retransmission \
                timeout begins again with the initial window (RFC 2861); with 0 it keeps the \
                window it had.",
            helps: "answers of more than ten segments on keep-alive connections over a network \
                with delay",
            hurts: "a burst into a path that has become narrower meanwhile is lost and sent again",
            published: Some(
                "part of the network profiles of Netflix (2017) and tuned; no figure of its \
                own",
            ),
        },
        places: Places::Sysctls(&["net.ipv4.tcp_slow_start_after_idle"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Value("0"),
    },
    Tunable {
        card: Card {
            name: "congestion-control",
            title: "congestion control of new connections",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Connect,
            worst: Worst::Slower(
                "connections stay far below what the way takes, or leave others nothing of it",
            ),
            about: "Which algorithm decides how much may be under way. A listener that has \
                chosen one itself gives it to what it accepts.",
            helps: "bulk over paths with loss or deep buffers (bbr); short, clean paths (reno, \
                cubic)",
            hurts: "bbr sends more again into shallow buffers and may be unfair to others; reno \
                is slow to come back on long paths",
            published: Some(
                "reno is part of the +4 % requests/s of the last step of \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/, \
                inside one data centre; for requests and answers reno and bbr do not differ \
                here",
            ),
        },
        places: Places::Sysctls(&["net.ipv4.tcp_congestion_control"]),
        accepts: Accepts::Offered("proc/sys/net/ipv4/tcp_available_congestion_control"),
        advised: Advised::Depends("it depends on the path to the clients"),
    },
    Tunable {
        card: Card {
            name: "notsent-lowat",
            title: "unsent bytes that a socket holds",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Slower("with 1, a program is woken for each segment"),
            about: "A socket is writable only while fewer bytes than this wait in it unsent, so \
                that an application decides late what to send next.",
            helps: "HTTP/2 and video servers that must be able to put an urgent answer in front",
            hurts: "more wakes of the application; too low a value starves a fast path",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_notsent_lowat"]),
        accepts: Accepts::Range(1, 4_294_967_295),
        advised: Advised::Depends("it is a trade of memory and order against wakes"),
    },
    Tunable {
        card: Card {
            name: "tcp-autocorking",
            title: "small sends put together",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Slower("small pieces wait for each other"),
            about: "With 1, the kernel holds a small segment back while an earlier one still \
                waits in the device, and sends both as one.",
            helps: "programs that send in small pieces",
            hurts: "a few microseconds for each piece that waits; nothing measurable for one \
                send per answer",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_autocorking"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("no difference was found for one send per answer"),
    },
    Tunable {
        card: Card {
            name: "tcp-fastopen",
            title: "data in the first segment",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Listen,
            worst: Worst::Failures(
                "a request is carried out twice; behind some middleboxes no connection is made until it is off again",
            ),
            about: "A bit mask: 1 lets clients send data with their SYN, 2 lets servers accept \
                it (RFC 7413). Both programs must ask for it as well.",
            helps: "many short connections over a network with delay: one round trip less each",
            hurts: "a request may arrive twice, so only idempotent ones may be sent so; some \
                middleboxes drop such SYNs",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_fastopen"]),
        accepts: Accepts::Range(0, 3),
        advised: Advised::Depends("both programs must ask for it as well"),
    },
    Tunable {
        card: Card {
            name: "tcp-metrics",
            title: "what is remembered of a path",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Connect,
            worst: Worst::Slower("each connection learns its way anew"),
            about: "With 0, the threshold of slow start and the round trip of a closed \
                connection are the first guess of the next one to the same address; with 1 \
                nothing is saved.",
            helps: "measurements: with 1 a run does not depend on the one before it",
            hurts: "with 1 every connection learns its path anew",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_no_metrics_save"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("1 for measuring, 0 for serving"),
    },
    Tunable {
        card: Card {
            name: "tcp-receive-buffer",
            title: "least, usual and largest receive buffer",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Connect,
            worst: Worst::Access(
                "new connections, logins too, are given no more than two segments at a time; or a flood of connections that nobody reads from takes the memory",
            ),
            about: "Three numbers of bytes. The kernel grows the buffer of a connection up to \
                the third as its window is used.",
            helps: "bulk to this machine over a path whose bandwidth × round trip is more than \
                the largest",
            hurts: "memory for each connection, and delay where a reader is slow",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_rmem"]),
        accepts: BUFFER,
        advised: Advised::Depends(
            "the largest is to be twice the bandwidth × round trip of the longest path",
        ),
    },
    Tunable {
        card: Card {
            name: "receive-buffer-growth",
            title: "receive buffers grow as they are used",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Slower(
                "no connection gets more than its first window in each round trip",
            ),
            about: "With 1, the kernel measures how much a program reads in a round trip and grows its \
                receive buffer to twice that, up to the third number of `tcp-receive-buffer`; with 0 \
                it stays at the second.",
            helps: "1: bulk to this machine over long ways; 0: memory that is the same for every \
                connection, and measurements of a fixed window",
            hurts: "0: no connection is faster than its first window in each round trip",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_moderate_rcvbuf"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Value("1"),
    },
    Tunable {
        card: Card {
            name: "tcp-send-buffer",
            title: "least, usual and largest send buffer",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Connect,
            worst: Worst::Access(
                "new connections, logins too, have no more than two segments under way; or a flood of connections that nobody reads from takes the memory",
            ),
            about: "Three numbers of bytes. The kernel grows the buffer of a connection up to \
                the third as its window grows.",
            helps: "bulk from this machine over a path whose bandwidth × round trip is more than \
                the largest",
            hurts: "memory for each connection, and delay of what is written last",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_wmem"]),
        accepts: BUFFER,
        advised: Advised::Depends(
            "the largest is to be twice the bandwidth × round trip of the longest path",
        ),
    },
    Tunable {
        card: Card {
            name: "tcp-time-wait-reuse",
            title: "ports of closed connections used again",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Connect,
            worst: Worst::Failures("a connection is refused whose ports the other end still holds"),
            about: "With 1, a connection that this machine opens may take the port of one that \
                is in TIME-WAIT for longer than a second (RFC 6191); 2 does so on loopback \
                alone.",
            helps: "load generators and proxies that open many connections to one address",
            hurts: "nothing that timestamps do not guard against; without timestamps it is not \
                done",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_tw_reuse"]),
        accepts: Accepts::Range(0, 2),
        advised: Advised::Depends("1 for a machine that opens many connections, 2 else"),
    },
];
