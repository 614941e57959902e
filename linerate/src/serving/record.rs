//! What a server reports about its connections: on SIGUSR1, and for programs when it ends.

use schemars::JsonSchema;
use serde::Serialize;
use sys::tally_page::TallyPage;
use traffic::engine::life::Counts;

use crate::shape;

/// One line after the last answer, when the server ends; and one within a second of each SIGUSR1.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Record {
    /// Whether this is the last line.
    ended: bool,
    /// What became of the connections of all workers since the start, including workers that died.
    /// A connection that ended in good order, or is still open, counts only as accepted.
    connections: Counts,
    /// Workers that ended on their own and were replaced by another, count.
    workers_started_again: u64,
}

impl Record {
    pub(super) fn of<'a>(pages: impl IntoIterator<Item = &'a TallyPage>) -> Self {
        let mut connections = Counts::default();
        for page in pages {
            connections += Counts::from(page);
        }
        Self {
            ended: false,
            connections,
            workers_started_again: 0,
        }
    }

    pub(super) fn with_started_again(self, workers_started_again: u64) -> Self {
        Self {
            workers_started_again,
            ..self
        }
    }

    pub(super) fn at_the_end(self) -> Self {
        Self {
            ended: true,
            ..self
        }
    }

    pub(super) fn line(&self, is_json: bool) -> String {
        if is_json {
            return shape::line(self);
        }
        let Counts {
            accepted,
            refused,
            timed_out,
            slow_readers,
            reset,
            shed,
        } = self.connections;
        format!(
            "connections: {accepted} accepted, {refused} refused, {timed_out} timed out, {slow_readers} \
             too slow in reading, {reset} reset, {shed} shed; workers started again: {}",
            self.workers_started_again
        )
    }
}
