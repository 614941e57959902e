//! What became of each kind of request, for people and for programs.

use model::reading::Ledger;
use report::numbers;
use serde_json::{Value, json};

use super::{Mixed, Named};

/// A line for each kind.
pub(in crate::commands::load) fn page(mixed: &Mixed, ledgers: &[Ledger]) -> String {
    let all = sent(ledgers);
    let head = format!(
        "  {:>8}{:>13}{:>13}{:>11}  kind of request",
        "share", "sent", "answered", "failed"
    );
    let lines = mixed.kinds.iter().zip(ledgers).map(|(kind, ledger)| {
        format!(
            "  {:>8}{:>13}{:>13}{:>11}  {}",
            numbers::share(share(ledger, all)),
            numbers::whole(ledger.sent as f64),
            numbers::whole(ledger.answered as f64),
            numbers::whole(ledger.errors.failed() as f64),
            kind.name
        )
    });
    let lines: Vec<String> = std::iter::once(head).chain(lines).collect();
    lines.join("\n")
}

pub(in crate::commands::load) fn json(mixed: &Mixed, ledgers: &[Ledger]) -> Value {
    let all = sent(ledgers);
    let kinds = mixed.kinds.iter().zip(ledgers);
    let kinds = kinds.map(|(kind, ledger)| of_kind(kind, ledger, all));
    json!({ "seed": mixed.seed, "kinds": kinds.collect::<Vec<_>>() })
}

fn of_kind(kind: &Named, ledger: &Ledger, all: u64) -> Value {
    json!({
        "name": kind.name,
        "weight": kind.spec.weight,
        "share": share(ledger, all),
        "sent": ledger.sent,
        "answered": ledger.answered,
        "errors": ledger.errors,
    })
}

fn sent(ledgers: &[Ledger]) -> u64 {
    ledgers.iter().map(|ledger| ledger.sent).sum()
}

/// Of all requests that were sent, 0 to 1.
fn share(ledger: &Ledger, all: u64) -> f64 {
    ledger.sent as f64 / all.max(1) as f64
}
