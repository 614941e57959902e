//! The ceilings of commands, as their study names them, from the medians of their metrics.

use model::CommandRun;
use model::ceiling::ArmCeilings;
use model::command_study::CeilingSpec;
use model::explanation::ResourceBound;
use model::judgement::ArmFigures;
use model::study::Role;

use super::nearest_first;
use crate::median;

/// The ceilings of every arm but the control.
pub(crate) fn of_commands(run: &CommandRun, arms: &[ArmFigures]) -> Vec<ArmCeilings> {
    let arms = arms.iter().filter(|arm| arm.role != Role::Control);
    let of_arm = |arm: &ArmFigures| {
        let specs = run.study.ceilings.iter();
        let bounds = specs.filter_map(|spec| bound(run, spec, arm));
        ArmCeilings {
            arm: arm.name.clone(),
            bounds: nearest_first(bounds.collect()),
        }
    };
    arms.map(of_arm)
        .filter(|it| !it.bounds.is_empty())
        .collect()
}

/// One ceiling of an arm; `None` where a figure for it is missing.
fn bound(run: &CommandRun, spec: &CeilingSpec, arm: &ArmFigures) -> Option<ResourceBound> {
    let rate = value(arm, &spec.of)?;
    let used = spec.used.iter().map(|metric| value(arm, metric));
    let used = used.product::<Option<f64>>()? * spec.times.unwrap_or(1.0);
    let most = spec.most.or_else(|| {
        let probed = run.probed.get(spec.probe.as_ref()?)?;
        median::of(probed)
    })?;
    let (reached, demand) = (used / most, used / rate);
    let metric = run.study.metrics.iter().find(|it| it.name == spec.of)?;
    Some(ResourceBound {
        name: spec.name.clone(),
        what: spec.title.clone(),
        demand,
        unit: spec.unit.clone(),
        most_rps: rate / reached,
        reached,
        rate_unit: Some(metric.unit.clone()),
    })
}

fn value(arm: &ArmFigures, metric: &str) -> Option<f64> {
    let figure = arm.figures.iter().find(|figure| figure.metric == metric)?;
    Some(figure.estimate.value)
}
