//! The doubts of a run: what was known before it, what its blocks said, and what judging it found.

use std::collections::BTreeMap;

use model::run::Phase;
use model::study::Role;
use model::{BlockRecord, Doubt, Effect, RunRecord};

use crate::rules::Rules;

/// Share of an arm's blocks above which a doubt of blocks becomes one about the arm.
const TOLERATED_BLOCKS: f64 = 0.10;

/// The doubt that two identical arms came out different.
pub(crate) fn control_differs(rules: &Rules, control: Option<&Effect>) -> Option<Doubt> {
    let effect = control.filter(|effect| rules.control_differs(effect))?;
    Some(Doubt::ControlDiffers {
        ratio: effect.ratio,
        p_value: effect.p_value,
    })
}

/// The doubt that a comparison has fewer pairs than a verdict takes.
pub(crate) fn too_few_pairs(rules: &Rules, pairs: u32) -> Option<Doubt> {
    let needed = rules.fewest_pairs;
    (pairs < needed).then_some(Doubt::TooFewPairs { pairs, needed })
}

pub(crate) fn unfinished(rounds_done: u32, rounds_planned: u32) -> Option<Doubt> {
    (rounds_done < rounds_planned).then_some(Doubt::Unfinished {
        rounds_done,
        rounds_planned,
    })
}

/// The doubt that effects as small as the one sought could not be seen.
pub(crate) fn blind(smallest_visible: Option<f64>, sought: f64) -> Option<Doubt> {
    smallest_visible
        .filter(|visible| *visible > sought)
        .map(|smallest_visible| Doubt::BlindToEffect {
            smallest_visible,
            sought,
        })
}

/// The doubts known before the first block. A forecast of blindness gives way to the measured
/// figure, where there is one.
pub(crate) fn known_before(
    known: &[Doubt],
    smallest_visible: Option<f64>,
) -> impl Iterator<Item = Doubt> {
    let is_forecast = |doubt: &Doubt| matches!(doubt, Doubt::BlindToEffect { .. });
    let stands = move |doubt: &&Doubt| smallest_visible.is_none() || !is_forecast(doubt);
    known.iter().filter(stands).cloned()
}

/// Whether more than a tenth of some blocks carry a doubt of this kind.
pub(crate) fn is_frequent<'a>(
    blocks: impl Iterator<Item = &'a BlockRecord>,
    is_kind: impl Fn(&Doubt) -> bool,
) -> bool {
    let (all, doubtful) = blocks.fold((0_u32, 0_u32), |(all, doubtful), block| {
        let has = block.reading.doubts.iter().any(&is_kind);
        (all + 1, doubtful + u32::from(has))
    });
    f64::from(doubtful) > f64::from(all) * TOLERATED_BLOCKS
}

/// The doubts that more than a tenth of the blocks of one arm and phase carry.
///
/// The bare echo is left out of "the client is the limit": it is there to be faster than any
/// server, so the client is its limit as a rule, and only its CPU per request is used. Failed
/// requests are counted from the ledgers instead, over all blocks.
pub(crate) fn of_blocks(run: &RunRecord, blocks: &[BlockRecord]) -> Vec<Doubt> {
    let mut groups: BTreeMap<(Phase, &str), Vec<&BlockRecord>> = BTreeMap::new();
    for block in blocks {
        let group = (block.phase, block.arm.as_str());
        groups.entry(group).or_default().push(block);
    }
    let is_floor = |name: &str| {
        let arm = run.arms.iter().find(|arm| arm.name == name);
        arm.is_some_and(|arm| arm.role == Role::Floor)
    };
    groups
        .iter()
        .flat_map(|((_, arm), group)| {
            let all = group.iter().flat_map(|block| &block.reading.doubts);
            all.filter(|doubt| {
                let same_kind = |other: &Doubt| other.is_same_kind(doubt);
                let counted_elsewhere = matches!(doubt, Doubt::RequestsFailed { .. });
                let expected = is_client_limit(doubt) && is_floor(arm);
                !counted_elsewhere && !expected && is_frequent(group.iter().copied(), same_kind)
            })
            .cloned()
        })
        .collect()
}

/// Whether a doubt is that the client was the limit.
pub(crate) fn is_client_limit(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::ClientIsLimit { .. })
}

/// The worst doubt of each kind, in the order in which the kinds first came. Each skipped lever is
/// a kind of its own.
pub(crate) fn merged(doubts: impl Iterator<Item = Doubt>) -> Vec<Doubt> {
    let mut kept: Vec<Doubt> = Vec::new();
    for doubt in doubts {
        match kept.iter_mut().find(|other| other.is_same_kind(&doubt)) {
            Some(other) if doubt.severity() > other.severity() => *other = doubt,
            Some(_) => {}
            None => kept.push(doubt),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(lever: &str) -> Doubt {
        Doubt::LeverSkipped {
            lever: lever.to_owned(),
            reason: "EPERM".to_owned(),
        }
    }

    #[test]
    fn of_two_doubts_of_a_kind_the_worse_is_kept_in_the_place_of_the_first() {
        let client = |busy_share| Doubt::ClientIsLimit { busy_share };
        let found =
            merged([client(0.9), Doubt::OneMachine, client(0.97), client(0.86)].into_iter());
        assert_eq!(found, [client(0.97), Doubt::OneMachine]);
    }

    #[test]
    fn a_rate_missed_by_more_is_worse() {
        let rate = |achieved_rps| Doubt::RateNotReached {
            offered_rps: 1000.0,
            achieved_rps,
            unanswered: 0,
        };
        assert_eq!(
            merged([rate(900.0), rate(500.0)].into_iter()),
            [rate(500.0)]
        );
    }

    #[test]
    fn each_skipped_lever_keeps_its_own_doubt() {
        let found = merged([skipped("a"), skipped("b"), skipped("a")].into_iter());
        assert_eq!(found, [skipped("a"), skipped("b")]);
    }
}
