//! Observes a program on its host while the client's host loads it.

use std::panic::resume_unwind;
use std::thread;

use model::failure::Failure;
use model::message::{BlockAsk, BurstsAsk, Loaded, ObserveAsk, Whom};
use model::observation::{Observation, SeenLoad};
use model::{Ask, Tell};

use super::{NamedAgent, Pair, strange};
use crate::Agent as _;
use crate::transport::AgentError;

/// The observation begins this long after the load has settled, ms, because the server's host does
/// not learn when all connections are open.
const CONNECTING_MS: u32 = 300;
/// If connecting took longer, the observation is made again and waits this many times as long as
/// connecting took.
const SPARE: u32 = 2;
/// Most observations before we give up.
const TRIES: u32 = 2;

impl Pair<'_> {
    /// Answers as one host would that loads its own program.
    pub(super) fn look(&mut self, block: &BlockAsk, ask: &ObserveAsk) -> Result<Tell, AgentError> {
        let mut connecting_ms = CONNECTING_MS;
        for _ in 0..TRIES {
            let begun_ns = self.clock.now_ns();
            // Starting to count sets the arm's levers, before any client connects.
            self.count(block)?;
            self.counted(&block.target, (0, 0))?;
            let asked_ns = client_ns(&mut self.client)?;
            let (seen, loaded) = under_load(
                &mut self.server,
                &mut self.client,
                (block, connecting_ms),
                ask,
            )?;
            let opened_ns = loaded.opened_ns.saturating_sub(asked_ns);
            // Connecting cannot have taken longer than the time that passed here. A false claim
            // would make the next try load the server's host for that long.
            if opened_ns > self.clock.now_ns().saturating_sub(begun_ns) {
                break;
            }
            let took_ms = u32::try_from(opened_ns / 1_000_000).unwrap_or(u32::MAX);
            let took_ms = took_ms.saturating_sub(block.settle_ms);
            if took_ms <= connecting_ms {
                return Ok(Tell::Observed(Box::new(Observation {
                    load: Some(within(&loaded, seen.window_ns, block.workload.connections)),
                    ..seen
                })));
            }
            connecting_ms = took_ms.saturating_mul(SPARE);
        }
        Err(AgentError::Refused(Failure {
            what: format!(
                "the client's connections to `{}` were not there in time",
                block.target
            ),
            advice: "ask for fewer connections".to_owned(),
        }))
    }
}

/// Returns the time of the client's clock, ns.
fn client_ns(client: &mut NamedAgent<'_>) -> Result<u64, AgentError> {
    match client.ask(&Ask::Clock)? {
        Tell::Clock(clock) => Ok(clock.monotonic_ns),
        _ => Err(strange("clock")),
    }
}

/// Observes the program on the server's host under load. Returns the observation and the reading of
/// the load.
fn under_load(
    server: &mut NamedAgent<'_>,
    client: &mut NamedAgent<'_>,
    (block, connecting_ms): (&BlockAsk, u32),
    ask: &ObserveAsk,
) -> Result<(Observation, Loaded), AgentError> {
    let look = ObserveAsk {
        whom: Whom::Target {
            name: block.target.clone(),
            settle_ms: block.settle_ms.saturating_add(connecting_ms),
        },
        ..ask.clone()
    };
    let long_ms = ask.look_ms + bursts_ms(ask.bursts);
    let load = BlockAsk {
        score_ms: connecting_ms.saturating_add(long_ms),
        ..block.clone()
    };
    let (seen, loaded) = thread::scope(|scope| {
        let load = Ask::Load(Box::new(load));
        let loading = scope.spawn(move || client.ask(&load));
        let seen = server.ask(&Ask::Observe(Box::new(look)));
        let loaded = loading.join();
        (seen, loaded.unwrap_or_else(|panic| resume_unwind(panic)))
    });
    match (seen?, loaded?) {
        (Tell::Observed(seen), Tell::Loaded(loaded)) => Ok((*seen, *loaded)),
        _ => Err(strange("a look under load")),
    }
}

/// Time within which the bursts after an observation are over, ms.
fn bursts_ms(bursts: BurstsAsk) -> u32 {
    match bursts {
        BurstsAsk::All => 5_000,
        BurstsAsk::OnCpu => 2_000,
        BurstsAsk::Calls => 1_000,
    }
}

/// Returns the load's share of the observation, of which only the length is known.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a count that fits"
)]
fn within(loaded: &Loaded, look_ns: u64, connections: u32) -> SeenLoad {
    let reading = &loaded.reading;
    let share = look_ns as f64 / reading.window_ns.max(1) as f64;
    SeenLoad {
        connections,
        answered: (reading.answered as f64 * share) as u64,
        errors: reading.ledger.errors,
        client_ns: (reading.cpu.client_ns as f64 * share) as u64,
        client_busy_share: reading.cpu.client_busy_share,
        ..SeenLoad::default()
    }
}
