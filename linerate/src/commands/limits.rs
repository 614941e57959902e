//! Which side of a download had no more to give, in words, and what held the sending back.

use machine::instruments::senders::SenderReading;
use report::numbers;

/// From this share of the window on, a side could not have done more.
const FULL_SHARE: f64 = 0.95;

/// The sides that were busy all the time; the server's share is `None` where it is not known.
pub(super) fn full_sides(client_share: f64, server_share: Option<f64>) -> Vec<&'static str> {
    let sides = [("client", Some(client_share)), ("server", server_share)];
    let is_full = |share: Option<f64>| share.is_some_and(|share| share >= FULL_SHARE);
    let full = sides.into_iter().filter(|(_, share)| is_full(*share));
    full.map(|(side, _)| side).collect()
}

/// The busy sides, for the end of a sentence.
pub(super) fn words(full_sides: &[&str]) -> &'static str {
    match full_sides {
        [] => "neither side was at its limit",
        ["client"] => "the client was the limit",
        ["server"] => "the server was the limit",
        _ => "both sides were at their limit",
    }
}

/// Shares of the time of all connections, in a window of so many seconds.
pub(super) fn held_back(sending: &SenderReading, seconds: f64) -> String {
    let all_us = (seconds * 1e6 * sending.connections as f64).max(1.0);
    let share = |us: u64| numbers::share((us as f64 / all_us).min(1.0));
    format!(
        "under way {} of the time; held back {} by the client's window, {} by its own buffer",
        share(sending.busy_us),
        share(sending.rwnd_limited_us),
        share(sending.sndbuf_limited_us)
    )
}
