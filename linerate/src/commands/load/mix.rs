//! What became of each kind of request.

use model::reading::{Errors, Ledger};
use model::request::{KindSpec, MixSpec};
use schemars::JsonSchema;
use serde::Serialize;

/// The kinds of request that were mixed, and what became of each.
#[derive(Serialize, JsonSchema)]
pub(super) struct MixShape {
    /// Seed with which each connection sends the same sequence again.
    seed: u64,
    /// Each kind of request, in the order in which they were given.
    kinds: Vec<KindShape>,
}

/// One kind of request, settling included.
#[derive(Serialize, JsonSchema)]
struct KindShape {
    /// Its name, or method and path without the query.
    name: String,
    /// How often it is sent, relative to the weights of the others.
    weight: u32,
    /// Its share of all requests that were sent, 0 to 1.
    share: f64,
    /// Requests sent, count.
    sent: u64,
    /// Right answers, count.
    answered: u64,
    /// Requests without a right answer, by what became of them.
    errors: Errors,
}

pub(super) fn shape(mix: &MixSpec, ledgers: &[Ledger]) -> MixShape {
    let all = sent(ledgers);
    let kinds = mix.kinds.iter().zip(ledgers);
    let kinds = kinds.map(|(kind, ledger)| of_kind(kind, ledger, all));
    MixShape {
        seed: mix.seed,
        kinds: kinds.collect(),
    }
}

fn of_kind(kind: &KindSpec, ledger: &Ledger, all: u64) -> KindShape {
    KindShape {
        name: kind.name.clone(),
        weight: kind.weight,
        share: share(ledger, all),
        sent: ledger.sent,
        answered: ledger.answered,
        errors: ledger.errors,
    }
}

fn sent(ledgers: &[Ledger]) -> u64 {
    ledgers.iter().map(|ledger| ledger.sent).sum()
}

/// Share of one kind in all requests that were sent, 0 to 1.
fn share(ledger: &Ledger, all: u64) -> f64 {
    ledger.sent as f64 / all.max(1) as f64
}
