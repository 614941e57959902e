//! Two runs of one study side by side: figures, and no verdict.

mod commands;

use model::facts::{Facts, IrqTimeAccounting};
use model::judgement::ArmResult;
use model::run::Rig;
use model::{Estimate, Judgement, RunRecord, Study};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::text::{Paint, Sheet};
use crate::view::Table;
use crate::{between_boots, link, numbers, sentences};
pub use commands::{ComparedCommands, commands};

/// The reason why two runs side by side have no verdict.
const CAUTION: &str = "No verdict: the runs were made at different times, so what differs may be the machine and not \
     what was measured.";

/// Why two runs cannot be put side by side, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompareError(String);

fn refuse(is_refused: bool, why: impl FnOnce() -> String) -> Result<(), CompareError> {
    if is_refused {
        return Err(CompareError(why()));
    }
    Ok(())
}

/// The version of the format of [`SideBySide::value`], for runs of either kind.
const FORMAT: u32 = 1;

/// Two runs of one study side by side, without a verdict.
#[derive(Serialize, JsonSchema)]
pub struct Compared {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    /// Name of the study of both.
    study: String,
    /// The run that was given first.
    a: ComparedRun,
    /// The other run.
    b: ComparedRun,
    /// The arms of run A, in the study's order.
    arms: Vec<ComparedArm>,
    /// Why there is no verdict, for a reader.
    caution: String,
}

/// When and where a run was made.
#[derive(Serialize, JsonSchema)]
struct ComparedRun {
    /// Start in UTC, RFC 3339.
    started_utc: String,
    /// The command that repeats the run, without secrets.
    command: String,
    /// Version of the program that measured.
    linerate_version: String,
    /// Model of the CPUs.
    cpu_model: String,
    /// CPUs online, count.
    cpus_online: u32,
    /// Release of the kernel.
    kernel_release: String,
}

/// One arm of both runs.
#[derive(Serialize, JsonSchema)]
struct ComparedArm {
    /// Short stable name.
    name: String,
    /// Title for a reader.
    title: String,
    /// CPU time of the target per answer, µs: median over blocks.
    server_cpu_us_per_request: Figures,
    /// Answers per second, requests/s: median over blocks.
    throughput_rps: Figures,
}

/// One figure of both runs.
#[derive(Serialize, JsonSchema)]
struct Figures {
    /// Figure of run A, where it has one.
    a: Option<Estimate>,
    /// Figure of run B, where it has one.
    b: Option<Estimate>,
    /// B ÷ A; 1 is no difference.
    ratio: Option<f64>,
}

impl Figures {
    fn of(a: Option<Estimate>, b: Option<Estimate>) -> Self {
        let ratio = a.zip(b).map(|(a, b)| b.value / a.value);
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        Self { a, b, ratio }
    }

    /// Returns the figure of A, that of B, and B against A.
    fn cells(&self, shown: impl Fn(&Estimate) -> String) -> [String; 3] {
        let of = |found: &Option<Estimate>| found.as_ref().map_or_else(String::new, &shown);
        let ratio = self.ratio.map_or_else(String::new, numbers::ratio);
        [of(&self.a), of(&self.b), ratio]
    }
}

/// The figures of two runs of one study side by side, and why there is no verdict on them.
///
/// Two runs lie apart in time, which is what makes a sequential comparison call identical servers
/// different.
#[derive(Debug)]
pub struct SideBySide {
    /// Each run in words: what it is, when and where it was made.
    about: [String; 2],
    table: Table,
    caution: String,
    value: Value,
}

impl SideBySide {
    /// Renders the comparison for a terminal of `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut sheet = Sheet::new(width, Paint { colour: false });
        for (mark, about) in ["A  ", "B  "].into_iter().zip(&self.about) {
            sheet.hanging(mark, about);
        }
        sheet.table(&self.table);
        sheet.paragraph(&self.caution);
        sheet.text()
    }

    /// Returns one JSON value: [`Compared`] or [`ComparedCommands`].
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// Puts two runs of servers under load side by side.
///
/// # Errors
/// When the two differ in study, workload or rig, so that their figures cannot be compared.
pub fn servers(
    a: (&RunRecord, &Judgement),
    b: (&RunRecord, &Judgement),
) -> Result<SideBySide, CompareError> {
    refuse_strangers(a.0, b.0)?;
    let compared = Compared {
        format: FORMAT,
        study: a.0.study.name.clone(),
        a: ComparedRun::of(a.0),
        b: ComparedRun::of(b.0),
        arms: a.1.arms.iter().map(|mine| arm(mine, b.1)).collect(),
        caution: caution(a, b),
    };
    Ok(SideBySide {
        about: [a.0, b.0].map(|run| described(run, &run.study.name)),
        table: table(sentences::unit(a.0), &compared.arms),
        caution: compared.caution.clone(),
        value: json!(compared),
    })
}

impl ComparedRun {
    fn of<S, A>(record: &RunRecord<S, A>) -> Self {
        Self {
            started_utc: record.started_utc.clone(),
            command: record.command.clone(),
            linerate_version: record.linerate_version.clone(),
            cpu_model: record.facts.cpu_model.clone(),
            cpus_online: record.facts.cpus_online,
            kernel_release: record.facts.kernel_release.clone(),
        }
    }
}

fn arm(mine: &ArmResult, b: &Judgement) -> ComparedArm {
    let theirs = b.arms.iter().find(|arm| arm.name == mine.name);
    let pair = |of: fn(&ArmResult) -> Option<Estimate>| Figures::of(of(mine), theirs.and_then(of));
    ComparedArm {
        name: mine.name.clone(),
        title: mine.title.clone(),
        server_cpu_us_per_request: pair(|arm| arm.server_cpu_us_per_request),
        throughput_rps: pair(|arm| arm.throughput_rps),
    }
}

/// Returns the title of the target without its version: versions may differ, which is often the
/// question.
fn target(run: &RunRecord) -> String {
    run.service.as_ref().map_or_else(
        || "the study's own".to_owned(),
        |service| service.description.title.clone(),
    )
}

fn refuse_strangers(a: &RunRecord, b: &RunRecord) -> Result<(), CompareError> {
    // Target and rig are part of the study as it was run; where they differ, that is the error to
    // report.
    let is_same = target(a) != target(b) || !a.rig.is_like(&b.rig) || as_asked(a) == as_asked(b);
    refuse_other_studies(&a.study.name, &b.study.name, is_same)?;
    let [one, other] = [a, b].map(target);
    refuse(one != other, || {
        format!("the runs have different targets ({one}; {other}); give two runs of one target")
    })?;
    refuse_other_rigs(&a.rig, &b.rig)?;
    // Two spellings of one link must compare as equal.
    let [one, other] = [a, b].map(|run| {
        let link = run.study.link.as_ref();
        link.map_or_else(|| "none".to_owned(), link::of_study)
    });
    refuse(one != other, || {
        format!("the runs have different links ({one}; {other}); give two runs over one link")
    })
}

/// Returns the study as it was asked for: without its link, and without what each run decides by
/// what it finds on its machine.
fn as_asked(run: &RunRecord) -> Study {
    let mut study = run.study.clone();
    study.link = None;
    let of_all = study.workload.workers.counts(1).into_iter().take(1);
    let mut workers = of_all.chain(run.arms.iter().filter_map(|arm| arm.workers));
    if workers.any(|workers| workers > 1) {
        // The number of threads is chosen by what several workers are found to need.
        study.workload.threads = 0;
    }
    if let Some(gate) = study.gate {
        study.design.score_ms = 0;
        if gate.most_ms > 0 {
            study.design.rounds = 0;
            study.design.looks.clear();
        }
    }
    study
}

/// Refuses two studies with different names, and two with one name that differ.
fn refuse_other_studies(a: &str, b: &str, is_same: bool) -> Result<(), CompareError> {
    refuse(a != b, || {
        format!("the runs are of different studies, `{a}` and `{b}`; give two runs of one study")
    })?;
    refuse(!is_same, || {
        format!(
            "the study `{a}` was changed between the runs, or other addresses or flags were given; repeat \
             the older run in the same way as the other"
        )
    })
}

fn refuse_other_rigs(a: &Rig, b: &Rig) -> Result<(), CompareError> {
    refuse(!a.is_like(b), || {
        let [a, b] = [a, b].map(sentences::rig);
        format!("the runs have different rigs ({a}; {b}); give two runs on one rig")
    })
}

/// Says which run it is, and on which machine.
fn described<S, A>(run: &RunRecord<S, A>, study: &str) -> String {
    format!(
        "{study} of {}, {} CPUs {}, kernel {}",
        run.started_utc, run.facts.cpus_online, run.facts.cpu_model, run.facts.kernel_release
    )
}

fn table(unit: &str, arms: &[ComparedArm]) -> Table {
    let shown = |found: &Estimate, shown: fn(f64) -> String| {
        let interval = numbers::interval(found, shown);
        format!("{} ({interval})", shown(found.value))
    };
    let rows = arms.iter().map(|arm| {
        let cpu = arm
            .server_cpu_us_per_request
            .cells(|at| shown(at, numbers::micros));
        let rate = arm.throughput_rps.cells(|at| shown(at, numbers::rate));
        std::iter::once(arm.title.clone())
            .chain(cpu)
            .chain(rate)
            .collect()
    });
    let rate = sentences::rate_of(unit);
    let headings = [
        "step".to_owned(),
        format!("A: server CPU, µs/{unit}"),
        format!("B: server CPU, µs/{unit}"),
        "B against A".to_owned(),
        format!("A: {rate}"),
        format!("B: {rate}"),
        "B against A".to_owned(),
    ];
    Table::of_texts("Two runs side by side", headings, rows)
}

fn caution(a: (&RunRecord, &Judgement), b: (&RunRecord, &Judgement)) -> String {
    let mut text = CAUTION.to_owned();
    text += &other_boots(a.0, b.0);
    text += other_clocks(&a.0.facts, &b.0.facts);
    for (name, (run, judgement)) in [("A", a), ("B", b)] {
        if let Some(error) = sentences::sequential_error(run, judgement) {
            text += &format!(" Within run {name}: {error}");
        }
    }
    text + " For a verdict, measure both as arms of one run."
}

/// Says that the kernels were started with different mitigations, which is no difference between
/// what was measured.
fn other_boots(a: &RunRecord, b: &RunRecord) -> String {
    let weaknesses = between_boots::weaknesses(&a.facts, &b.facts);
    if weaknesses.is_empty() {
        return String::new();
    }
    format!(
        " The kernels use different mitigations, in A and in B: {}.",
        weaknesses.join("; ")
    )
}

/// Says that the two kernels account CPU time per request in different ways.
fn other_clocks(a: &Facts, b: &Facts) -> &'static str {
    use IrqTimeAccounting::{Off, On};
    match (a.irq_time_accounting, b.irq_time_accounting) {
        (Some(On), Some(Off)) | (Some(Off), Some(On)) => {
            " One kernel leaves the time of interrupts out of the CPU time of processes, the other does not: \
             CPU time per request lacks softirqs in only one of the runs."
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::Verdict;
    use model::cpus::Workers;
    use model::gate::{GateDesign, Unit};
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn two_runs_of_one_study_stand_side_by_side_without_a_verdict() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let pair = servers((&run, &judgement), (&run, &judgement)).unwrap();
        let text = pair.text(100);
        assert!(
            text.contains("No verdict") && text.contains("9 of 17"),
            "{text}"
        );
        assert!(text.contains("0.0 %") && !text.contains("better"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 100), "{text}");
    }

    #[test]
    fn kernels_that_were_started_otherwise_are_not_taken_for_one_machine() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let mut other = run.clone();
        let weakness = other.facts.mitigations.keys().next().unwrap().clone();
        other
            .facts
            .mitigations
            .insert(weakness.clone(), "Vulnerable".to_owned());
        let said = |other: &RunRecord| {
            servers((&run, &judgement), (other, &judgement))
                .unwrap()
                .caution
        };
        let words = format!("The kernels use different mitigations, in A and in B: {weakness} `");
        assert!(said(&other).contains(&words), "{}", said(&other));
        assert!(!said(&run).contains("different mitigations"));
    }

    #[test]
    fn a_kernel_that_keeps_interrupts_apart_is_told_from_one_that_does_not() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let mut other = run.clone();
        let mut says_so = |how| {
            other.facts.irq_time_accounting = how;
            let pair = servers((&run, &judgement), (&other, &judgement)).unwrap();
            pair.caution
                .contains("lacks softirqs in only one of the runs")
        };
        assert!(says_so(Some(IrqTimeAccounting::On)));
        for alike_or_not_known in [
            Some(IrqTimeAccounting::Off),
            Some(IrqTimeAccounting::Unknown),
            None,
        ] {
            assert!(!says_so(alike_or_not_known));
        }
    }

    #[test]
    fn what_a_gate_and_several_workers_settle_themselves_is_no_change_of_the_study() {
        let mut run = sample::run();
        run.study.workload.workers = Workers::Count(2);
        run.study.gate = Some(GateDesign {
            bar: 0.03,
            unit: Unit::Request,
            most_ms: 180_000,
            builds: 2,
        });
        let mut other = run.clone();
        other.study.design.rounds += 1;
        other.study.design.looks.push(other.study.design.rounds);
        other.study.design.score_ms += 7;
        other.study.workload.threads += 1;
        refuse_strangers(&run, &other).unwrap();
        other.study.gate.as_mut().unwrap().bar = 0.05;
        refuse_strangers(&run, &other).unwrap_err();
    }

    #[test]
    fn other_studies_changed_studies_and_other_rigs_are_refused_by_name() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let refusal = |other: &RunRecord| {
            servers((&run, &judgement), (other, &judgement))
                .unwrap_err()
                .to_string()
        };
        let (versus, _) = sample::versus(Verdict::Better, 0.9, 0.01);
        assert!(refusal(&versus).contains("`http-json` and `versus`"));
        let mut changed = run.clone();
        changed.study.workload.connections = 1;
        assert!(refusal(&changed).contains("was changed"));
        for rig in [Rig::Loopback { reason: None }, Rig::Netns, Rig::Hosts] {
            let mut elsewhere = run.clone();
            elsewhere.study.rig = rig.kind();
            elsewhere.rig = rig;
            assert!(refusal(&elsewhere).contains("different rigs"));
        }
    }
}
