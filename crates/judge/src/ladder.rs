//! Judges what a whole ladder asks besides its climb: each step alone on the first state and at
//! the top, pairs of steps together, and the last state against the first once more.

use model::judgement::{Confirmed, Judged, LadderJudgement, Outcome, Rung, StepsTogether};
use model::ladder::{Whole, alone, both, without};
use model::run::Confirmation;
use model::run::Phase;
use model::study::{Arm, Role};
use model::{BlockRecord, Doubt, RunRecord};

use crate::contrast::Contrast;
use crate::factorial::together;
use crate::metric::Metric;
use crate::phase::JudgedPhase;
use crate::rounds::Rounds;
use crate::rules::Rules;
use crate::{arms, boots, doubts, family};

/// Judges the rest of a whole ladder, whose climb went to `climb`; `None` where it was not asked
/// for.
pub(crate) fn judge(
    run: &RunRecord,
    blocks: &[BlockRecord],
    climb: &JudgedPhase<'_>,
) -> Option<LadderJudgement> {
    let whole = run.study.whole.as_ref()?;
    let first_state = FirstState::of(run, whole)?;
    let (alone, together) = first_state.judge(climb);
    let top = run.confirmation.as_ref();
    let top = top.and_then(|confirmation| Top::of(run, blocks, confirmation, climb.outcome));
    let rung = |step: &Arm| Rung {
        step: step.name.clone(),
        title: step.title.clone(),
        dropped: is_dropped(run, step),
        alone: of_step(&alone, &step.name),
        at_the_top: top.as_ref().and_then(|top| of_step(&top.steps, &step.name)),
    };
    Some(LadderJudgement {
        rungs: steps(run).map(rung).collect(),
        together,
        confirmed: top.map(|top| top.confirmed),
        between_boots: boots::judge(run, blocks, climb.outcome),
    })
}

/// What is doubtful of the confirmation of a climb of which so many rounds are done.
pub(crate) fn doubts(ladder: &LadderJudgement, run: &RunRecord, rounds_climbed: u32) -> Vec<Doubt> {
    let confirmed = ladder.confirmed.as_ref();
    let mut found = Vec::from_iter(unconfirmed(run, rounds_climbed, confirmed));
    if let Some(confirmed) = confirmed {
        let smallest_effect = run.study.design.smallest_effect;
        let rules = Rules::of_rounds(smallest_effect, confirmed.rounds_done);
        let pairs_of = |judged: &Judged| judged.effect.map_or(0, |effect| effect.n);
        let pairs = pairs_of(&confirmed.whole).min(pairs_of(&confirmed.control));
        found.extend(doubts::control_differs(
            &rules,
            confirmed.control.effect.as_ref(),
        ));
        found.extend(doubts::too_few_pairs(&rules, pairs));
    }
    found
}

/// That rounds of the confirmation are missing, once all of the climb are there.
fn unconfirmed(
    run: &RunRecord,
    rounds_climbed: u32,
    confirmed: Option<&Confirmed>,
) -> Option<Doubt> {
    let rounds_planned = run.study.whole.as_ref()?.confirm_rounds;
    let rounds_done = confirmed.map_or(0, |confirmed| confirmed.rounds_done);
    let confirmation = run.confirmation.as_ref();
    let nothing_to_confirm = confirmation.is_some_and(|planned| planned.arms.is_empty());
    let is_its_turn = rounds_climbed >= run.study.design.rounds && !nothing_to_confirm;
    let unfinished = || doubts::unfinished(rounds_done, rounds_planned);
    is_its_turn.then(unfinished).flatten()
}

fn is_dropped(run: &RunRecord, step: &Arm) -> bool {
    let confirmation = run.confirmation.as_ref();
    confirmation.is_some_and(|confirmation| confirmation.dropped.contains(&step.name))
}

fn steps(run: &RunRecord) -> impl Iterator<Item = &Arm> {
    run.arms.iter().filter(|arm| arm.role == Role::Step)
}

fn find<'a>(arms: &'a [Arm], name: &str) -> Option<&'a str> {
    let arm = arms.iter().find(|arm| arm.name == name)?;
    Some(&arm.name)
}

fn of_step<N: AsRef<str>>(judged: &[(N, Judged)], name: &str) -> Option<Judged> {
    let (_, judged) = judged.iter().find(|(step, _)| step.as_ref() == name)?;
    Some(*judged)
}

/// All contrasts in one family of error.
fn judged(phase: &JudgedPhase<'_>, contrasts: &[Contrast<'_>]) -> Vec<Judged> {
    let answers = phase.judge(contrasts).into_iter();
    answers.map(|answer| answer.judged).collect()
}

/// What is asked of the first state: each step alone, and pairs of steps.
struct FirstState<'a> {
    baseline: &'a str,
    /// Each step that changes something there, and its arm; the first step's is its rung.
    alone: Vec<(&'a Arm, &'a str)>,
    squares: Vec<Square<'a>>,
}

/// Two steps on the first state, of which both were climbed.
struct Square<'a> {
    steps: [&'a Arm; 2],
    alone: [&'a str; 2],
    both: &'a str,
}

impl<'a> FirstState<'a> {
    fn of(run: &'a RunRecord, whole: &Whole) -> Option<Self> {
        let baseline = run.arms.iter().find(|arm| arm.role == Role::Baseline)?;
        let by_itself = |step: &'a Arm| {
            let is_first = step.against.as_ref() == Some(&baseline.name);
            let rung = is_first.then_some(step.name.as_str());
            Some((step, rung.or_else(|| find(&run.arms, &alone(&step.name)))?))
        };
        let alone: Vec<_> = steps(run).filter_map(by_itself).collect();
        let of_step = |name: &String| alone.iter().find(|(step, _)| step.name == *name);
        let square = |pair: &[String; 2]| {
            let [one, other] = [of_step(&pair[0])?, of_step(&pair[1])?];
            Some(Square {
                steps: [one.0, other.0],
                alone: [one.1, other.1],
                both: find(&run.arms, &both(pair))?,
            })
        };
        let squares = whole.together.iter().filter_map(square).collect();
        Some(Self {
            baseline: &baseline.name,
            alone,
            squares,
        })
    }

    fn judge(&self, first: &JudgedPhase<'_>) -> (Vec<(&'a str, Judged)>, Vec<StepsTogether>) {
        let alone = self
            .alone
            .iter()
            .map(|(_, arm)| Contrast::pair(arm, self.baseline));
        let squares = self.squares.iter().flat_map(|square| {
            let both = Contrast::pair(square.both, self.baseline);
            [
                both,
                Contrast::interaction(self.baseline, square.alone, square.both),
            ]
        });
        let contrasts: Vec<Contrast<'_>> = alone.chain(squares).collect();
        let mut judged = judged(first, &contrasts);
        let of_squares = judged.split_off(self.alone.len());
        let squares = self.squares.iter().zip(of_squares.chunks_exact(2));
        let together = squares.map(|(square, judged_pair)| {
            let of_arm = |arm: &str| {
                let index = self.alone.iter().position(|(_, alone)| *alone == arm);
                judged[index.expect("a square is made of the arms that stand alone")]
            };
            square.result(square.alone.map(of_arm), judged_pair[0], judged_pair[1])
        });
        let together = together.collect();
        let steps = self.alone.iter().map(|(step, _)| step.name.as_str());
        (steps.zip(judged).collect(), together)
    }
}

impl Square<'_> {
    fn result(&self, alone: [Judged; 2], both: Judged, interaction: Judged) -> StepsTogether {
        StepsTogether {
            steps: self.steps.map(|step| step.name.clone()),
            titles: self.steps.map(|step| step.title.clone()),
            together: together(&alone, &both, &interaction),
            alone,
            both,
            interaction,
        }
    }
}

/// The last state, of servers that were started anew.
struct Top {
    /// Each step that the last state has, and what it is worth there.
    steps: Vec<(String, Judged)>,
    confirmed: Confirmed,
}

impl Top {
    /// `None` before the first complete round.
    fn of(
        run: &RunRecord,
        blocks: &[BlockRecord],
        confirmation: &Confirmation,
        outcome: Outcome,
    ) -> Option<Self> {
        let rounds = Rounds::of_phase(blocks, Phase::Confirmation);
        let rounds_done = rounds.complete(&confirmation.arms);
        if rounds_done == 0 {
            return None;
        }
        let of_role = |role| confirmation.arms.iter().find(|arm| arm.role == role);
        let [first, again, last] = [Role::Baseline, Role::Control, Role::Last].map(of_role);
        let (first, again, last) = (first?, again?, last?);
        let rules = Rules::of_rounds(run.study.design.smallest_effect, rounds_done);
        let control = Contrast::pair(&again.name, &first.name);
        let values = rounds.values(Metric::of_outcome(outcome));
        let control = family::judge_control(&control, values, rules).judged;
        let phase = JudgedPhase {
            rounds: &rounds,
            outcome,
            rules,
            control: control.effect,
            is_void: family::voids(Some(control.verdict)),
        };
        let lacking: Vec<(&Arm, &str)> = steps(run)
            .filter_map(|step| Some((step, find(&confirmation.arms, &without(&step.name))?)))
            .collect();
        let of_steps = lacking
            .iter()
            .map(|(_, without)| Contrast::pair(&last.name, without));
        let whole = Contrast::pair(&last.name, &first.name);
        let mut judged = judged(&phase, &of_steps.chain([whole]).collect::<Vec<_>>());
        let whole = judged.pop()?;
        let names = lacking.iter().map(|(step, _)| step.name.clone());
        let [first, last] = [first, last].map(|arm| arms::result(arm, None, &rounds));
        Some(Self {
            steps: names.zip(judged).collect(),
            confirmed: Confirmed {
                whole,
                control,
                first,
                last,
                rounds_done,
                rounds_planned: run.study.whole.as_ref()?.confirm_rounds,
            },
        })
    }
}
