//! Two runs of one study side by side: figures, and no verdict.

mod json;

use model::facts::{Facts, IrqTimeAccounting};
use model::run::Rig;
use model::{Estimate, Judgement, RunRecord, Study};

use crate::text::{self, Paint, Table};
use crate::{between_boots, link, numbers, sentences};
pub(crate) use json::run as run_value;
pub use json::value;

/// Why two runs side by side have no verdict.
pub(crate) const CAUTION: &str = "No verdict: the runs were made at different times, so what differs may be the machine and not \
     what was measured.";

/// Why two runs cannot stand side by side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// Different questions.
    #[error("the runs are of different studies, `{a}` and `{b}`; give two runs of one study")]
    Studies { a: String, b: String },
    /// One name, two designs.
    #[error(
        "the study `{name}` was changed between the runs; run it again for the one that is older"
    )]
    StudyChanged { name: String },
    /// Different programs under test.
    #[error("the runs have different targets ({a}; {b}); give two runs of one target")]
    Targets { a: String, b: String },
    /// Servers under load, and commands.
    #[error("one run is of servers and the other of commands; give two runs of one study")]
    Kinds,
    /// Different hosts and links.
    #[error("the runs have different rigs ({a}; {b}); give two runs on one rig")]
    Rigs { a: String, b: String },
    /// Different links between the hosts.
    #[error("the runs have different links ({a}; {b}); give two runs over one link")]
    Links { a: String, b: String },
}

/// The figures of run `a` and run `b` side by side, for a terminal of `width` columns.
///
/// Two runs lie apart in time, which is what makes a sequential comparison call identical servers
/// different; so there is no verdict here, and the text says why.
///
/// # Errors
/// When the two differ in study, workload or rig, so that their figures cannot be compared.
pub fn compare(
    a: (&RunRecord, &Judgement),
    b: (&RunRecord, &Judgement),
    width: usize,
) -> Result<String, CompareError> {
    refuse_strangers(a.0, b.0)?;
    let mut lines = Vec::new();
    for (name, run) in [("A", a.0), ("B", b.0)] {
        let text = described(run, &run.study.name);
        lines.extend(text::hanging(&format!("{name}  "), &text, width));
    }
    lines.push(String::new());
    lines.extend(table(a.1, b.1).render(width, Paint { colour: false }));
    lines.push(String::new());
    lines.extend(text::wrap(&caution(a, b), width));
    Ok(lines.join("\n") + "\n")
}

/// Versions may differ: that is often the question.
fn target(run: &RunRecord) -> String {
    run.service.as_ref().map_or_else(
        || "the study's own".to_owned(),
        |service| service.description.title.clone(),
    )
}

fn refuse_strangers(a: &RunRecord, b: &RunRecord) -> Result<(), CompareError> {
    // Target and rig stand in the study as it was run; where they differ, they are what is told.
    let is_same = a.study == b.study
        || target(a) != target(b)
        || !a.rig.is_like(&b.rig)
        || without_link(a) == without_link(b);
    refuse_other_studies(&a.study.name, &b.study.name, is_same)?;
    if target(a) != target(b) {
        return Err(CompareError::Targets {
            a: target(a),
            b: target(b),
        });
    }
    refuse_other_rigs(&a.rig, &b.rig)?;
    refuse_other_links(a, b)
}

/// Two spellings of one link are one link.
fn refuse_other_links(a: &RunRecord, b: &RunRecord) -> Result<(), CompareError> {
    let [a, b] = [a, b].map(|run| {
        let link = run.study.link.as_ref();
        link.map_or_else(|| "none".to_owned(), link::of_study)
    });
    if a == b {
        return Ok(());
    }
    Err(CompareError::Links { a, b })
}

fn without_link(run: &RunRecord) -> Study {
    Study {
        link: None,
        ..run.study.clone()
    }
}

/// Refuses two studies of different names, and of one name that are not the same.
pub(crate) fn refuse_other_studies(a: &str, b: &str, is_same: bool) -> Result<(), CompareError> {
    if a != b {
        return Err(CompareError::Studies {
            a: a.to_owned(),
            b: b.to_owned(),
        });
    }
    if is_same {
        return Ok(());
    }
    Err(CompareError::StudyChanged { name: a.to_owned() })
}

pub(crate) fn refuse_other_rigs(a: &Rig, b: &Rig) -> Result<(), CompareError> {
    if a.is_like(b) {
        return Ok(());
    }
    Err(CompareError::Rigs {
        a: sentences::rig(a),
        b: sentences::rig(b),
    })
}

/// Which run it is, and on which machine.
pub(crate) fn described<S, A>(run: &RunRecord<S, A>, study: &str) -> String {
    format!(
        "{study} of {}, {} CPUs {}, kernel {}",
        run.started_utc, run.facts.cpus_online, run.facts.cpu_model, run.facts.kernel_release
    )
}

fn table(a: &Judgement, b: &Judgement) -> Table {
    let rows = a.arms.iter().map(|mine| {
        let theirs = b.arms.iter().find(|arm| arm.name == mine.name);
        let cpu = (
            mine.server_cpu_us_per_request,
            theirs.and_then(|arm| arm.server_cpu_us_per_request),
        );
        let rate = (
            mine.throughput_rps,
            theirs.and_then(|arm| arm.throughput_rps),
        );
        vec![
            mine.title.clone(),
            shown(cpu.0, numbers::micros),
            shown(cpu.1, numbers::micros),
            apart(cpu),
            shown(rate.0, numbers::rate),
            shown(rate.1, numbers::rate),
            apart(rate),
        ]
    });
    Table::new(
        &[
            "step",
            "A: server CPU, µs/request",
            "B: server CPU, µs/request",
            "B against A",
            "A: requests/s seen",
            "B: requests/s seen",
            "B against A",
        ],
        rows.collect(),
    )
}

fn shown(estimate: Option<Estimate>, number: impl Fn(f64) -> String) -> String {
    estimate.map_or_else(String::new, |found| {
        format!(
            "{} ({})",
            number(found.value),
            numbers::interval(&found, &number)
        )
    })
}

fn apart((a, b): (Option<Estimate>, Option<Estimate>)) -> String {
    a.zip(b).map_or_else(String::new, |(a, b)| {
        numbers::change_roughly(b.value / a.value)
    })
}

fn caution(a: (&RunRecord, &Judgement), b: (&RunRecord, &Judgement)) -> String {
    let mut text = CAUTION.to_owned();
    text += &other_boots(a.0, b.0);
    text += other_clocks(&a.0.facts, &b.0.facts);
    for (name, (_, judgement)) in [("A", a), ("B", b)] {
        if let Some(error) = sentences::sequential_error(judgement) {
            text += &format!(" Within run {name}: {error}");
        }
    }
    text + " For a verdict, measure both as arms of one run."
}

/// That the kernels were started otherwise, which is no difference between what was measured.
fn other_boots(a: &RunRecord, b: &RunRecord) -> String {
    let weaknesses = between_boots::weaknesses(&a.facts, &b.facts);
    if weaknesses.is_empty() {
        return String::new();
    }
    format!(
        " The kernels mitigate otherwise, in A and in B: {}.",
        weaknesses.join("; ")
    )
}

/// That CPU time per request is of two kinds.
fn other_clocks(a: &Facts, b: &Facts) -> &'static str {
    use IrqTimeAccounting::{Off, On};
    match (a.irq_time_accounting, b.irq_time_accounting) {
        (Some(On), Some(Off)) | (Some(Off), Some(On)) => {
            " One kernel keeps interrupts off the clocks of processes, the other does not: CPU time per \
             request lacks softirqs in the one run alone."
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::Verdict;
    use unicode_width::UnicodeWidthStr as _;

    #[test]
    fn two_runs_of_one_study_stand_side_by_side_without_a_verdict() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let text = compare((&run, &judgement), (&run, &judgement), 100).unwrap();
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
            let value = value((&run, &judgement), (other, &judgement)).unwrap();
            value["caution"].as_str().unwrap().to_owned()
        };
        let words = format!("The kernels mitigate otherwise, in A and in B: {weakness} `");
        assert!(said(&other).contains(&words), "{}", said(&other));
        assert!(!said(&run).contains("mitigate otherwise"));
    }

    #[test]
    fn a_kernel_that_keeps_interrupts_apart_is_told_from_one_that_does_not() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let mut other = run.clone();
        let mut says_so = |how| {
            other.facts.irq_time_accounting = how;
            let value = value((&run, &judgement), (&other, &judgement)).unwrap();
            let caution = value["caution"].as_str().unwrap();
            caution.contains("lacks softirqs in the one run alone")
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
    fn other_studies_changed_studies_and_other_rigs_are_refused_by_name() {
        let (run, judgement) = (sample::run(), sample::judgement());
        let refusal = |other: &RunRecord| {
            compare((&run, &judgement), (other, &judgement), 80)
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
