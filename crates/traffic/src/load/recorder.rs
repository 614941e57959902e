//! Counts every request of one worker: in the ledger, the ticks and the distributions.

use super::tally::Tally;
use crate::protocol::Fate;

/// Length of the pieces of a block whose answers are also counted separately, to see it settle.
pub const TICK_NS: u64 = 100_000_000;

/// When a request was meant to leave, and when it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestTimes {
    pub(super) intended_ns: u64,
    pub(super) sent_ns: u64,
}

/// The edges of a block on the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edges {
    pub(super) start_ns: u64,
    pub(super) open_ns: u64,
    pub(super) close_ns: u64,
}

impl Edges {
    /// Returns the number of ticks in the block.
    fn ticks(&self) -> usize {
        let ticks = self
            .close_ns
            .saturating_sub(self.start_ns)
            .div_ceil(TICK_NS);
        usize::try_from(ticks).unwrap_or(0)
    }

    /// Whether a moment lies in the scored window.
    pub(super) fn hold(&self, moment_ns: u64) -> bool {
        (self.open_ns..self.close_ns).contains(&moment_ns)
    }
}

/// Which requests belong to the scored window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scoring {
    /// Closed loop: those that end while the window is open.
    ByEnd,
    /// Open loop: those that were due in the window, so that a stalled server cannot push them out.
    ByIntention,
}

/// The counts of one worker.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    edges: Edges,
    scoring: Scoring,
    is_open: bool,
    /// Counts that other threads may read at any time.
    pub(super) tally: &'a Tally,
    /// Requests that were due in the window and left at any time.
    pub(super) due_sent: u64,
    /// Requests that were due in the window and found no connection.
    pub(super) due_unsent: u64,
    /// Requests that were due in the window and were answered at any time.
    pub(super) due_answered: u64,
    /// Requests of an open loop that were due in the window and were still under way at the end.
    pub(super) due_unfinished: u64,
    /// The longest service time in the window, set when nothing more is answered.
    longest_ns: u64,
    /// Answers in each tick of the block.
    pub(super) ticks: Vec<u64>,
    ticked: u64,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(edges: Edges, scoring: Scoring, tally: &'a Tally) -> Self {
        Self {
            edges,
            scoring,
            is_open: false,
            tally,
            due_sent: 0,
            due_unsent: 0,
            due_answered: 0,
            due_unfinished: 0,
            longest_ns: 0,
            ticks: vec![0; edges.ticks()],
            ticked: 0,
        }
    }

    /// Returns how long the load settled.
    pub(super) fn settled_ns(&self) -> u64 {
        self.edges.open_ns.saturating_sub(self.edges.start_ns)
    }

    /// Returns the length of the scored window; 0 if the block ended before it opened.
    pub(super) fn window_ns(&self) -> u64 {
        self.edges.close_ns.saturating_sub(self.edges.open_ns)
    }

    /// Sets edges that lie earlier than the present ones.
    pub(super) fn set_edges(&mut self, edges: Edges) {
        self.edges = edges;
        self.ticks.truncate(edges.ticks());
    }

    pub(super) fn open_window(&mut self) {
        self.is_open = true;
    }

    pub(super) fn close_window(&mut self) {
        self.is_open = false;
    }

    /// Whether requests are under way that have no fate yet.
    pub(super) fn has_open_requests(&self) -> bool {
        !self.tally.ledger().balances()
    }

    /// Returns the requests that were due in the window, sent or not.
    pub(super) fn due(&self) -> u64 {
        self.due_sent + self.due_unsent
    }

    /// Counts a request that leaves.
    #[inline]
    pub(super) fn sent(&mut self, request: RequestTimes) {
        self.tally.sent.add(1);
        if self.scoring == Scoring::ByEnd || !self.edges.hold(request.intended_ns) {
            return;
        }
        self.due_sent += 1;
        if let Some(distributions) = &self.tally.distributions {
            let lateness = request.sent_ns.saturating_sub(request.intended_ns);
            distributions.lateness.record(lateness);
        }
    }

    /// Counts the bytes of a piece of an answer.
    #[inline]
    pub(super) fn received(&mut self, bytes: usize) {
        if self.is_open {
            self.tally.received_bytes.add(bytes as u64);
        }
    }

    /// Counts a request that ended.
    #[inline]
    pub(super) fn ended(&mut self, request: RequestTimes, fate: Fate, now_ns: u64) {
        self.tally.bin(fate).add(1);
        if fate == Fate::Answered {
            self.score(request, now_ns);
        }
        // A request that was given up took at least as long as it waited; without it, a server that
        // hangs would look fast. Other failures say nothing about speed.
        match (fate, self.scoring) {
            (Fate::Unfinished, Scoring::ByEnd) => self.record_hung(request),
            (Fate::Unfinished, Scoring::ByIntention) => self.record_out(request, now_ns),
            (Fate::Answered | Fate::Timeout, _) => self.record(request, now_ns),
            _ => {}
        }
    }

    /// Notes the longest service time. Nothing more will be answered; requests that are still under
    /// way are compared with it.
    pub(super) fn note_end(&mut self) {
        let distributions = self.tally.distributions.as_ref();
        let longest_ns = distributions.and_then(|found| found.service.read().quantile(1.0));
        self.longest_ns = longest_ns.unwrap_or(0);
    }

    /// Records a request of a closed loop that was still under way at the end. In general it is
    /// left out, because one that was under way when the window opened was scored in its place. But
    /// if it has waited longer than any answer took, we take it that no answer is on its way.
    fn record_hung(&self, request: RequestTimes) {
        let waited_ns = self.edges.close_ns.saturating_sub(request.sent_ns);
        if let Some(distributions) = &self.tally.distributions
            && waited_ns > self.longest_ns
            && self.window_ns() > 0
        {
            distributions.service.record(waited_ns);
        }
    }

    /// Records a request of an open loop that was still under way at the end. The time that it had
    /// waited is a lower bound, and better than nothing.
    fn record_out(&mut self, request: RequestTimes, now_ns: u64) {
        self.due_unfinished += u64::from(self.edges.hold(request.intended_ns));
        self.record(request, now_ns);
    }

    /// Records a request of an open loop that found no connection until the block was over. It is
    /// in no bin, because it never left, but a user who sent it would have waited all that time.
    pub(super) fn never_sent(&mut self, intended_ns: u64, now_ns: u64) {
        if !self.edges.hold(intended_ns) {
            return;
        }
        self.due_unsent += 1;
        if let Some(distributions) = &self.tally.distributions {
            let waited_ns = now_ns.saturating_sub(intended_ns);
            distributions.response.record(waited_ns);
            distributions.lateness.record(waited_ns);
        }
    }

    #[inline]
    fn score(&mut self, request: RequestTimes, now_ns: u64) {
        if self.is_open {
            self.tally.scored.add(1);
            let waited_ns = now_ns.saturating_sub(request.sent_ns);
            self.tally.waited_ns.add(waited_ns);
        }
        self.due_answered += u64::from(self.edges.hold(request.intended_ns));
    }

    #[inline]
    fn record(&mut self, request: RequestTimes, now_ns: u64) {
        let Some(distributions) = &self.tally.distributions else {
            return;
        };
        match self.scoring {
            Scoring::ByEnd if self.is_open => {
                distributions
                    .service
                    .record(now_ns.saturating_sub(request.sent_ns));
            }
            Scoring::ByIntention if self.edges.hold(request.intended_ns) => {
                distributions
                    .service
                    .record(now_ns.saturating_sub(request.sent_ns));
                distributions
                    .response
                    .record(now_ns.saturating_sub(request.intended_ns));
            }
            _ => {}
        }
    }

    /// Adds the answers since the last call to the present tick.
    #[inline]
    pub(super) fn tick(&mut self, now_ns: u64) {
        let tick = (now_ns.saturating_sub(self.edges.start_ns) / TICK_NS) as usize;
        if let Some(count) = self.ticks.get_mut(tick) {
            let answered = self.tally.bin(Fate::Answered).get();
            *count += answered - self.ticked;
            self.ticked = answered;
        }
    }
}

#[cfg(test)]
mod tests {
    use model::reading::Ledger;

    use super::*;

    const EDGES: Edges = Edges {
        start_ns: 1_000,
        open_ns: 2_000,
        close_ns: 1_000 + 3 * TICK_NS,
    };

    fn request(intended_ns: u64, sent_ns: u64) -> RequestTimes {
        RequestTimes {
            intended_ns,
            sent_ns,
        }
    }

    #[test]
    fn each_fate_has_its_bin_and_the_bins_add_up() {
        let tally = Tally::new(true);
        let mut recorder = Recorder::new(EDGES, Scoring::ByEnd, &tally);
        let fates = [
            Fate::Answered,
            Fate::Status,
            Fate::Malformed,
            Fate::Body,
            Fate::Closed,
            Fate::Timeout,
            Fate::Unfinished,
        ];
        for fate in fates {
            recorder.sent(request(0, 0));
            assert!(recorder.has_open_requests());
            recorder.ended(request(0, 0), fate, 1);
            assert!(tally.ledger().balances());
        }
        let Ledger {
            answered, errors, ..
        } = tally.ledger();
        assert_eq!((answered, errors.failed(), errors.unfinished), (1, 5, 1));
    }

    #[test]
    fn in_an_open_loop_what_was_due_in_the_window_counts_whenever_it_ends() {
        let tally = Tally::new(true);
        let mut recorder = Recorder::new(EDGES, Scoring::ByIntention, &tally);
        let late = request(3_000, 3_000 + TICK_NS);
        recorder.sent(late);
        recorder.ended(late, Fate::Answered, EDGES.close_ns + 500);
        let before = request(1_500, 1_500);
        recorder.sent(before);
        recorder.ended(before, Fate::Answered, 2_500);
        let found = tally.latency(0.0).unwrap();
        assert_eq!(found.lateness.total(), 1);
        assert!(found.lateness.quantile(1.0) >= Some(TICK_NS));
        assert_eq!((found.response.total(), found.service.total()), (1, 1));
        assert!(found.response.quantile(1.0) > found.service.quantile(1.0));
        assert_eq!((recorder.due_sent, recorder.due_answered), (1, 1));
    }

    #[test]
    fn in_an_open_loop_what_is_out_at_the_end_has_waited_and_is_counted_apart() {
        let tally = Tally::new(true);
        let mut recorder = Recorder::new(EDGES, Scoring::ByIntention, &tally);
        for due_ns in [1_500, 3_000] {
            recorder.sent(request(due_ns, due_ns));
            recorder.ended(request(due_ns, due_ns), Fate::Unfinished, 3_000 + TICK_NS);
        }
        let found = tally.latency(0.0).unwrap();
        assert_eq!((found.service.total(), found.response.total()), (1, 1));
        assert_eq!((recorder.due_unfinished, recorder.due_answered), (1, 0));
    }

    #[test]
    fn a_request_that_never_left_has_waited_and_is_in_no_bin() {
        let tally = Tally::new(true);
        let mut recorder = Recorder::new(EDGES, Scoring::ByIntention, &tally);
        recorder.never_sent(3_000, 3_000 + TICK_NS);
        recorder.never_sent(1_500, 3_000 + TICK_NS);
        let found = tally.latency(0.0).unwrap();
        assert_eq!((found.service.total(), found.response.total()), (0, 1));
        assert!(found.lateness.quantile(1.0) >= Some(TICK_NS));
        assert_eq!((recorder.due_unsent, tally.ledger().sent), (1, 0));
    }

    #[test]
    fn in_a_closed_loop_only_the_open_window_is_scored() {
        let tally = Tally::new(true);
        let mut recorder = Recorder::new(EDGES, Scoring::ByEnd, &tally);
        let answer = |recorder: &mut Recorder<'_>| {
            recorder.sent(request(0, 0));
            recorder.ended(request(0, 0), Fate::Answered, 10);
        };
        answer(&mut recorder);
        recorder.open_window();
        answer(&mut recorder);
        recorder.close_window();
        answer(&mut recorder);
        assert_eq!((tally.ledger().answered, tally.scored.get()), (3, 1));
        assert_eq!(tally.waited_ns.get(), 10);
        assert_eq!(tally.latency(0.0).unwrap().service.total(), 1);
    }

    #[test]
    fn in_a_closed_loop_what_hangs_longer_than_any_answer_took_has_waited_until_the_close() {
        let tally = Tally::new(true);
        let mut recorder = Recorder::new(EDGES, Scoring::ByEnd, &tally);
        let ended = |recorder: &mut Recorder<'_>, sent_ns, fate, now_ns| {
            recorder.sent(request(sent_ns, sent_ns));
            recorder.ended(request(sent_ns, sent_ns), fate, now_ns);
        };
        recorder.open_window();
        ended(&mut recorder, 2_000, Fate::Answered, 2_000 + TICK_NS);
        recorder.close_window();
        recorder.note_end();
        let late_ns = EDGES.close_ns + TICK_NS;
        ended(&mut recorder, 2_000, Fate::Unfinished, late_ns);
        ended(
            &mut recorder,
            EDGES.close_ns - TICK_NS / 2,
            Fate::Unfinished,
            late_ns,
        );
        let service = tally.latency(0.0).unwrap().service;
        assert_eq!(service.total(), 2);
        let longest_ns = service.quantile(1.0).unwrap();
        assert!((2 * TICK_NS..3 * TICK_NS + TICK_NS / 2).contains(&longest_ns));
    }

    #[test]
    fn answers_are_booked_under_the_tick_in_which_they_came() {
        let tally = Tally::new(false);
        let mut recorder = Recorder::new(EDGES, Scoring::ByEnd, &tally);
        let answered = tally.bin(Fate::Answered);
        answered.add(3);
        recorder.tick(1_000 + TICK_NS / 2);
        answered.add(1);
        recorder.tick(1_000 + 2 * TICK_NS);
        answered.add(5);
        recorder.tick(1_000 + 3 * TICK_NS);
        assert_eq!(recorder.ticks, [3, 0, 1]);
    }
}
