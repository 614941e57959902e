//! What a server says of its connections: when it is asked by SIGUSR1, and to programs at its end.

use serde::Serialize;
use sys::tally_page::TallyPage;
use traffic::engine::life::Counts;

use super::FORMAT;
use crate::zero_copy::Account;

/// What became of the connections of all workers since the start (`docs/schema/serve-end.json`).
#[derive(Serialize)]
pub(super) struct Record {
    format: u32,
    ended: bool,
    connections: Counts,
    /// Workers that died, and in whose place another was started.
    workers_started_again: u64,
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
            format: FORMAT,
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
            return serde_json::json!(self).to_string();
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
