//! What two changes do together: two factors of a cell, or two steps that each apply to the first
//! state.

use model::Verdict;
use model::judgement::{Judged, JudgedSquare, Together};

use crate::contrast::Contrast;
use crate::family::Verdicts;

/// The four arms of two changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Square<'a> {
    pub(crate) neither: &'a str,
    pub(crate) alone: [&'a str; 2],
    pub(crate) both: &'a str,
}

impl<'a> Square<'a> {
    /// The contrasts of each change alone, of both, and of what both do beyond each alone.
    pub(crate) fn contrasts(&self) -> [Contrast<'a>; 4] {
        let [first, second] = self.alone.map(|arm| Contrast::pair(arm, self.neither));
        let both = Contrast::pair(self.both, self.neither);
        let interaction = Contrast::interaction(self.neither, self.alone, self.both);
        [first, second, both, interaction]
    }

    /// Reads the judgements of its contrasts from those of a family.
    pub(crate) fn judged(&self, verdicts: &Verdicts<'_>) -> JudgedSquare {
        let judged = self.contrasts().map(|contrast| verdicts.on(&contrast));
        let [first, second, both, interaction] = judged;
        let alone = [first, second];
        JudgedSquare {
            together: together(&alone, &both, &interaction),
            alone,
            both,
            interaction,
        }
    }
}

/// Says how two changes combine. "Only together" requires all of this: both together are better,
/// neither is better alone, and the whole is more than its parts.
fn together(alone: &[Judged; 2], both: &Judged, interaction: &Judged) -> Together {
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
