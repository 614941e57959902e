//! Follows a program that waits for another to that other one. Each is observed under the same
//! load.

use std::collections::BTreeSet;

use model::Observation;
use model::explanation::{LookKind, Looked};
use model::observation::{Behind, SeenLoad};

use crate::campaign::{Campaign, CampaignError};
use crate::explain::{ExplainOrder, Whose, load_of};

/// Most programs that are followed, one behind the other.
const MOST_LEVELS: usize = 3;
/// Why nothing is tried on a program that is followed.
const UNTRIED: &str = "what its own clients get from it is not known";

impl Campaign<'_> {
    /// Observes who is behind what was seen, and who is behind that. The nearest is the outermost.
    pub(crate) fn behind(
        &mut self,
        order: &ExplainOrder,
        first: &Observation,
    ) -> Result<Option<Box<Looked>>, CampaignError> {
        let mut levels: Vec<Looked> = Vec::new();
        let mut known = processes(first);
        while levels.len() < MOST_LEVELS && matches!(order.whose, Whose::Asked(_)) {
            let seen = levels.last().map_or(first, |level| &level.observation);
            let Some(next) = next(seen, &known) else {
                break;
            };
            self.progress
                .phase(&format!("looking at what is behind it: {}", title(&next)));
            known.extend(&next.pids);
            match self.observe(load_of(order), order, &next.pids) {
                Ok(seen) => levels.push(looked(&next, seen)),
                // The process is gone by now, or we may not look at it.
                Err(CampaignError::Agent(error)) if error.is_refusal() => break,
                Err(error) => return Err(error),
            }
        }
        let nested = levels.into_iter().rev().fold(None, |behind, level| {
            Some(Box::new(Looked { behind, ..level }))
        });
        Ok(nested)
    }
}

/// Returns who is waited for, if they can be looked at and were not looked at before, so that
/// nobody is followed in a circle.
fn next(seen: &Observation, known: &BTreeSet<u32>) -> Option<Behind> {
    let next = judge::leads_to(seen)?;
    let is_new = next.pids.iter().all(|pid| !known.contains(pid));
    (is_new && !next.pids.is_empty()).then(|| next.clone())
}

fn processes(seen: &Observation) -> BTreeSet<u32> {
    seen.threads.iter().map(|thread| thread.pid).collect()
}

fn title(behind: &Behind) -> String {
    let first = behind.pids.first().copied().unwrap_or_default();
    format!("{} (pid {first})", behind.name)
}

/// Makes a look of an observation. Its load is the number of requests that the waiting program has
/// with it; nobody counts its answers.
fn looked(behind: &Behind, mut seen: Observation) -> Looked {
    seen.load = Some(SeenLoad {
        connections: waiting(behind),
        ..SeenLoad::default()
    });
    Looked {
        workload: LookKind::Look,
        target: title(behind),
        observation: seen,
        trial: None,
        untried: Some(UNTRIED.to_owned()),
        behind: None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates"
)]
fn waiting(behind: &Behind) -> u32 {
    behind.waiting.round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use model::observation::{Doing, Holder, Moment, SeenThread};

    use super::*;

    /// Process 1 has a request in its hands and waits for the processes `pids`.
    fn waits_for(pids: &[u32]) -> Observation {
        Observation {
            window_ns: 1,
            load: Some(SeenLoad::default()),
            threads: vec![SeenThread {
                pid: 1,
                ..SeenThread::default()
            }],
            moments: vec![Moment {
                holder: Holder::Program,
                doing: Doing::Idle("ep_poll".to_owned()),
                count: 100.0,
            }],
            behind: vec![Behind {
                address: ([127, 0, 0, 1], 3000).into(),
                is_here: true,
                pids: pids.to_vec(),
                name: "node".to_owned(),
                open: 4.0,
                waiting: 3.6,
            }],
            ..Observation::default()
        }
    }

    #[test]
    fn nobody_is_followed_twice_or_where_he_cannot_be_seen() {
        let seen = waits_for(&[2, 3]);
        let known = processes(&seen);
        let found = next(&seen, &known).unwrap();
        assert_eq!(
            (title(&found), waiting(&found)),
            ("node (pid 2)".to_owned(), 4)
        );
        assert_eq!(next(&seen, &BTreeSet::from([1, 3])), None);
        assert_eq!(next(&waits_for(&[1]), &known), None);
        assert_eq!(next(&waits_for(&[]), &known), None);
    }
}
