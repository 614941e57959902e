//! What the pages of all runs show, whatever was measured.

use model::study::Source;
use model::{Doubt, RunRecord};
use serde::Serialize;

use super::facts::{Fact, facts, mitigations};
use crate::chart::Form;
use crate::sentences;

/// The parts that every page has. Only `style` and charts are markup.
#[derive(Serialize)]
pub(crate) struct Common<'a> {
    pub(crate) style: &'a str,
    pub(crate) title: &'a str,
    pub(crate) study: &'a str,
    pub(crate) question: &'a str,
    pub(crate) method: &'a str,
    pub(crate) pitfalls: &'a [String],
    pub(crate) answer: String,
    pub(crate) started: String,
    pub(crate) machine: String,
    pub(crate) keys: Vec<Key>,
    pub(crate) trust: Vec<String>,
    pub(crate) series: Option<Figure>,
    pub(crate) series_caption: &'static str,
    pub(crate) source: Option<SourceView<'a>>,
    pub(crate) doubts: Vec<DoubtView>,
    pub(crate) under_test: Option<String>,
    pub(crate) workload: String,
    pub(crate) rig: String,
    pub(crate) facts: Vec<Fact>,
    pub(crate) mitigations: Vec<Fact>,
    pub(crate) command: &'a str,
    pub(crate) seed: u64,
    pub(crate) version: &'a str,
}

/// A figure beside the answer.
#[derive(Serialize)]
pub(crate) struct Key {
    pub(crate) figure: String,
    pub(crate) caption: String,
}

/// A chart in its two forms, as SVG.
#[derive(Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    wide: String,
    narrow: String,
}

#[derive(Serialize)]
pub(crate) struct SourceView<'a> {
    title: &'a str,
    url: &'a str,
    is_web: bool,
    year: u32,
    machine: &'a str,
}

#[derive(Serialize)]
pub(crate) struct DoubtView {
    what: String,
    advice: String,
}

impl<'a> Common<'a> {
    /// What a run says by itself, and its study's title, name, question and method; the rest is
    /// empty.
    pub(crate) fn of<S, A>(
        run: &'a RunRecord<S, A>,
        [title, study, question, method]: [&'a str; 4],
        style: &'a str,
    ) -> Self {
        Self {
            style,
            title,
            study,
            question,
            method,
            pitfalls: &[],
            answer: String::new(),
            started: started(&run.started_utc),
            machine: format!(
                "{}, {} CPUs, kernel {}",
                run.facts.cpu_model, run.facts.cpus_online, run.facts.kernel_release
            ),
            keys: Vec::new(),
            trust: Vec::new(),
            series: None,
            series_caption: "",
            source: None,
            doubts: Vec::new(),
            under_test: None,
            workload: String::new(),
            rig: sentences::capitalised(&sentences::rig(&run.rig)),
            facts: facts(run),
            mitigations: mitigations(run),
            command: &run.command,
            seed: run.seed,
            version: &run.linerate_version,
        }
    }
}

/// `2026-03-14 09:26 UTC`; a time of another shape is shown as it is.
fn started(text: &str) -> String {
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => text.to_owned(),
    }
}

/// A chart in both its forms; `None` where it has nothing to show.
pub(crate) fn figure(name: &'static str, draw: impl Fn(Form) -> Option<String>) -> Option<Figure> {
    Some(Figure {
        name,
        wide: draw(Form::Wide)?,
        narrow: draw(Form::Narrow)?,
    })
}

/// The article of a study.
pub(crate) fn source(source: Option<&Source>) -> Option<SourceView<'_>> {
    source.map(|source| SourceView {
        title: &source.title,
        url: &source.url,
        is_web: source.url.starts_with("https://") || source.url.starts_with("http://"),
        year: source.year,
        machine: &source.machine,
    })
}

/// The judge has put the run's own doubts among its own.
pub(crate) fn doubts(doubts: &[Doubt]) -> Vec<DoubtView> {
    let view = |doubt: &Doubt| DoubtView {
        what: sentences::capitalised(&doubt.what()),
        advice: sentences::capitalised(doubt.advice()),
    };
    doubts.iter().map(view).collect()
}
