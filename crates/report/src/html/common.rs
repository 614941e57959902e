//! What the pages of all runs show around the view: the study, the machine, how to repeat it.

use std::collections::BTreeMap;

use model::RunRecord;
use serde::Serialize;

use super::facts::facts;
use crate::view::{Medium, Page};

/// The parts that every page has. Only `style`, `script` and charts are markup.
#[derive(Serialize)]
pub(crate) struct Common<'a> {
    style: &'a str,
    /// `None` on a page that has nothing to search.
    script: Option<Script>,
    #[serde(flatten)]
    page: Page,
    /// Each doubt and what to do about it.
    doubts: Vec<(String, &'static str)>,
    #[serde(flatten)]
    method: Method<'a>,
    started: String,
    machine: String,
    facts: Vec<(&'static str, String)>,
    mitigations: &'a BTreeMap<String, String>,
    command: &'a str,
    seed: u64,
    version: &'a str,
}

/// A script of ours, with the hash by which the page's own policy allows it. No other script runs,
/// whatever a page shows.
#[derive(Serialize)]
struct Script {
    text: &'static str,
    hash: &'static str,
}

const FLAME: Script = Script {
    text: include_str!("../../templates/flame.js"),
    hash: "sha256-G4o0AUwvpWuNP0qAUcXOTeiTVBNnNwCLUp883BtEhJA=",
};

/// What was asked and how it was measured.
#[derive(Serialize)]
pub(crate) struct Method<'a> {
    pub(crate) title: &'a str,
    pub(crate) study: &'a str,
    pub(crate) question: &'a str,
    pub(crate) method: &'a str,
    pub(crate) pitfalls: &'a [String],
    /// What was run, without a full stop.
    pub(crate) workload: String,
    pub(crate) rig: String,
    /// What the words of the page mean.
    pub(crate) terms: String,
}

impl<'a> Common<'a> {
    /// Collects what a run itself says around its view.
    pub(crate) fn of<S, A>(
        run: &'a RunRecord<S, A>,
        method: Method<'a>,
        page: Page,
        style: &'a str,
    ) -> Self {
        let page = page.on(Medium::Browser);
        let doubts = page.doubts.iter();
        Self {
            style,
            script: page.is_searched().then_some(FLAME),
            doubts: doubts.map(|doubt| (doubt.what(), doubt.advice())).collect(),
            page,
            method,
            started: started(&run.started_utc),
            machine: format!(
                "{}, {} CPUs, kernel {}",
                run.facts.cpu_model, run.facts.cpus_online, run.facts.kernel_release
            ),
            facts: facts(run),
            mitigations: &run.facts.mitigations,
            command: &run.command,
            seed: run.seed,
            version: &run.linerate_version,
        }
    }
}

/// Formats a time as `2026-03-14 09:26 UTC`; text of another shape is shown as it is.
fn started(text: &str) -> String {
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => text.to_owned(),
    }
}
