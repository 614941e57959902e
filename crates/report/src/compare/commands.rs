//! Two factorial runs of one study side by side: figures, and no verdict.

use std::collections::BTreeMap;

use model::Estimate;
use model::command_run::CommandRun;
use model::judgement::{ArmFigures, FactorialJudgement};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{CAUTION, CompareError, ComparedRun, FORMAT, Figures, SideBySide};
use crate::factorial::{View, figure_on, programs};
use crate::numbers;
use crate::view::Table;

/// Two runs of one study of commands side by side, without a verdict.
#[derive(Serialize, JsonSchema)]
pub struct ComparedCommands {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    /// Name of the study of both.
    study: String,
    /// The run that was given first.
    a: CommandsRun,
    /// The other run.
    b: CommandsRun,
    /// The arms of run A, in the study's order.
    arms: Vec<ComparedCommand>,
    /// Why there is no verdict, for a reader.
    caution: String,
}

/// When and where a run was made, and with which programs.
#[derive(Serialize, JsonSchema)]
struct CommandsRun {
    #[serde(flatten)]
    run: ComparedRun,
    /// The programs that were found.
    programs: Vec<ComparedProgram>,
}

/// A program that the commands need.
#[derive(Serialize, JsonSchema)]
struct ComparedProgram {
    /// Its short name.
    name: String,
    /// What the program called its version.
    version: String,
}

/// One arm of both runs.
#[derive(Serialize, JsonSchema)]
struct ComparedCommand {
    /// Short stable name.
    name: String,
    /// Title for a reader.
    title: String,
    /// The arm's level of each factor, by their names.
    levels: BTreeMap<String, String>,
    /// One figure per metric.
    figures: Vec<ComparedFigure>,
}

/// The median of one metric in both runs.
#[derive(Serialize, JsonSchema)]
struct ComparedFigure {
    /// Name of the metric.
    metric: String,
    /// Its unit.
    unit: String,
    #[serde(flatten)]
    figures: Figures,
}

/// Puts two factorial runs of commands side by side.
///
/// # Errors
/// When the two differ in study or rig, so that their figures cannot be compared.
pub fn commands(
    a: (&CommandRun, &FactorialJudgement),
    b: (&CommandRun, &FactorialJudgement),
) -> Result<SideBySide, CompareError> {
    super::refuse_other_studies(&a.0.study.name, &b.0.study.name, a.0.study == b.0.study)?;
    super::refuse_other_rigs(&a.0.rig, &b.0.rig)?;
    let views = [a, b].map(|(run, judgement)| View { run, judgement });
    let [a, b] = views;
    let compared = ComparedCommands {
        format: FORMAT,
        study: a.run.study.name.clone(),
        a: run(a),
        b: run(b),
        arms: a.judgement.arms.iter().map(|of| arm(a, b, of)).collect(),
        caution: caution(a, b),
    };
    Ok(SideBySide {
        about: views.map(about),
        table: table(a, &compared.arms),
        caution: compared.caution.clone(),
        value: json!(compared),
    })
}

fn about(view: View<'_>) -> String {
    let programs = programs(view).unwrap_or_default();
    let described = super::described(view.run, &view.run.study.name);
    format!("{described}. {programs}")
}

fn arm(a: View<'_>, b: View<'_>, arm: &ArmFigures) -> ComparedCommand {
    let theirs = b.arm(&arm.name);
    let figures = a.judgement.metrics.iter().map(|metric| {
        let of = |arm: &ArmFigures| Some(figure_on(arm, &metric.name)?.estimate);
        ComparedFigure {
            metric: metric.name.clone(),
            unit: metric.unit.clone(),
            figures: Figures::of(of(arm), theirs.and_then(of)),
        }
    });
    ComparedCommand {
        name: arm.name.clone(),
        title: arm.title.clone(),
        levels: arm.levels.clone(),
        figures: figures.collect(),
    }
}

/// Returns the table of the metric that verdicts are about.
fn table(a: View<'_>, arms: &[ComparedCommand]) -> Table {
    let metric = a.metric();
    let rows = arms.iter().map(|arm| {
        let shown = |found: &Estimate| numbers::quantity_with_interval(found, &metric.unit);
        let cells = arm.figures.first().map(|found| found.figures.cells(shown));
        let title = std::iter::once(arm.title.clone());
        title.chain(cells.into_iter().flatten()).collect()
    });
    let title = &metric.title;
    let headings = [
        "arm".to_owned(),
        format!("A: {title}"),
        format!("B: {title}"),
        "B against A".to_owned(),
    ];
    Table::of_texts("Two runs side by side", headings, rows)
}

fn run(view: View<'_>) -> CommandsRun {
    let programs = view.run.programs.iter().map(|program| ComparedProgram {
        name: program.name.clone(),
        version: program.version.clone(),
    });
    CommandsRun {
        run: ComparedRun::of(view.run),
        programs: programs.collect(),
    }
}

fn caution(a: View<'_>, b: View<'_>) -> String {
    let mut text = CAUTION.to_owned();
    for (name, view) in [("A", a), ("B", b)] {
        if let Some(found) = &view.judgement.sequential {
            let said = crate::sentences::sequential(found, "commands");
            text += &format!(" Within run {name}: {said}");
        }
    }
    text + " For a verdict, measure both as levels of one factor."
}
