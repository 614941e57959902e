//! Two factorial runs of one study side by side: figures, and no verdict.

use model::Estimate;
use model::command_run::CommandRun;
use model::judgement::{ArmFigures, FactorialJudgement};
use serde_json::{Value, json};

use super::sentences;
use super::view::{View, figure_on};
use crate::compare::{self, CompareError};
use crate::numbers;
use crate::text::{Paint, Sheet};

/// The version of the shape of [`commands_value`].
const FORMAT: u32 = 1;

/// The figures of run `a` and run `b` side by side, for a terminal of `width` columns.
///
/// # Errors
/// When the two differ in study or rig, so that their figures cannot be compared.
pub fn compare_commands(
    a: (&CommandRun, &FactorialJudgement),
    b: (&CommandRun, &FactorialJudgement),
    width: usize,
) -> Result<String, CompareError> {
    refuse_strangers(a.0, b.0)?;
    let [a, b] = [a, b].map(|(run, judgement)| View { run, judgement });
    let mut sheet = Sheet::new(width, Paint { colour: false });
    for (name, view) in [("A", a), ("B", b)] {
        let programs = sentences::programs(view).unwrap_or_default();
        let text = format!(
            "{}. {programs}",
            compare::described(view.run, &view.run.study.name)
        );
        sheet.hanging(&format!("{name}  "), &text);
    }
    sheet.table(&headings(a), rows(a, b));
    sheet.paragraph(&caution(a, b));
    Ok(sheet.text())
}

/// The same as one JSON value; docs/schema/study-compare-commands.json has its shape.
///
/// # Errors
/// When the runs are not of one study on one rig.
pub fn commands_value(
    a: (&CommandRun, &FactorialJudgement),
    b: (&CommandRun, &FactorialJudgement),
) -> Result<Value, CompareError> {
    refuse_strangers(a.0, b.0)?;
    let [a, b] = [a, b].map(|(run, judgement)| View { run, judgement });
    let arms = a.judgement.arms.iter().map(|arm| {
        let figures = a.judgement.metrics.iter().map(|metric| {
            let [mine, theirs] = pair(b, arm, &metric.name);
            json!({
                "metric": metric.name, "unit": metric.unit, "a": mine, "b": theirs,
                "ratio": mine.zip(theirs).and_then(|(a, b)| ratio(&a, &b)),
            })
        });
        json!({
            "name": arm.name, "title": arm.title, "levels": arm.levels,
            "figures": figures.collect::<Vec<_>>(),
        })
    });
    Ok(json!({
        "format": FORMAT,
        "study": a.run.study.name,
        "a": run(a),
        "b": run(b),
        "arms": arms.collect::<Vec<_>>(),
        "caution": caution(a, b),
    }))
}

fn refuse_strangers(a: &CommandRun, b: &CommandRun) -> Result<(), CompareError> {
    compare::refuse_other_studies(&a.study.name, &b.study.name, a.study == b.study)?;
    compare::refuse_other_rigs(&a.rig, &b.rig)
}

fn headings(view: View<'_>) -> Vec<String> {
    let title = &view.metric().title;
    vec![
        "arm".to_owned(),
        format!("A: {title}"),
        format!("B: {title}"),
        "B against A".to_owned(),
    ]
}

fn rows(a: View<'_>, b: View<'_>) -> Vec<Vec<String>> {
    let metric = a.metric();
    let shown = |found: Option<Estimate>| {
        found.map_or_else(String::new, |found| {
            numbers::quantity_with_interval(&found, &metric.unit)
        })
    };
    let row = |arm: &ArmFigures| {
        let [mine, theirs] = pair(b, arm, &metric.name);
        let ratio = mine.zip(theirs).and_then(|(a, b)| ratio(&a, &b));
        vec![
            arm.title.clone(),
            shown(mine),
            shown(theirs),
            ratio.map_or_else(String::new, numbers::ratio),
        ]
    };
    a.judgement.arms.iter().map(row).collect()
}

/// A metric of an arm in both runs.
fn pair(b: View<'_>, arm: &ArmFigures, metric: &str) -> [Option<Estimate>; 2] {
    let of = |arm: &ArmFigures| Some(figure_on(arm, metric)?.estimate);
    [of(arm), b.arm(&arm.name).and_then(of)]
}

/// `None` where there is no such number.
fn ratio(a: &Estimate, b: &Estimate) -> Option<f64> {
    let ratio = b.value / a.value;
    ratio.is_finite().then_some(ratio)
}

fn run(view: View<'_>) -> Value {
    let programs = view.run.programs.iter();
    let programs: Vec<Value> = programs
        .map(|program| json!({ "name": program.name, "version": program.version }))
        .collect();
    let mut run = compare::run_value(view.run);
    run["programs"] = json!(programs);
    run
}

fn caution(a: View<'_>, b: View<'_>) -> String {
    let mut text = compare::CAUTION.to_owned();
    for (name, view) in [("A", a), ("B", b)] {
        if let Some(found) = &view.judgement.sequential {
            let said = crate::sentences::sequential(found, "commands");
            text += &format!(" Within run {name}: {said}");
        }
    }
    text + " For a verdict, measure both as levels of one factor."
}
