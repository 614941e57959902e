//! A load of a given number of requests (`-n`): its checks, its warm-up and its remarks.

use std::time::Duration;

use anyhow::ensure;
use report::numbers;
use traffic::load::{LoadOutcome, LoadPlan};

/// Longest time for a load of `-n` requests where no time is given: as long as any load may take.
pub(super) const LONGEST: Duration = Duration::from_secs(86_400);

/// Refuses connections that would never be used.
pub(super) fn check(requests: Option<u32>, connections: u32) -> anyhow::Result<()> {
    let Some(requests) = requests else {
        return Ok(());
    };
    ensure!(
        requests > 0,
        "-n 0 asks for nothing: say how many requests to send, or leave -n out to load for a time (-d)"
    );
    ensure!(
        connections <= requests,
        "-c {connections} are more connections than the {requests} requests of -n: some would never carry one"
    );
    Ok(())
}

/// The load before one of `-n` requests for which `--settle` is given: the same load, which is
/// discarded.
pub(super) fn warm_up(plan: &LoadPlan, settle: Option<Duration>) -> Option<LoadPlan> {
    plan.requests?;
    let settle_ns = super::arguments::nanoseconds(settle.filter(|time| !time.is_zero())?);
    Some(LoadPlan {
        score_ns: settle_ns,
        requests: None,
        ..plan.clone()
    })
}

/// Says why fewer requests ended than were asked for, where no signal stopped them.
pub(super) fn shortfall(plan: &LoadPlan, outcome: &LoadOutcome) -> Option<String> {
    let asked = plan.requests?;
    let sent = outcome.ledger.sent;
    let unfinished = outcome.ledger.errors.unfinished;
    if sent == asked && unfinished == 0 {
        return None;
    }
    let why = match outcome.window_ns >= plan.score_ns {
        true => format!(
            "-d {} was over first; leave -d out to wait for all",
            numbers::duration(plan.score_ns)
        ),
        false => format!(
            "for {} no connection could be opened",
            numbers::duration(plan.timeout_ns)
        ),
    };
    let (ended, asked) = (sent - unfinished, numbers::whole(asked as f64));
    let ended = numbers::whole(ended as f64);
    Some(format!(
        "{ended} of the {asked} requests of -n ended: {why}"
    ))
}
