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
    /// Two of the texts that were printed.
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
        let texts = two_apart(texts, agreement)?;
        Some(Disagreement { cell, arms, texts })
    });
    found.collect()
}

/// Two texts that do not agree; `None` where all do. Of numbers with a tolerance these are the
/// smallest and the largest: both can be near the first and yet too far from each other.
fn two_apart<'a>(
    texts: impl Iterator<Item = &'a str>,
    agreement: &Agreement,
) -> Option<[&'a str; 2]> {
    let texts: Vec<&str> = texts.collect();
    let first = *texts.first()?;
    match (agreement.tolerance, numbers(&texts)) {
        (Some(share), Some(numbers)) => {
            let (least, largest) = (numbers[0], numbers[numbers.len() - 1]);
            (!are_near(least.0, largest.0, share)).then_some([least.1, largest.1])
        }
        _ => {
            let other = texts.into_iter().find(|other| *other != first)?;
            Some([first, other])
        }
    }
}

/// The texts as numbers, the smallest first; `None` where one of them is not a number.
fn numbers<'a>(texts: &[&'a str]) -> Option<Vec<(f64, &'a str)>> {
    let number = |text: &&'a str| Some((text.trim().parse().ok()?, *text));
    let mut numbers: Vec<(f64, &str)> = texts.iter().map(number).collect::<Option<_>>()?;
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(numbers)
}

/// Whether two numbers lie no further apart than a share of the larger.
fn are_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * one.abs().max(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::command_study::OutputPart;

    fn apart<'a>(texts: &[&'a str], tolerance: Option<f64>) -> Option<[&'a str; 2]> {
        let agreement = Agreement {
            on: OutputPart::Stdout,
            tolerance,
        };
        two_apart(texts.iter().copied(), &agreement)
    }

    #[test]
    fn texts_agree_letter_by_letter() {
        assert_eq!(apart(&["7ff8", "7ff8"], None), None);
        assert_eq!(apart(&[], None), None);
        let found = apart(&["1.0", "1.0", "1.00"], None);
        assert_eq!(found, Some(["1.0", "1.00"]));
    }

    #[test]
    fn numbers_agree_within_their_tolerance() {
        let near = Some(0.001);
        assert_eq!(apart(&["1.0", " 1.0009\n"], near), None);
        assert_eq!(apart(&["1.002", "1.0"], near), Some(["1.0", "1.002"]));
        assert_eq!(apart(&["1000", "1000.5"], near), None);
        assert!(apart(&["0.001", "0.0015"], near).is_some());
        assert_eq!(apart(&["0", "0.0"], Some(0.0)), None);
        assert_eq!(apart(&["1.0", "nan"], near), Some(["1.0", "nan"]));
        assert_eq!(apart(&["1", "one"], Some(0.5)), Some(["1", "one"]));
    }

    #[test]
    fn numbers_that_are_near_the_first_may_be_too_far_from_one_another() {
        let found = apart(&["1.0", "1.0009", "0.9992"], Some(0.001));
        assert_eq!(found, Some(["0.9992", "1.0009"]));
    }
}
