//! One level against another over the levels of a further factor, such as all benchmarks.

use model::judgement::{Judged, Levels, MeanResult};

use super::Factorial;
use super::layout::{Pair, without};
use crate::contrast::Contrast;
use crate::family::Verdicts;

/// A geometric mean of ratios of one level to another.
pub(super) struct Mean<'a> {
    cell: Levels,
    level: &'a str,
    against: &'a str,
    of: Vec<Pair<'a>>,
    /// Levels that are left out, because too few rounds have them.
    without: Vec<String>,
}

impl<'a> Mean<'a> {
    /// The contrast of the mean; `None` where no level has enough rounds.
    pub(super) fn contrast(&self) -> Option<Contrast<'a>> {
        let pairs: Vec<Contrast<'_>> = self.of.iter().map(Pair::contrast).collect();
        (!pairs.is_empty()).then(|| Contrast::mean(&pairs))
    }
}

/// The means that the study asks for: one for each level and its reference in each cell of the
/// factors that are neither compared nor averaged over.
///
/// A round counts only where every level of the mean has a value in it, so that the mean is of the
/// same levels in every round. A level that too few rounds have is left out, and named.
pub(super) fn of<'a>(
    over: Option<&str>,
    pairs: &[Pair<'a>],
    has_most_rounds: impl Fn(&Pair<'a>) -> bool,
) -> Vec<Mean<'a>> {
    let Some(over) = over else {
        return Vec::new();
    };
    let mut means: Vec<Mean<'_>> = Vec::new();
    for pair in pairs {
        let cell = without(&pair.cell, &[over]);
        let same = |mean: &Mean<'_>| {
            (&mean.cell, mean.level, mean.against) == (&cell, pair.level, pair.against)
        };
        let index = means.iter().position(same);
        let index = index.unwrap_or_else(|| {
            means.push(Mean {
                cell: cell.clone(),
                level: pair.level,
                against: pair.against,
                of: Vec::new(),
                without: Vec::new(),
            });
            means.len() - 1
        });
        if has_most_rounds(pair) {
            means[index].of.push(pair.clone());
        } else {
            means[index].without.extend(pair.cell.get(over).cloned());
        }
    }
    means
}

pub(super) fn results(study: &Factorial<'_>, verdicts: &Verdicts<'_>) -> Vec<MeanResult> {
    let over = study.run.study.design.mean_over.as_deref();
    let result = |mean: &Mean<'_>| {
        let over = over?;
        let judged = (mean.contrast()).map_or(Judged::NONE, |contrast| verdicts.on(&contrast));
        let of = mean
            .of
            .iter()
            .filter_map(|pair| pair.cell.get(over).cloned());
        Some(MeanResult {
            cell: mean.cell.clone(),
            level: mean.level.to_owned(),
            against: mean.against.to_owned(),
            over: over.to_owned(),
            of: of.collect(),
            without: mean.without.clone(),
            verdict: judged.verdict,
            effect: judged.effect,
        })
    };
    study.means.iter().filter_map(result).collect()
}
