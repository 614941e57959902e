//! Judges what a whole ladder asks besides its climb: each step alone on the first state and at
//! the top, pairs of steps together, and the last state against the first once more.

use model::judgement::{Confirmed, Judged, LadderJudgement, Outcome, Rung, StepsTogether};
use model::ladder::{Whole, alone, both, without};
use model::run::Confirmation;
use model::run::Phase;
use model::study::{Arm, Role};
use model::{BlockRecord, Doubt, RunRecord};

use crate::contrast::Contrast;
use crate::family::{self, Verdicts};
use crate::metric::Metric;
use crate::phase::JudgedPhase;
use crate::rounds::Rounds;
use crate::rules::Rules;
use crate::square::Square;
use crate::{arms, boots, doubts};

/// Judges the rest of a whole ladder after its climb; `None` where no whole ladder was asked for.
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

/// The doubts about the confirmation of a climb of which `rounds_climbed` rounds are done.
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

/// The doubt that rounds of the confirmation are missing, once all rounds of the climb are there.
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

/// Judges all contrasts as one family, which shares one error.
fn verdicts<'a>(
    phase: &JudgedPhase<'a>,
    contrasts: impl Iterator<Item = Contrast<'a>>,
) -> Verdicts<'a> {
    let family = family::each_once(contrasts);
    let answers = phase.judge(&family);
    Verdicts::new(family, answers)
}

/// What is asked of the first state: each step alone, and pairs of steps.
struct FirstState<'a> {
    /// Each step that changes something there, and its contrast with the baseline; the first step's
    /// arm is its rung.
    alone: Vec<(&'a Arm, Contrast<'a>)>,
    /// Pairs of steps that were both measured alone, each with its square.
    squares: Vec<([&'a Arm; 2], Square<'a>)>,
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
            let square = Square {
                neither: &baseline.name,
                alone: [one.1, other.1],
                both: find(&run.arms, &both(pair))?,
            };
            Some(([one.0, other.0], square))
        };
        let squares = whole.together.iter().filter_map(square).collect();
        let against_baseline = |(step, arm)| (step, Contrast::pair(arm, &baseline.name));
        Some(Self {
            alone: alone.into_iter().map(against_baseline).collect(),
            squares,
        })
    }

    fn judge(&self, first: &JudgedPhase<'a>) -> (Vec<(&'a str, Judged)>, Vec<StepsTogether>) {
        let alone = self.alone.iter().map(|(_, contrast)| contrast.clone());
        let of_squares = self.squares.iter();
        let of_squares = of_squares.flat_map(|(_, square)| square.contrasts());
        let verdicts = verdicts(first, alone.chain(of_squares));
        let steps = self.alone.iter();
        let steps = steps.map(|(step, contrast)| (step.name.as_str(), verdicts.on(contrast)));
        let together = self.squares.iter();
        let together = together.map(|(steps, square)| StepsTogether {
            steps: steps.map(|step| step.name.clone()),
            titles: steps.map(|step| step.title.clone()),
            square: square.judged(&verdicts),
        });
        (steps.collect(), together.collect())
    }
}

/// The last state, measured on servers that were started again.
struct Top {
    /// Each step that the last state has, and its effect there.
    steps: Vec<(String, Judged)>,
    confirmed: Confirmed,
}

impl Top {
    /// Judges the confirmation; `None` before its first complete round.
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
        let lacking = |step: &Arm| {
            let without = find(&confirmation.arms, &without(&step.name))?;
            Some((step.name.clone(), Contrast::pair(&last.name, without)))
        };
        let lacking: Vec<(String, Contrast<'_>)> = steps(run).filter_map(lacking).collect();
        let of_steps = lacking.iter().map(|(_, contrast)| contrast.clone());
        let whole = Contrast::pair(&last.name, &first.name);
        let verdicts = verdicts(&phase, of_steps.chain([whole.clone()]));
        let steps = lacking.into_iter();
        let steps = steps.map(|(step, contrast)| (step, verdicts.on(&contrast)));
        let [first, last] = [first, last].map(|arm| arms::result(arm, None, &rounds));
        Some(Self {
            steps: steps.collect(),
            confirmed: Confirmed {
                whole: verdicts.on(&whole),
                control,
                first,
                last,
                rounds_done,
                rounds_planned: run.study.whole.as_ref()?.confirm_rounds,
            },
        })
    }
}
