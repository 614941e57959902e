//! What effects a planned study will be able to see, before anything of it is measured.

use model::CommandStudy;
use model::command_run::CommandArm;

use super::layout::{self, Layout};
use super::{each_once, means};
use crate::family;

/// The smallest effect, as a share, that a study will find in its rounds with 80 % power, by the
/// logarithms of ratios of identical runs. The error is shared by as many contrasts as a whole run
/// is judged by. `None` with fewer than two differences, or with fewer rounds than a verdict takes.
pub fn visible_to_plan(
    study: &CommandStudy,
    arms: &[CommandArm],
    differences: &[f64],
) -> Option<f64> {
    crate::smallest_visible(
        differences,
        study.design.rounds,
        error_of_first(study, arms),
    )
}

/// The fewest rounds with which a study can have a verdict, count.
pub fn fewest_rounds_of_plan(study: &CommandStudy, arms: &[CommandArm]) -> u32 {
    crate::fewest_pairs(error_of_first(study, arms))
}

/// The error at which the first success among all contrasts of a whole run is judged.
fn error_of_first(study: &CommandStudy, arms: &[CommandArm]) -> f64 {
    let layout = Layout::of(arms);
    let pairs = layout.pairs(&study.design.compare);
    let means = means::of(study.design.mean_over.as_deref(), &pairs, |_| true);
    let squares = layout::squares(study, &layout);
    let family = each_once(pairs.iter(), &means, &squares);
    family::share_of_first(family.len())
}
