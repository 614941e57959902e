//! Limits of sockets: queues of connections, buffers, ports.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::share::{Share, Unit};
use crate::levers::tunable::{Advised, Tunable};
use crate::levers::{Accepts, Places};

/// With fewer, 16 MB, hardly a connection to the machine would be answered, and nobody could put it back.
const LEAST_PAGES: i64 = 4096;
/// The kernel reckons a tenth. What sockets hold, programs cannot be given.
const OF_ALL_SOCKETS: Accepts = Accepts::Sizes(
    &[LEAST_PAGES, LEAST_PAGES, LEAST_PAGES],
    Share {
        one_of: 3,
        unit: Unit::Pages,
    },
);
/// Any user may have a socket of the largest size, and several.
const OF_A_SOCKET: Share = Share {
    one_of: 64,
    unit: Unit::Bytes,
};

pub(super) static ROWS: &[Tunable] = &[
    Tunable {
        card: Card {
            name: "accept-queue",
            title: "connections that wait to be accepted",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Listen,
            worst: Worst::Access(
                "a server that is started with a short queue drops most of each burst, the login server too",
            ),
            about: "The largest backlog that listen(2) is given. A full queue drops the last \
                packet of the handshake, and the client sends again after a second.",
            helps: "bursts of new connections; `nstat -az TcpExtListenOverflows` counts what was \
                dropped",
            hurts: "clients wait longer where they would have been refused sooner",
            published: None,
        },
        places: Places::Sysctls(&["net.core.somaxconn"]),
        accepts: Accepts::Range(16, 65_535),
        advised: Advised::AtLeast(4096),
    },
    Tunable {
        card: Card {
            name: "syn-backlog",
            title: "handshakes that are under way",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Access(
                "where cookies are off, a few SYNs of strangers keep everybody out",
            ),
            about: "With net.ipv4.tcp_syncookies at 0, how many SYNs may be under way; of the last \
                quarter only those of hosts that are known are taken. With cookies on, as is usual, \
                it is not looked at: they begin when the backlog of the listener itself is full \
                (tcp_conn_request of net/ipv4/tcp_input.c).",
            helps: "bursts of new connections from far away, where cookies are off",
            hurts: "some 300 bytes of memory for each",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_max_syn_backlog"]),
        accepts: Accepts::Range(64, 1_048_576),
        advised: Advised::Depends(
            "it counts only where SYN cookies are off; else see accept-queue",
        ),
    },
    Tunable {
        card: Card {
            name: "abort-on-overflow",
            title: "reset when the accept queue is full",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Failures("clients are reset in each burst"),
            about: "With 1, a client whose connection finds the accept queue full is reset at \
                once; with 0 its last packet is dropped and sent again.",
            helps: "clients that have another server to go to",
            hurts: "clients see a reset where a second of waiting would have done",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_abort_on_overflow"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Value("0"),
    },
    Tunable {
        card: Card {
            name: "migrate-requests",
            title: "handshakes taken over by another listener",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Listen,
            worst: Worst::None("a handshake is answered by another worker of the same port"),
            about: "With 1, connections that wait at a listener that is closed go to another of \
                the same SO_REUSEPORT group (Linux 5.14).",
            helps: "servers with a listener for each worker that restart workers",
            hurts: "nothing known",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_migrate_req"]),
        accepts: Accepts::Range(0, 1),
        advised: Advised::Depends("1 where workers of one port are restarted"),
    },
    Tunable {
        card: Card {
            name: "receive-buffer-limit",
            title: "largest receive buffer that can be asked for",
            group: Group::Tcp,
            scope: Scope::Host,
            binds: Binds::Connect,
            worst: Worst::Memory(
                "any user’s program takes the memory with sockets that it does not read",
            ),
            about: "The most that SO_RCVBUF gives; a buffer that is asked for is not grown by \
                the kernel any more.",
            helps: "programs that set SO_RCVBUF themselves, UDP above all",
            hurts: "memory for each socket",
            published: None,
        },
        places: Places::Sysctls(&["net.core.rmem_max"]),
        accepts: Accepts::UpToShare(65_536, OF_A_SOCKET),
        advised: Advised::Depends("it depends on what programs ask for"),
    },
    Tunable {
        card: Card {
            name: "send-buffer-limit",
            title: "largest send buffer that can be asked for",
            group: Group::Tcp,
            scope: Scope::Host,
            binds: Binds::Connect,
            worst: Worst::Memory(
                "any user’s program takes the memory with sockets that nobody reads from",
            ),
            about: "The most that SO_SNDBUF gives; a buffer that is asked for is not grown by \
                the kernel any more.",
            helps: "programs that set SO_SNDBUF themselves, UDP above all",
            hurts: "memory for each socket",
            published: None,
        },
        places: Places::Sysctls(&["net.core.wmem_max"]),
        accepts: Accepts::UpToShare(65_536, OF_A_SOCKET),
        advised: Advised::Depends("it depends on what programs ask for"),
    },
    Tunable {
        card: Card {
            name: "tcp-memory",
            title: "memory of all TCP sockets together",
            group: Group::Tcp,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "less than is in use: what arrives is dropped, and no login succeeds; much more: programs are killed for what sockets hold",
            ),
            about: "Three numbers of pages. Above the second, buffers stop to grow, until they are \
                below the first again; above the third, what arrives is dropped, and connections without an \
                owner are reset.",
            helps: "machines with very many connections, or large buffers of few: the kernel's log says \
                `TCP: out of memory`, and TCPMemoryPressures of `nstat -az` grows",
            hurts: "more: less is left for programs, since the kernel gives none of it back to them; less: \
                connections stall",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_mem"]),
        accepts: OF_ALL_SOCKETS,
        advised: Advised::Depends("the kernel has reckoned it from the memory that there is"),
    },
    Tunable {
        card: Card {
            name: "udp-memory",
            title: "memory of all UDP sockets together",
            group: Group::Tcp,
            scope: Scope::Host,
            binds: Binds::Live,
            worst: Worst::Access(
                "less than is in use: answers of DNS are dropped, and logins that wait for them; much more: programs are killed for what sockets hold",
            ),
            about: "Three numbers of pages, of which the third counts: what is received beyond it is dropped \
                (MemErrors of Udp in /proc/net/snmp).",
            helps: "receivers with many sockets or large buffers, such as QUIC and media servers",
            hurts: "less is left for programs",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.udp_mem"]),
        accepts: OF_ALL_SOCKETS,
        advised: Advised::Depends("the kernel has reckoned it from the memory that there is"),
    },
    Tunable {
        card: Card {
            name: "syn-cookies",
            title: "handshakes that are remembered by the client",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Slower("connections do without window scaling and SACK"),
            about: "With 1, a listener whose backlog is full answers a SYN with a number that it knows \
                again, and keeps nothing; with 2 every SYN is answered so. With 0 it drops the SYN, and \
                `syn-backlog` counts.",
            helps: "1: a server that stays within reach under a flood of SYNs; 2: whoever tests what that costs \
                its connections",
            hurts: "2, and 1 while the backlog is full: connections without window scaling and SACK unless the \
                client sends timestamps; 0 is not offered, since a flood of SYNs then shuts everybody out",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.tcp_syncookies"]),
        // Protection is not taken from a machine.
        accepts: Accepts::Range(1, 2),
        advised: Advised::Value("1"),
    },
    Tunable {
        card: Card {
            name: "socket-option-memory",
            title: "memory for what belongs to a socket",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Live,
            worst: Worst::Memory(
                "any user’s program takes the kernel’s memory with options of its sockets",
            ),
            about: "Bounds, among others, the notifications that MSG_ZEROCOPY may have \
                outstanding; beyond it sends fail with ENOBUFS.",
            helps: "MSG_ZEROCOPY with many sends under way",
            hurts: "memory for each socket",
            published: None,
        },
        places: Places::Sysctls(&["net.core.optmem_max"]),
        accepts: Accepts::UpToShare(4096, OF_A_SOCKET),
        advised: Advised::Depends("it depends on how many zero-copy sends are under way"),
    },
    Tunable {
        card: Card {
            name: "local-ports",
            title: "ports of connections that this machine opens",
            group: Group::Tcp,
            scope: Scope::Namespace,
            binds: Binds::Connect,
            worst: Worst::Access(
                "no port is left, and no program of this machine reaches another, DNS and directories that logins ask included",
            ),
            about: "First and last. One address can hold so many connections to one port of \
                another.",
            helps: "load generators and proxies",
            hurts: "a service that is started later may find its port taken by a connection",
            published: None,
        },
        places: Places::Sysctls(&["net.ipv4.ip_local_port_range"]),
        accepts: Accepts::Ports,
        advised: Advised::Depends("1024,65535 for a load generator that serves nothing"),
    },
];
