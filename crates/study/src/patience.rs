//! How long we wait for the answer of an agent on another host.

use std::time::Duration;

use model::Ask;
use model::message::Whom;
use model::study::Program;

use crate::service_spec::LONGEST_START_MS;

/// Longest time for an answer across a network, beyond the time that was asked for.
const PATIENCE: Duration = Duration::from_secs(20);
/// Additional time for the first answer, because the connection is made before it, and an agent for
/// keys may hang.
const CONNECTING: Duration = Duration::from_secs(10);
/// Longest time for a service to start: the most that its file can grant, and connecting.
const STARTING: Duration = Duration::from_millis(LONGEST_START_MS + 30_000);
/// Longest time for a target to stop: the longest grace that the file of a service can grant, and
/// killing what is left.
const STOPPING: Duration = Duration::from_secs(630);
/// Longest time for one probe on a busy machine; on an idle one all probes together take some four
/// seconds (docs/probes.md).
const PROBING: Duration = Duration::from_secs(10);

/// Returns how long the answer to `ask` may take across a network.
pub(crate) fn limit_of(ask: &Ask) -> Duration {
    let asked = |ms: u32| Duration::from_millis(ms.into());
    PATIENCE
        + match ask {
            Ask::Block(block) | Ask::Load(block) => asked(block.settle_ms) + asked(block.score_ms),
            Ask::Observe(observe) => match &observe.whom {
                Whom::Loaded(block) => asked(block.settle_ms) + asked(block.score_ms),
                Whom::Target { settle_ms, .. } => asked(*settle_ms) + asked(observe.look_ms),
                _ => asked(observe.look_ms),
            },
            Ask::Hinder(hinder) => asked(hinder.block.settle_ms) + asked(hinder.block.score_ms),
            Ask::Hello { .. } => CONNECTING,
            Ask::Probe(probe) => PROBING * u32::try_from(probe.names.len()).unwrap_or(u32::MAX),
            Ask::Watch { watch_ms } => asked(*watch_ms),
            Ask::Run(command) | Ask::Serve(command) => Duration::from_millis(command.timeout_ms),
            Ask::Start {
                program: Program::Service(_),
                ..
            } => STARTING,
            Ask::Stop { .. } => STOPPING,
            _ => Duration::ZERO,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_waited_for_as_long_as_the_grace_that_its_file_may_grant() {
        let target = "baseline".to_owned();
        assert!(limit_of(&Ask::Stop { target }) > Duration::from_secs(600) + PATIENCE);
    }
}
