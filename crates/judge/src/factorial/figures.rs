//! Each arm's own figures over its runs.

use model::CommandRun;
use model::command_run::{CommandArm, CommandBlock};
use model::judgement::{ArmFigures, Figure, MetricInfo};
use model::reading::MachineRuns;

use super::ALPHA;
use crate::values::Values;
use crate::{count, median};

/// The figures of every arm, in the study's order.
pub(super) fn of_arms(
    run: &CommandRun,
    blocks: &[CommandBlock],
    metrics: &[MetricInfo],
    values: &[Values<'_>],
) -> Vec<ArmFigures> {
    let figures = |arm: &CommandArm| {
        let of_metric = metrics.iter().zip(values);
        let of_metric = of_metric.filter_map(|(metric, values)| figure(metric, values, &arm.name));
        let runs = blocks.iter().filter(|block| block.arm == arm.name);
        let failed = runs.clone().filter(|block| !block.reading.counts());
        ArmFigures {
            name: arm.name.clone(),
            title: arm.title.clone(),
            role: arm.role,
            levels: arm.levels.clone(),
            figures: of_metric.collect(),
            machine: MachineRuns::of(
                runs.clone()
                    .filter(|block| block.reading.counts())
                    .filter_map(|block| block.reading.command.machine),
            ),
            runs: count(runs.count()),
            failed: count(failed.count()),
        }
    };
    run.arms.iter().map(figures).collect()
}

fn figure(metric: &MetricInfo, values: &Values<'_>, arm: &str) -> Option<Figure> {
    Some(Figure {
        metric: metric.name.clone(),
        estimate: median::estimate(&values.of_arm(arm), ALPHA)?,
        steady: values.steady(arm).is_some(),
    })
}
