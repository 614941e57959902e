//! Shows a load under way: by one changing line on a terminal, by plain lines elsewhere.

use super::sight::Sight;
use super::words::Recent;
use crate::progress_line::ProgressLine;
use model::reading::Ledger;
use traffic::load::LoadPlan;

/// Time between two changes of the line. Its words and its bar may be drawn one after the other,
/// which makes eight frames a second.
const FRAME_NS: u64 = 250_000_000;

pub(super) struct Drawing<'a> {
    line: ProgressLine<'a>,
    begun_ns: u64,
    settle_ns: u64,
    score_ns: u64,
    requests: Option<u64>,
    bulk: bool,
    recent: Recent,
    next_ns: u64,
}

impl<'a> Drawing<'a> {
    /// The drawing of a load that is about to begin.
    pub(super) fn new(line: ProgressLine<'a>, now_ns: u64, plan: &LoadPlan) -> Self {
        Self {
            line,
            begun_ns: now_ns,
            settle_ns: plan.settle_ns,
            score_ns: plan.score_ns,
            requests: plan.requests,
            bulk: plan.bulk,
            recent: Recent::default(),
            next_ns: now_ns + FRAME_NS,
        }
    }

    /// When the line is to be drawn next, on the monotonic clock.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Draws the line, if it is time.
    pub(super) fn look(&mut self, sight: &Sight, now_ns: u64) {
        if now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns + FRAME_NS;
        let Some(live) = sight.live.get() else {
            return;
        };
        let total_ns = self.settle_ns + self.score_ns;
        let done_ns = match sight.opened.get() {
            Some(opened) => self.settle_ns + now_ns.saturating_sub(opened.at_ns),
            None => now_ns.saturating_sub(self.begun_ns).min(self.settle_ns),
        };
        let so_far = live.so_far();
        let total_ns = self.requests.map_or(total_ns, |requests| {
            expected_ns(&so_far.ledger, requests, done_ns).min(total_ns)
        });
        let left_ns = total_ns.saturating_sub(done_ns);
        let words = self.recent.words(now_ns, &so_far, left_ns, self.bulk);
        let parts = |ns: u64| usize::try_from(ns / 1_000_000).unwrap_or(usize::MAX);
        self.line.step(parts(done_ns), parts(total_ns), &words);
    }

    /// Removes the changing line.
    pub(super) fn end(&self) {
        self.line.end();
    }
}

/// How long `requests` requests take if they go on at the rate so far, ns.
fn expected_ns(ledger: &Ledger, requests: u64, done_ns: u64) -> u64 {
    let ended = ledger.answered + ledger.errors.failed();
    let expected_ns = u128::from(done_ns) * u128::from(requests) / u128::from(ended.max(1));
    u64::try_from(expected_ns).unwrap_or(u64::MAX)
}
