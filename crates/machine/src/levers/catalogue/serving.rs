//! What our own server is told about its workers and its sockets.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::time::Duration;

use model::Binds;
use model::link::spelling::parse_rate;
use sys::epoll::Epoll;
use sys::listener::{self, BusyPoll};
use sys::socket::{self, ListenOptions};
use sys::uring::usable;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::serving::{OfOurServer, why_not};

pub(super) static ROWS: &[OfOurServer] = &[
    OfOurServer {
        card: Card {
            name: "workers",
            title: "processes of our server",
            group: Group::Application,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Slower("a thousand processes take turns, and each has memory of its own"),
            about: "Each worker is a process on one CPU with a listener of its own on the shared port.",
            helps: "servers that leave CPUs idle",
            hurts: "more workers than CPUs only take turns; a CPU quota that is used up stops all of them",
            published: Some(
                "with cheaper calls and compiler flags +55 % requests/s (224 to 347 k) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        flag: "--workers",
        values: "a number from 1 to 1024",
        takes: |value| is_from_to(value, 1, 1024),
        unset: "one for each CPU",
        absent: |_| None,
        depends: "the CPUs that are the server's",
        sets: &["processes, each with SO_REUSEPORT"],
        by_hand: "linerate serve --workers 4",
        refused_in_studies: |_| Some(ONE_WORKER.to_owned()),
    },
    OfOurServer {
        card: Card {
            name: "engine",
            title: "what tells our server of its connections",
            group: Group::Application,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Failures("the server does not start where io_uring is forbidden"),
            about: "With epoll the server is told what is ready, and receives and sends by a system call \
                each. With uring (io_uring, Linux 6.1) the kernel receives into buffers that it was lent, \
                and one call hands over the answers of a batch and brings the next requests.",
            helps: "uring: servers whose system calls cost much, as under a seccomp filter or an audit",
            hurts: "uring: files over TLS, whose records the kernel does not make then; many containers \
                forbid it",
            published: None,
        },
        flag: "--engine",
        values: "auto, epoll, uring",
        takes: |value| ["auto", "epoll", "uring"].contains(&value),
        unset: "auto, which takes epoll",
        absent: |_| None,
        depends: "uring where system calls are dear",
        sets: &["epoll_create1(2)", "io_uring_setup(2)"],
        by_hand: "linerate serve --engine uring",
        refused_in_studies: |value| match value {
            "uring" => why_not(usable::try_out_for_descended()),
            _ => None,
        },
    },
    OfOurServer {
        card: Card {
            name: "connection-steering",
            title: "which worker has a new connection",
            group: Group::Locality,
            scope: Scope::Socket,
            binds: Binds::Listen,
            worst: Worst::Slower("all connections fall to one worker"),
            about: "Of several listeners on one port the kernel chooses by a hash of the addresses, \
                by a program (SO_ATTACH_REUSEPORT_CBPF; ours says the number of the CPU that received \
                the connection), or that which names this CPU (SO_INCOMING_CPU, since Linux 6.2).",
            helps: "cbpf, incoming-cpu: many clients, with interrupts on each worker's own CPU: a \
                connection then never leaves it",
            hurts: "cbpf, incoming-cpu: where few CPUs receive, as on loopback or with one queue, the \
                workers of the others have nothing to do; hash: few connections fall unevenly",
            published: Some(
                "part of +38 % requests/s (603 to 834 k) for all of locality in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        flag: "--steer",
        values: "cbpf, hash, incoming-cpu",
        takes: |value| ["cbpf", "hash", "incoming-cpu"].contains(&value),
        unset: "cbpf with one worker on each of the CPUs 0, 1, …, else hash",
        absent: |_| None,
        depends: "by CPU only where every CPU receives",
        sets: &["SO_ATTACH_REUSEPORT_CBPF", "SO_INCOMING_CPU"],
        by_hand: "linerate serve --steer incoming-cpu --cpus 2-5",
        refused_in_studies: |_| Some(ONE_WORKER.to_owned()),
    },
    OfOurServer {
        card: Card {
            name: "no-delay",
            title: "small answers leave at once",
            group: Group::Tcp,
            scope: Scope::Socket,
            binds: Binds::Listen,
            worst: Worst::Slower("answers wait for acknowledgements"),
            about: "With off, what is less than a full segment waits until all that was sent is \
                acknowledged (Nagle), which a peer may put off for 40 ms.",
            helps: "on: answers that a client waits for; off: servers that write an answer in many small \
                pieces and cannot be changed",
            hurts: "on: a segment for each small write; off: answers that wait for an acknowledgement",
            published: None,
        },
        flag: "--no-delay",
        values: "on, off",
        takes: |value| ["on", "off"].contains(&value),
        unset: "on",
        absent: |_| None,
        depends: "on, unless answers are written in small pieces",
        sets: &["TCP_NODELAY"],
        by_hand: "linerate serve --no-delay off",
        refused_in_studies: |_| None,
    },
    OfOurServer {
        card: Card {
            name: "socket-busy-poll",
            title: "our server looks at the device first",
            group: Group::Interrupts,
            scope: Scope::Socket,
            binds: Binds::Listen,
            worst: Worst::Slower("its CPUs are busy for as long as it idles"),
            about: "For so long each wait of a worker asks the device itself for packets before it sleeps \
                (EPIOCSPARAMS, Linux 6.9), and so does a read that finds nothing (SO_BUSY_POLL). \
                Connections that no device with NAPI carries, as on loopback, have nothing to ask.",
            helps: "latency of a server whose CPUs have nothing else to do, behind a network card",
            hurts: "its CPUs are busy while it idles; other programs on them wait",
            published: Some(
                "by the sysctl, with adaptive-coalescing +28 % requests/s (834 k to 1.06 M) in \
                https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/",
            ),
        },
        flag: "--busy-poll",
        values: "a time from 1us to 1s",
        takes: |value| time(value).is_some_and(|time| (1..=1_000_000).contains(&time.as_micros())),
        unset: "off",
        absent: |_| None,
        depends: "50us where CPUs may spin",
        sets: &["SO_BUSY_POLL", "EPIOCSPARAMS"],
        by_hand: "linerate serve --busy-poll 50us",
        refused_in_studies: |_| why_not(polls_busily()),
    },
    OfOurServer {
        card: Card {
            name: "defer-accept",
            title: "connections are taken when they speak",
            group: Group::Tcp,
            scope: Scope::Socket,
            binds: Binds::Listen,
            worst: Worst::Failures(
                "clients that wait for the server to speak first wait for an hour",
            ),
            about: "A connection stays with the kernel until its first bytes are there, or for about so \
                long: the server wakes once for both.",
            helps: "servers with short connections, whose clients speak first",
            hurts: "protocols in which the server speaks first wait for all of that time",
            published: None,
        },
        flag: "--defer-accept",
        values: "a time from 1s to 1h",
        takes: |value| time(value).is_some_and(|time| (1..=3600).contains(&time.as_secs())),
        unset: "off",
        absent: |_| None,
        depends: "some seconds where connections are short",
        sets: &["TCP_DEFER_ACCEPT"],
        by_hand: "linerate serve --defer-accept 5s",
        refused_in_studies: |_| None,
    },
    OfOurServer {
        card: Card {
            name: "listen-backlog",
            title: "connections that may wait for our server",
            group: Group::Tcp,
            scope: Scope::Socket,
            binds: Binds::Listen,
            worst: Worst::Failures("clients are dropped in each burst"),
            about: "What listen(2) is told; the kernel cuts it to `accept-queue`. When so many wait, the \
                last packet of a handshake is dropped, and the client sends again after a second.",
            helps: "more: bursts of new connections; less: clients that would rather be refused early",
            hurts: "more: answers that nobody waits for any longer; less: seconds of delay in bursts",
            published: None,
        },
        flag: "--backlog",
        values: "a number from 1 to 65535, at most net.core.somaxconn",
        takes: |value| is_from_to(value, 1, 65_535),
        unset: "4096, or net.core.somaxconn if that is less",
        absent: |_| None,
        depends: "as many connections as begin in the longest pause of the server",
        sets: &["listen(2)"],
        by_hand: "linerate serve --backlog 4096",
        refused_in_studies: holds_backlog,
    },
    OfOurServer {
        card: Card {
            name: "pacing",
            title: "how fast one connection of our server may send",
            group: Group::Tcp,
            scope: Scope::Socket,
            binds: Binds::Listen,
            worst: Worst::Slower("each connection gets no more than the rate"),
            about: "What a window would let leave in one burst leaves in pieces that are spread over the \
                round trip, and never faster than this (SO_MAX_PACING_RATE). TCP keeps the time by \
                itself; with `fq` as the `qdisc` of the device that does, for UDP as well.",
            helps: "short queues on the way, which bursts overflow; instances whose credit of packets or \
                bytes is used up by bursts; a server from which no client is to have all",
            hurts: "it is the most that a connection gets, however wide the way is; a timer for each piece",
            published: None,
        },
        flag: "--pacing",
        values: "a rate from 8kbit/s, such as 100Mbit/s",
        takes: |value| parse_rate(value).is_ok_and(|bits| bits >= 8_000),
        unset: "off",
        absent: |_| None,
        depends: "a little less than the narrowest part of the way carries",
        sets: &["SO_MAX_PACING_RATE"],
        by_hand: "linerate serve --pacing 100Mbit/s --root /srv/www",
        refused_in_studies: |_| None,
    },
    OfOurServer {
        card: Card {
            name: "zero-copy",
            title: "large answers leave from where they lie",
            group: Group::Tcp,
            scope: Scope::Process,
            binds: Binds::Fork,
            worst: Worst::Failures(
                "a program that changes its memory too early sends what it did not mean to",
            ),
            about: "The kernel sends from the server's own memory, without a copy, and tells \
                later that it is done with it and whether it copied all the same. Our server does \
                so with a message of 10 KiB and more on /plaintext, in the clear, which nothing \
                changes for as long as it runs.",
            helps: "bulk from memory through a network card that gathers pieces by itself",
            hurts: "small answers, and what stays on the machine: over loopback and veth the kernel \
                copies all the same, and to be told so costs system calls; a program that changes \
                its memory too early sends what it did not mean to",
            published: Some(
                "10 streams between two hosts with up to 70 % fewer cycles of netserver, by the size of \
                packets, and at best 20 % of the whole machine, in \
                https://repo.or.cz/linux-stable.git/commit/f214f915e7db99091f1312c48b30928c1e0c90b7",
            ),
        },
        flag: "--zero-copy",
        values: "on, off",
        takes: |value| ["on", "off"].contains(&value),
        unset: "off",
        absent: |_| None,
        depends: "on for bulk from memory through a network card; the server tells at its end what it \
            was good for",
        sets: &["SO_ZEROCOPY", "MSG_ZEROCOPY", "IORING_OP_SEND_ZC"],
        by_hand: "linerate serve --zero-copy on --message \"$(printf %065536d 0)\"",
        refused_in_studies: |value| match value {
            "on" => why_not(allows_zero_copy()),
            _ => None,
        },
    },
];

const ONE_WORKER: &str = "the server of a study is one worker on one CPU, so there is nothing to \
    choose from";

pub(super) fn is_from_to(value: &str, least: u32, most: u32) -> bool {
    value
        .parse()
        .is_ok_and(|number: u32| (least..=most).contains(&number))
}

fn time(value: &str) -> Option<Duration> {
    humantime::parse_duration(value).ok()
}

fn polls_busily() -> std::io::Result<()> {
    Epoll::new()?.poll_busily(BusyPoll {
        time_us: 1,
        preferred_budget: None,
    })
}

/// Whether the kernel takes sends without a copy; it may still copy.
fn allows_zero_copy() -> std::io::Result<()> {
    let listener = any_listener(1)?;
    listener::allow_zero_copy(listener.as_fd()).map_err(std::io::Error::other)
}

fn any_listener(backlog: i32) -> std::io::Result<TcpListener> {
    let options = ListenOptions {
        shared_port: false,
        backlog,
    };
    socket::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options)
}

/// What a listener of ours holds after it was asked for so many.
fn holds_backlog(value: &str) -> Option<String> {
    let wanted = value.parse().unwrap_or(i32::MAX);
    let held = any_listener(wanted).and_then(|listener| listener::backlog(listener.as_fd()));
    match held {
        Err(error) => Some(error.to_string()),
        Ok(held) if value.parse() == Ok(held) => None,
        Ok(held) => Some(format!("the kernel holds {held}, by net.core.somaxconn")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_held_however_its_number_is_written() {
        for value in ["77", "077", "+77"] {
            assert_eq!(holds_backlog(value), None, "{value}");
        }
        assert!(holds_backlog("2147483647").is_some());
    }
}
