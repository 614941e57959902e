//! How the kernel counts the time of interrupts.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::same;
use crate::vm::guest::Origin;
use crate::vm::proofs::Seen;

/// PSI has a file for interrupts where the kernel keeps their time (kernel/sched/psi.c, Linux 6.1 on).
pub(super) fn kept_apart(seen: &Seen) -> anyhow::Result<()> {
    let truth = match seen.origin {
        Origin::Package => "off",
        Origin::Source => "on",
    };
    same(&json!(seen.truth("irq_pressure")?), &json!(truth))
        .context("the kernel is of its kind")?;
    let told = seen.told("at-rest.json", "/facts/irq_time_accounting")?;
    same(&told, &json!(truth))?;
    // Whatever the kind: what loopback receives in them is in the account.
    let softirq = seen.told("loopback.json", "/machine_us_per_request/softirq")?;
    ensure!(softirq.as_f64() > Some(0.0), "{softirq} µs of softirqs");
    Ok(())
}
