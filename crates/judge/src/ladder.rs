//! Judges what a whole ladder asks besides its climb: each step alone on the first state and at
//! the top, pairs of steps together, and the last state against the first once more.

use model::judgement::{Confirmed, Judged, LadderJudgement, Outcome, Rung, StepsTogether};
use model::ladder::{Confirmation, Whole, alone, both, without};
use model::run::Phase;
use model::study::{Arm, Role};
use model::{BlockRecord, Doubt, Effect, RunRecord, Verdict};

use crate::factorial::{Contrast, Family, together};
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::rules::{CONTROL_ALPHA, Rules};
use crate::{arms, boots, doubts, failures, signed_rank};

/// The blocks of one phase, and by what its contrasts are judged.
pub(crate) struct Court<'a> {
    pub(crate) rounds: &'a Rounds<'a>,
    pub(crate) outcome: Outcome,
    pub(crate) rules: Rules,
    pub(crate) control: Option<Effect>,
    /// Whether nothing may have a verdict.
    pub(crate) is_void: bool,
}

/// Judges the rest of a whole ladder, whose climb went to `climb`; `None` where it was not asked
/// for.
pub(crate) fn judge(
    run: &RunRecord,
    blocks: &[BlockRecord],
    climb: &Court<'_>,
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
    let mut doubts = Vec::from_iter(unconfirmed(run, rounds_climbed, confirmed));
    if let Some(confirmed) = confirmed {
        let smallest_effect = run.study.design.smallest_effect;
        let rules = Rules::of_rounds(smallest_effect, confirmed.rounds_done);
        doubts.extend(control_doubt(confirmed, &rules));
        doubts.extend(too_few_pairs(confirmed, &rules));
    }
    doubts
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
    (is_its_turn && rounds_done < rounds_planned).then_some(Doubt::Unfinished {
        rounds_done,
        rounds_planned,
    })
}

/// That the control of the confirmation came out different, which voids its verdicts.
fn control_doubt(confirmed: &Confirmed, rules: &Rules) -> Option<Doubt> {
    let effect = confirmed.control.effect?;
    rules
        .control_differs(&effect)
        .then_some(Doubt::ControlDiffers {
            ratio: effect.ratio,
            p_value: effect.p_value,
        })
}

fn too_few_pairs(confirmed: &Confirmed, rules: &Rules) -> Option<Doubt> {
    let pairs_of = |judged: &Judged| judged.effect.map_or(0, |effect| effect.n);
    let pairs = pairs_of(&confirmed.whole).min(pairs_of(&confirmed.control));
    let needed = rules.fewest_pairs;
    (pairs < needed).then_some(Doubt::TooFewPairs { pairs, needed })
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

impl Court<'_> {
    /// All contrasts in one family of error.
    fn judge(&self, contrasts: &[Contrast<'_>]) -> Vec<Judged> {
        let metric = Metric::of_outcome(self.outcome);
        let family = Family {
            values: &self.rounds.all_values(metric),
            rules: self.rules,
            direction: metric.direction(),
            control: self.control,
        };
        family.judge(contrasts, |contrast| {
            self.is_void || self.is_unfair(contrast)
        })
    }

    /// Whether the arms of a contrast fail differently, or the client was the limit of a rate.
    fn is_unfair(&self, contrast: &Contrast<'_>) -> bool {
        let blocks_of = |arm| self.rounds.blocks_of(arm);
        let mut failed = contrast
            .arms()
            .map(|arm| failures::failed_share(blocks_of(arm)));
        let first = failed.next().unwrap_or_default();
        let is_limit = |arm| doubts::is_frequent(blocks_of(arm), doubts::is_client_limit);
        failed.any(|other| failures::differ(first, other))
            || (self.outcome == Outcome::Throughput && contrast.arms().any(is_limit))
    }
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

    fn judge(&self, court: &Court<'_>) -> (Vec<(&'a str, Judged)>, Vec<StepsTogether>) {
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
        let mut judged = court.judge(&contrasts);
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
        let control = judge_control(&rounds, outcome, &rules, [&again.name, &first.name]);
        let court = Court {
            rounds: &rounds,
            outcome,
            rules,
            control: control.effect,
            is_void: control.verdict == Verdict::Invalid,
        };
        let lacking: Vec<(&Arm, &str)> = steps(run)
            .filter_map(|step| Some((step, find(&confirmation.arms, &without(&step.name))?)))
            .collect();
        let of_steps = lacking
            .iter()
            .map(|(_, without)| Contrast::pair(&last.name, without));
        let whole = Contrast::pair(&last.name, &first.name);
        let mut judged = court.judge(&of_steps.chain([whole]).collect::<Vec<_>>());
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

fn judge_control(
    rounds: &Rounds<'_>,
    outcome: Outcome,
    rules: &Rules,
    [again, first]: [&str; 2],
) -> Judged {
    let log_ratios = rounds.log_ratios(again, first, Metric::of_outcome(outcome));
    let effect = signed_rank::effect(&log_ratios, CONTROL_ALPHA);
    Judged {
        verdict: rules.control_verdict(effect.as_ref()),
        effect,
    }
}
