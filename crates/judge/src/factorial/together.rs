//! What two factors do together.

use model::Verdict;
use model::judgement::{InteractionResult, Judged, Together};

use super::layout::Square;
use crate::contrast::Contrast;

/// The result on one square of arms, of contrasts that were judged before.
pub(super) fn result(
    square: &Square<'_>,
    factors: &[String; 2],
    judged: impl Fn(&Contrast<'_>) -> Judged,
) -> InteractionResult {
    let alone = square.alone().map(|contrast| judged(&contrast));
    let both = judged(&square.both());
    let interaction = judged(&square.interaction());
    InteractionResult {
        cell: square.cell.clone(),
        factors: factors.clone(),
        together: together(&alone, &both, &interaction),
        alone,
        both,
        interaction,
    }
}

/// That they only pay together is said where all of it is shown: both are better, neither is by
/// itself, and the whole is more than its parts.
pub(crate) fn together(alone: &[Judged; 2], both: &Judged, interaction: &Judged) -> Together {
    let does_nothing =
        |verdict: &Verdict| matches!(verdict, Verdict::NoDifferenceThatMatters | Verdict::Worse);
    let neither_pays = || alone.iter().all(|one| does_nothing(&one.verdict));
    match interaction.verdict {
        Verdict::Better if both.verdict == Verdict::Better && neither_pays() => {
            Together::OnlyTogether
        }
        Verdict::Better => Together::MoreTogether,
        Verdict::Worse => Together::LessTogether,
        Verdict::NoDifferenceThatMatters => Together::Independent,
        Verdict::Inconclusive => Together::Inconclusive,
        Verdict::Invalid => Together::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Better, Inconclusive, NoDifferenceThatMatters as None, Worse};

    #[test]
    fn only_together_needs_both_shown_better_and_each_alone_shown_not_to_be() {
        let judged = |verdict| Judged {
            verdict,
            effect: Option::None,
        };
        for (alone, both, interaction, expected) in [
            ([None, Worse], Better, Better, Together::OnlyTogether),
            ([None, Inconclusive], Better, Better, Together::MoreTogether),
            ([None, Better], Better, Better, Together::MoreTogether),
            ([Worse, Worse], None, Better, Together::MoreTogether),
            ([None, None], Better, Inconclusive, Together::Inconclusive),
            ([Better, Better], Better, None, Together::Independent),
            ([Better, Better], Better, Worse, Together::LessTogether),
            ([None, None], Better, Verdict::Invalid, Together::Invalid),
        ] {
            let found = together(&alone.map(judged), &judged(both), &judged(interaction));
            assert_eq!(found, expected, "{alone:?} {both:?} {interaction:?}");
        }
    }
}
