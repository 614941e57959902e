//! How the kernel counts the time of interrupts.

use anyhow::ensure;
use serde_json::json;

use super::same;
use crate::vm::proofs::Seen;

/// PSI has a file for interrupts where the kernel keeps their time (kernel/sched/psi.c, Linux 6.1 on).
pub(super) fn kept_apart(seen: &Seen) -> anyhow::Result<()> {
    let told = seen.told("at-rest.json", "/facts/irq_time_accounting")?;
    same(&told, &json!(seen.truth("irq_pressure")?))?;
    // Whatever the kind: what loopback receives in them is in the account.
    let softirq = seen.told("loopback.json", "/machine_us_per_request/softirq")?;
    ensure!(softirq.as_f64() > Some(0.0), "{softirq} µs of softirqs");
    Ok(())
}
