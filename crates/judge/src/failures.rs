//! Failed requests: how many are too many, and when two arms may not be compared.

use model::BlockRecord;
use model::reading::Ledger;

/// Share of failed requests above which they are a doubt, and the difference between two arms above
/// which their answers may not be compared: 0.1 percentage points.
const TOLERATED_SHARE: f64 = 0.001;

/// The share of the finished requests of some blocks that failed; 0 where none were sent.
pub(crate) fn failed_share<'a>(blocks: impl Iterator<Item = &'a BlockRecord>) -> f64 {
    let mut ledger = Ledger::default();
    blocks.for_each(|block| ledger.add(&block.reading.ledger));
    let failed = ledger.errors.failed();
    failed as f64 / ledger.answered.saturating_add(failed).max(1) as f64
}

/// Whether a share of failed requests is worth a doubt.
pub(crate) fn is_doubtful(share: f64) -> bool {
    share > TOLERATED_SHARE
}

/// Whether two arms fail too differently to be compared.
pub(crate) fn differ(first: f64, second: f64) -> bool {
    (first - second).abs() > TOLERATED_SHARE
}
