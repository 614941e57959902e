//! Whether the arms of a cell did the same work, by what they printed.

use model::CommandRun;
use model::command_run::CommandBlock;
use model::command_study::Agreement;
use model::judgement::Levels;

use super::layout::without;

/// A cell whose arms printed different things.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Disagreement<'a> {
    pub(super) cell: Levels,
    pub(super) arms: Vec<&'a str>,
    /// Two of the things that were printed.
    pub(super) texts: [&'a str; 2],
}

/// The cells whose arms, in any two of their runs, do not agree on what the study says they must.
pub(super) fn disagreements<'a>(
    run: &'a CommandRun,
    blocks: &'a [CommandBlock],
) -> Vec<Disagreement<'a>> {
    let Some(agreement) = &run.study.workload.agree else {
        return Vec::new();
    };
    let compare = run.study.design.compare.as_str();
    let cell_of = |levels: &Levels| without(levels, &[compare]);
    let mut cells: Vec<(Levels, Vec<&str>)> = Vec::new();
    for arm in &run.arms {
        let cell = cell_of(&arm.levels);
        match cells.iter_mut().find(|(other, _)| *other == cell) {
            Some((_, arms)) => arms.push(&arm.name),
            None => cells.push((cell, vec![&arm.name])),
        }
    }
    let found = cells.into_iter().filter_map(|(cell, arms)| {
        let texts = blocks
            .iter()
            .filter(|block| arms.contains(&block.arm.as_str()))
            .filter_map(|block| block.reading.agreed.as_deref());
        let texts = first_two_apart(texts, agreement)?;
        Some(Disagreement { cell, arms, texts })
    });
    found.collect()
}

/// The first text and the first that is not alike; `None` where all are.
fn first_two_apart<'a>(
    mut texts: impl Iterator<Item = &'a str>,
    agreement: &Agreement,
) -> Option<[&'a str; 2]> {
    let first = texts.next()?;
    let other = texts.find(|other| !is_alike(first, other, agreement.tolerance))?;
    Some([first, other])
}

/// As texts, or as numbers that lie no further apart than a share of the larger.
fn is_alike(first: &str, other: &str, tolerance: Option<f64>) -> bool {
    let numbers = || {
        Some((
            first.trim().parse::<f64>().ok()?,
            other.trim().parse::<f64>().ok()?,
        ))
    };
    match (tolerance, numbers()) {
        (Some(share), Some((first, other))) => {
            (first - other).abs() <= share * first.abs().max(other.abs())
        }
        _ => first == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_agree_letter_by_letter_and_numbers_within_their_tolerance() {
        assert!(is_alike("7ff8", "7ff8", None));
        assert!(!is_alike("1.0", "1.00", None));
        assert!(is_alike("1.0", " 1.0009\n", Some(0.001)));
        assert!(!is_alike("1.0", "1.002", Some(0.001)));
        assert!(is_alike("1000", "1000.5", Some(0.001)));
        assert!(!is_alike("0.001", "0.0015", Some(0.001)));
        assert!(is_alike("0", "0.0", Some(0.0)));
        assert!(!is_alike("1.0", "nan", Some(0.001)));
        assert!(!is_alike("one", "1", Some(0.5)));
    }
}
