//! The answer is written and does not arrive; the kernel's counters say why.

use model::explanation::{AccountKind, Hindrance};
use model::observation::{Doing, Holder};

use super::{Case, Ruling, limiter, percent, ruled_out};

/// Share of the time in which there was something to send, above which a cause that the kernel
/// reports is the cause.
const MOSTLY: f64 = 0.3;
/// Share of all segments that are sent again; a smaller share is lost on any path.
const LOSSY: f64 = 0.001;
/// Delayed acknowledgements for each answer.
const PUT_OFF: f64 = 0.3;
/// Waits that fit a delayed acknowledgement, µs: the kernel delays one by 40 ms (`TCP_DELACK_MIN`
/// of net/tcp.h), and a busy machine is late.
const PUT_OFF_US: std::ops::Range<f64> = 25_000.0..120_000.0;

/// Most packets that wait in queues where nothing is in the way.
const QUEUED: u64 = 16;

/// A cause: its name, a phrase for it, what shows it, and what to do.
type Cause = (&'static str, &'static str, String, &'static str);

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Answering) + case.held_by_window();
    if case.ledger.accounts.is_empty() {
        return Ruling::Silent;
    }
    let by = format!(
        "answers are written but not acknowledged for {} of the time",
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
    // All connections share the rate of a path, and small windows cost the client's CPU; but timers
    // are each connection's own.
    let is_shared = ["loss", "path", "receiver-window", "shaped-link"].contains(&name);
    found.follows = (!is_shared).then_some(true);
    Ruling::by_share(found, || ruled_out("the network", by))
}

fn cause(case: &Case<'_>) -> Cause {
    let known = buffer(case)
        .or_else(|| shaped(case))
        .or_else(|| held_back(case));
    if let Some(known) = known {
        return known;
    }
    let seen = case.seen;
    let part = |of: &str, all: &str| seen.rise(of) as f64 / seen.rise(all).max(1) as f64;
    // The counter covers everything in the namespace, so the time itself must fit too.
    let put_off =
        seen.rise("TcpExt.DelayedACKs") as f64 / case.answered().unwrap_or(u64::MAX) as f64;
    let waits_us =
        case.ledger.share(AccountKind::Answering) * case.ledger.response_us.unwrap_or(0.0);
    if put_off > PUT_OFF && PUT_OFF_US.contains(&waits_us) {
        return (
            "delayed-acks",
            "the small last part of each answer waits for an acknowledgement that the other end delays by 40 ms",
            format!("{put_off:.2} acknowledgements were delayed for each answer (DelayedACKs)"),
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
            "find where they are lost: `tc -s qdisc`, `ethtool -S`, the path; another congestion control may cope better (bbr)",
        );
    }
    (
        "path",
        "they take long on the path",
        "not the window, a buffer or loss, but the delay or rate of the path itself".to_owned(),
        "look at the queues on the path (`tc -s qdisc`), its rate and its round-trip time; an intended limit, such as tbf, is found there too",
    )
}

/// A queue of this machine is full or drops packets. What it turned away is sent later, as if
/// somebody held it back, so this is looked for before that.
fn shaped(case: &Case<'_>) -> Option<Cause> {
    let seen = case.seen;
    let (dropped, waiting) = (seen.rise("queues.dropped"), seen.rise("queues.waiting"));
    let is_dropping = 2 * dropped > seen.rise("Tcp.RetransSegs")
        && dropped as f64 > LOSSY * seen.rise("Tcp.OutSegs") as f64;
    let is_full = is_dropping || waiting > QUEUED;
    is_full.then(|| {
        (
            "shaped-link",
            "a device of this machine is not allowed to send faster",
            format!(
                "{waiting} packets wait in queues of its devices, and {:.0} a second are dropped there (tc -s qdisc)",
                case.rate(dropped)
            ),
            "see what limits it, and why: `tc -s qdisc` names the device and the rate (tbf, htb, netem); if that limit is intended, there is nothing to fix",
        )
    })
}

/// The server has asked the kernel to wait for more data, or to send slowly.
fn held_back(case: &Case<'_>) -> Option<Cause> {
    let held = case.moments(|it| it.holder == Holder::HeldBack);
    (held > MOSTLY).then(|| {
        (
            "held-back",
            "the server's kernel holds back a part of each although nothing is on the way",
            format!(
                "at {} of the moments a part was written but not sent, nothing was on the way, and the client had room (tcp_info)",
                percent(held)
            ),
            "remove the cork at the end of each answer (TCP_CORK, MSG_MORE: otherwise the rest is held back for 200 ms), or allow it to be sent faster (SO_MAX_PACING_RATE, `maxrate` of fq)",
        )
    })
}

/// A buffer at either end is too small.
fn buffer(case: &Case<'_>) -> Option<Cause> {
    let seen = case.seen;
    let part = |of: &str, all: &str| seen.rise(of) as f64 / seen.rise(all).max(1) as f64;
    let small = case.moments(|it| it.holder == Holder::Window);
    let rwnd = part("senders.rwnd_limited_us", "senders.busy_us").max(small);
    if rwnd > MOSTLY {
        return Some((
            "receiver-window",
            "the receiver's window allows no more to be sent",
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
            "the server's send buffers hold less than the path can carry",
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
