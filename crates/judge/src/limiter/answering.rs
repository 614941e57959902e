//! The answer is written and does not arrive: by the kernel's own reasons.

use model::explanation::{AccountKind, Hindrance};
use model::observation::{Doing, Holder};

use super::{Case, Ruling, limiter, percent, ruled_out};

/// A cause is the kernel's where it held for such a part of the time in which there was something to send.
const MOSTLY: f64 = 0.3;
/// Of all segments: fewer are lost on any path.
const LOSSY: f64 = 0.001;
/// Acknowledgements put off, for each answer.
const PUT_OFF: f64 = 0.3;
/// The kernel puts one off by 40 ms (`TCP_DELACK_MIN` of net/tcp.h), and a machine at work is late.
const PUT_OFF_US: std::ops::Range<f64> = 25_000.0..120_000.0;

/// More packets than this do not wait where nothing is in the way.
const QUEUED: u64 = 16;

/// Name, words, what shows it, what to do.
type Cause = (&'static str, &'static str, String, &'static str);

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Answering) + case.held_by_window();
    if case.ledger.accounts.is_empty() {
        return Ruling::Silent;
    }
    let by = format!(
        "answers are written and not acknowledged for {} of the time",
        percent(share)
    );
    let (name, words, shown, what_to_do) = cause(case);
    let mut found = limiter(
        name,
        share,
        format!(
            "The answers are under way for {} of the time: {words}.",
            percent(share)
        ),
        vec![by.clone(), shown],
        what_to_do,
    );
    found.hindrance = Some(Hindrance::Connections);
    // A way has a rate that all share, small windows cost the client's CPU, and each connection has its own timers.
    let is_shared = ["loss", "path", "receiver-window", "shaped-link"].contains(&name);
    found.follows = (!is_shared).then_some(true);
    Ruling::by_share(found, || ruled_out("the network", by))
}

fn cause(case: &Case<'_>) -> Cause {
    let told = buffer(case)
        .or_else(|| shaped(case))
        .or_else(|| held_back(case));
    if let Some(told) = told {
        return told;
    }
    let seen = case.seen;
    let part = |of: &str, all: &str| seen.rise(of) as f64 / seen.rise(all).max(1) as f64;
    // Both counts are of all that is in the namespace, so that the time itself must fit.
    let put_off =
        seen.rise("TcpExt.DelayedACKs") as f64 / case.answered().unwrap_or(u64::MAX) as f64;
    let waits_us =
        case.ledger.share(AccountKind::Answering) * case.ledger.response_us.unwrap_or(0.0);
    if put_off > PUT_OFF && PUT_OFF_US.contains(&waits_us) {
        return (
            "delayed-acks",
            "a small rest of each answer waits for an acknowledgement that the other end puts off by 40 ms",
            format!("{put_off:.2} acknowledgements were put off for each answer (DelayedACKs)"),
            "have the server set TCP_NODELAY, or send an answer in one call",
        );
    }
    let again = part("Tcp.RetransSegs", "Tcp.OutSegs");
    if again > LOSSY {
        return (
            "loss",
            "segments are lost and sent again",
            format!(
                "{} of all segments were sent again (RetransSegs), {:.1} timeouts a second",
                percent(again),
                case.rate(seen.rise("TcpExt.TCPTimeouts"))
            ),
            "find where they are lost: `tc -s qdisc`, `ethtool -S`, the path; another congestion control may bear it better (bbr)",
        );
    }
    (
        "path",
        "they are long on the way",
        "neither window, nor buffer, nor loss: delay or rate of the way itself".to_owned(),
        "look at the queues on the way (`tc -s qdisc`), at its rate and its round-trip time; a limit that is meant, such as tbf, is found there too",
    )
}

/// A queue of this machine is full, or drops what comes: what it turned away is sent later, as if somebody held it back.
fn shaped(case: &Case<'_>) -> Option<Cause> {
    let seen = case.seen;
    let (dropped, waiting) = (seen.rise("queues.dropped"), seen.rise("queues.waiting"));
    let is_dropping = 2 * dropped > seen.rise("Tcp.RetransSegs")
        && dropped as f64 > LOSSY * seen.rise("Tcp.OutSegs") as f64;
    let is_full = is_dropping || waiting > QUEUED;
    is_full.then(|| {
        (
            "shaped-link",
            "a device of this machine may send no faster",
            format!(
                "{waiting} packets wait in queues of its devices, and {:.0} a second are dropped there (tc -s qdisc)",
                case.rate(dropped)
            ),
            "see who limits it, and why: `tc -s qdisc` names the device and the rate (tbf, htb, netem); a limit that is meant is the limit",
        )
    })
}

/// Somebody has asked the kernel to wait for more, or to send slowly.
fn held_back(case: &Case<'_>) -> Option<Cause> {
    let held = case.moments(|it| it.holder == Holder::HeldBack);
    (held > MOSTLY).then(|| {
        (
            "held-back",
            "the server's kernel keeps a part of each though nothing is on the way",
            format!(
                "at {} of the moments a part was written and not sent, none on the way, and the client had room (tcp_info)",
                percent(held)
            ),
            "take the cork out at the end of each answer (TCP_CORK, MSG_MORE: it is kept for 200 ms otherwise), or let it be sent faster (SO_MAX_PACING_RATE, `maxrate` of fq)",
        )
    })
}

/// A buffer at either end that holds too little.
fn buffer(case: &Case<'_>) -> Option<Cause> {
    let seen = case.seen;
    let part = |of: &str, all: &str| seen.rise(of) as f64 / seen.rise(all).max(1) as f64;
    let small = case.moments(|it| it.holder == Holder::Window);
    let rwnd = part("senders.rwnd_limited_us", "senders.busy_us").max(small);
    if rwnd > MOSTLY {
        return Some((
            "receiver-window",
            "the receiver's window lets no more be sent",
            format!(
                "limited by the receiver's window for {} of the time in which there was something to send (tcp_info)",
                percent(rwnd)
            ),
            "have the client read faster, or give its sockets larger receive buffers (net.ipv4.tcp_rmem, SO_RCVBUF)",
        ));
    }
    let full = case.moments(|it| it.holder == Holder::Full && it.doing != Doing::Running);
    let sndbuf = part("senders.sndbuf_limited_us", "senders.busy_us").max(full);
    if sndbuf > MOSTLY {
        return Some((
            "send-buffer",
            "the server's send buffers hold less than the way takes",
            format!(
                "the send buffer is full, and limits what is sent, for {} of the time (tcp_info, skmeminfo)",
                percent(sndbuf)
            ),
            "larger send buffers: net.ipv4.tcp_wmem, and no SO_SNDBUF in the server",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use model::observation::Observation;

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    fn sending(counters: &[(&str, u64)]) -> Observation {
        let mut seen = busy();
        // 16 connections, and 40 ms for each answer.
        seen.load.as_mut().unwrap().answered = 400;
        seen.moments = vec![moment(Holder::Network, idle("ep_poll"), 10.0)];
        let counters = counters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        seen.counters = counters.collect();
        seen
    }

    #[test]
    fn answers_that_do_not_arrive_are_told_by_the_reason_that_the_kernel_has() {
        let table: [(&[(&str, u64)], &str); 7] = [
            (&[("queues.waiting", 100)], "shaped-link"),
            (
                &[
                    ("queues.dropped", 100),
                    ("Tcp.RetransSegs", 99),
                    ("Tcp.OutSegs", 900),
                ],
                "shaped-link",
            ),
            (
                &[("senders.busy_us", 100), ("senders.rwnd_limited_us", 90)],
                "receiver-window",
            ),
            (
                &[("senders.busy_us", 100), ("senders.sndbuf_limited_us", 90)],
                "send-buffer",
            ),
            (&[("Tcp.OutSegs", 1000), ("Tcp.RetransSegs", 20)], "loss"),
            (
                &[
                    ("TcpExt.DelayedACKs", 400),
                    ("Tcp.OutSegs", 1000),
                    ("Tcp.RetransSegs", 20),
                ],
                "delayed-acks",
            ),
            (&[], "path"),
        ];
        for (counters, expected) in table {
            assert_eq!(held(rule, &sending(counters)).name, expected);
        }
    }

    #[test]
    fn a_part_that_is_kept_back_while_nothing_is_on_the_way_is_no_matter_of_the_way() {
        let mut seen = sending(&[]);
        seen.moments[0].holder = Holder::HeldBack;
        assert_eq!(held(rule, &seen).name, "held-back");
        // Unless a queue of the machine turned it away, which a packet or two now and then is not.
        for (dropped, name) in [(2, "held-back"), (500, "shaped-link")] {
            for (counter, count) in [("queues.dropped", dropped), ("Tcp.OutSegs", 4_000)] {
                seen.counters.insert(counter.to_owned(), count);
            }
            assert_eq!(held(rule, &seen).name, name);
        }
    }

    #[test]
    fn losses_without_a_wait_accuse_nobody() {
        let mut seen = busy();
        seen.counters = sending(&[("Tcp.OutSegs", 1000), ("Tcp.RetransSegs", 20)]).counters;
        assert!(!is_accused(rule, &seen));
    }
}
