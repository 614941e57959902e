//! Which arms a factorial design compares with which.

use model::CommandStudy;
use model::command_run::CommandArm;
use model::command_study::Factor;
use model::judgement::Levels;
use model::study::Role;

use crate::contrast::Contrast;
use crate::square::Square;

/// The arms of a run without the control; arms of levels that were left out are not among them.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    arms: Vec<&'a CommandArm>,
}

/// One level against another in one cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair<'a> {
    pub(crate) cell: Levels,
    pub(crate) arm: &'a str,
    pub(crate) level: &'a str,
    pub(crate) against_arm: &'a str,
    pub(crate) against: &'a str,
}

impl<'a> Pair<'a> {
    pub(crate) fn contrast(&self) -> Contrast<'a> {
        Contrast::pair(self.arm, self.against_arm)
    }
}

impl<'a> Layout<'a> {
    pub(crate) fn of(arms: &'a [CommandArm]) -> Self {
        let arms = arms.iter().filter(|arm| arm.role != Role::Control);
        Self {
            arms: arms.collect(),
        }
    }

    /// Every arm that has a reference against that, as levels of one factor in a cell of the
    /// others.
    pub(crate) fn pairs(&self, compare: &str) -> Vec<Pair<'a>> {
        let pair = |arm: &&'a CommandArm| {
            let reference = arm.against.as_deref()?;
            let reference = *self.arms.iter().find(|other| other.name == reference)?;
            pair(arm, reference, compare)
        };
        self.arms.iter().filter_map(pair).collect()
    }

    /// The squares of two factors' first two levels, one for each cell that has all four arms.
    pub(crate) fn squares(&self, factors: [&Factor; 2]) -> Vec<(Levels, Square<'a>)> {
        let cells = self.cells(&factors.map(|factor| factor.name.as_str()));
        let of_cell = |cell: Levels| self.square(cell, factors);
        cells.into_iter().filter_map(of_cell).collect()
    }

    fn square(&self, cell: Levels, factors: [&Factor; 2]) -> Option<(Levels, Square<'a>)> {
        let arm = |first: usize, second: usize| {
            let mut levels = cell.clone();
            for (factor, level) in factors.iter().zip([first, second]) {
                let level = factor.levels.get(level)?;
                levels.insert(factor.name.clone(), level.name.clone());
            }
            self.arm_at(&levels)
        };
        let square = Square {
            neither: arm(0, 0)?,
            alone: [arm(1, 0)?, arm(0, 1)?],
            both: arm(1, 1)?,
        };
        Some((cell, square))
    }

    /// The cells of all factors but some, in the order of their first arms.
    pub(crate) fn cells(&self, but: &[&str]) -> Vec<Levels> {
        let mut cells: Vec<Levels> = Vec::new();
        for arm in &self.arms {
            let cell = without(&arm.levels, but);
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells
    }

    fn arm_at(&self, levels: &Levels) -> Option<&'a str> {
        let arm = self.arms.iter().find(|arm| arm.levels == *levels)?;
        Some(arm.name.as_str())
    }
}

/// The squares that a study asks about.
pub(crate) fn squares<'a>(study: &CommandStudy, layout: &Layout<'a>) -> Vec<(Levels, Square<'a>)> {
    let factors = study.design.interaction.as_ref();
    let factors =
        factors.and_then(|[first, second]| Some([study.factor(first)?, study.factor(second)?]));
    factors.map_or_else(Vec::new, |factors| layout.squares(factors))
}

/// An arm against another as levels of a factor.
pub(crate) fn pair<'a>(
    arm: &'a CommandArm,
    reference: &'a CommandArm,
    compare: &str,
) -> Option<Pair<'a>> {
    Some(Pair {
        cell: without(&arm.levels, &[compare]),
        arm: &arm.name,
        level: arm.levels.get(compare)?,
        against_arm: &reference.name,
        against: reference.levels.get(compare)?,
    })
}

/// The levels of all factors but some.
pub(crate) fn without(levels: &Levels, but: &[&str]) -> Levels {
    let mut cell = levels.clone();
    cell.retain(|factor, _| !but.contains(&factor.as_str()));
    cell
}
