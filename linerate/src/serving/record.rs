//! What a server says of its connections: when it is asked by SIGUSR1, and to programs at its end.

use schemars::JsonSchema;
use serde::Serialize;
use sys::tally_page::TallyPage;
use traffic::engine::life::Counts;

use crate::shape;
use crate::zero_copy::Account;

/// One line after the last answer, when the server ends; and one each time that it is told SIGUSR1,
/// within a second.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Record {
    /// Whether this is the last line.
    ended: bool,
    /// What became of the connections of all workers since the start, those of workers that died
    /// included; one that ended in good order, or is still open, is in no other number than the first.
    connections: Counts,
    /// Workers that ended on their own, and in whose place another was started.
    workers_started_again: u64,
    /// What became of the sends that were to go without a copy; at the end, with --files-by zero-copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    zero_copy: Option<Account>,
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
            zero_copy: None,
        }
    }

    pub(super) fn with_started_again(self, workers_started_again: u64) -> Self {
        Self {
            workers_started_again,
            ..self
        }
    }

    pub(super) fn at_the_end(self, zero_copy: Option<Account>) -> Self {
        Self {
            ended: true,
            zero_copy,
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
