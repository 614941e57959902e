//! Runs a plan round by round: warm-up, rounds in random order, and what belongs around them.

use model::bench::{BenchRecord, BenchRun};
use model::command::CommandTrouble;
use model::message::Failure;
use model::{CommandReading, CommandSpec};

use super::plan::{BenchPlan, PlannedArm};
use crate::clock::Clock;
use crate::order;

/// What all commands together are given where nobody says how many rounds, times their number, ms.
const BUDGET_MS: u64 = 3000;

/// Who runs commands: the machine, or a test.
pub trait Hands {
    /// Runs one command to its end.
    ///
    /// # Errors
    /// When it cannot be run, or when somebody asked us to stop.
    fn run(&mut self, spec: &CommandSpec) -> Result<CommandReading, CommandTrouble>;

    /// The peak memory of a child that does nothing.
    ///
    /// # Errors
    /// When no child can be made.
    fn memory_floor_bytes(&mut self) -> Result<u64, CommandTrouble>;
}

/// Told how far it has got.
pub trait BenchProgress {
    /// A stretch of work has begun, such as `warm-up`.
    fn phase(&mut self, what: &str);
    /// The number of rounds is settled.
    fn planned(&mut self, rounds: u32, arms: usize, expected_ms: u64);
    /// So many of the planned runs are done.
    fn run_done(&mut self, done: usize, planned: usize, left_ms: u64);
}

/// How it ended; what was measured before stands in the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    Done,
    /// Somebody asked us to stop.
    Stopped,
    Failed(Failure),
}

/// One comparison under way.
struct Drive<'a, H, P, C> {
    plan: &'a BenchPlan,
    hands: &'a mut H,
    progress: &'a mut P,
    clock: &'a C,
    record: BenchRecord,
}

/// Runs the plan. What was measured before a failure or a stop is kept, and what cleans up is run
/// whatever happened.
pub fn run(
    plan: &BenchPlan,
    hands: &mut impl Hands,
    progress: &mut impl BenchProgress,
    clock: &impl Clock,
) -> (BenchRecord, Ending) {
    let mut drive = Drive {
        plan,
        hands,
        progress,
        clock,
        record: empty_record(plan),
    };
    let measured = drive.measure();
    let cleaned = drive.clean_up();
    let ending = match measured.and(cleaned) {
        Ok(()) => Ending::Done,
        Err(CommandTrouble::Stopped) => Ending::Stopped,
        Err(CommandTrouble::Failed(failure)) => Ending::Failed(failure),
    };
    (drive.record, ending)
}

fn empty_record(plan: &BenchPlan) -> BenchRecord {
    let order = &plan.order;
    BenchRecord {
        linerate_version: order.linerate_version.clone(),
        seed: order.seed,
        shell: order.shell.clone(),
        smallest_effect: order.smallest_effect,
        warmup_rounds: order.warmup_rounds,
        rounds_planned: order.rounds.fewest,
        memory_floor_bytes: 0,
        arms: plan.arms.iter().map(|arm| arm.arm.clone()).collect(),
        runs: Vec::new(),
    }
}

impl<H: Hands, P: BenchProgress, C: Clock> Drive<'_, H, P, C> {
    fn measure(&mut self) -> Result<(), CommandTrouble> {
        let plan = self.plan;
        for arm in &plan.arms {
            self.beside("--setup", arm, arm.setup.as_ref())?;
        }
        self.warm_up()?;
        self.take_floor()?;
        let most = plan.order.rounds.most.max(plan.order.rounds.fewest);
        let orders = order::rounds(plan.arms.len(), most, plan.order.seed);
        let begun_ms = self.clock.now_ms();
        for (round, order) in (0..).zip(&orders) {
            for (position, index) in (0..).zip(order) {
                let reading = self.once(&plan.arms[*index])?;
                self.record.runs.push(BenchRun {
                    arm: plan.arms[*index].arm.name.clone(),
                    round,
                    position,
                    reading,
                });
                self.say_how_far(begun_ms);
            }
            if round == 0 {
                self.settle_rounds(begun_ms);
            }
            if round + 1 >= self.record.rounds_planned {
                break;
            }
        }
        self.take_floor()
    }

    fn warm_up(&mut self) -> Result<(), CommandTrouble> {
        let plan = self.plan;
        if plan.order.warmup_rounds > 0 {
            self.progress.phase("warm-up");
        }
        for _ in 0..plan.order.warmup_rounds {
            for arm in &plan.arms {
                self.once(arm)?;
            }
        }
        self.progress.phase("the first round");
        Ok(())
    }

    /// Our own memory grows with what we know, so the floor is taken before and after.
    fn take_floor(&mut self) -> Result<(), CommandTrouble> {
        let floor = self.hands.memory_floor_bytes()?;
        self.record.memory_floor_bytes = self.record.memory_floor_bytes.max(floor);
        Ok(())
    }

    /// Where nobody said how many: as many as the first round lets expect within the budget.
    fn settle_rounds(&mut self, begun_ms: u64) {
        let round_ms = (self.clock.now_ms() - begun_ms).max(1);
        let arms = self.plan.arms.len();
        let affordable = BUDGET_MS * arms as u64 / round_ms;
        let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
        let wanted = self.plan.order.rounds;
        let rounds = affordable.min(wanted.most).max(wanted.fewest);
        self.record.rounds_planned = rounds;
        let left_rounds = u64::from(rounds.saturating_sub(1));
        self.progress.planned(rounds, arms, round_ms * left_rounds);
    }

    fn say_how_far(&mut self, begun_ms: u64) {
        let done = self.record.runs.len();
        let planned = self.record.rounds_planned as usize * self.plan.arms.len();
        let elapsed_ms = self.clock.now_ms() - begun_ms;
        let left = planned.saturating_sub(done) as u64;
        let left_ms = elapsed_ms * left / done.max(1) as u64;
        self.progress.run_done(done, planned, left_ms);
    }

    /// One run with what comes before and after it; a failure that is not tolerated ends it all.
    fn once(&mut self, arm: &PlannedArm) -> Result<CommandReading, CommandTrouble> {
        self.beside("--prepare", arm, arm.prepare.as_ref())?;
        let reading = self.hands.run(&arm.spec)?;
        self.beside("--conclude", arm, arm.conclude.as_ref())?;
        if self.plan.order.tolerated.admits(reading.end) {
            return Ok(reading);
        }
        let advice = match reading.end {
            model::command::CommandEnd::TimedOut => "raise --timeout, or see what it waits for",
            _ => "mend it, or count failed runs too with --ignore-failure",
        };
        Err(failed(&format!("`{}`", arm.arm.command), &reading, advice))
    }

    fn beside(
        &mut self,
        option: &str,
        arm: &PlannedArm,
        spec: Option<&CommandSpec>,
    ) -> Result<(), CommandTrouble> {
        let Some(spec) = spec else { return Ok(()) };
        let reading = self.hands.run(spec)?;
        if reading.end.is_success() {
            return Ok(());
        }
        let line = spec.words.last().map_or("", String::as_str);
        let who = format!("{option} `{line}` of `{}`", arm.arm.command);
        Err(failed(
            &who,
            &reading,
            "mend it: nothing is measured without it",
        ))
    }

    fn clean_up(&mut self) -> Result<(), CommandTrouble> {
        let plan = self.plan;
        let cleaned = plan.arms.iter().map(|arm| {
            let spec = arm.cleanup.as_ref();
            self.beside("--cleanup", arm, spec)
        });
        cleaned.collect::<Vec<_>>().into_iter().collect()
    }
}

fn failed(who: &str, reading: &CommandReading, advice: &str) -> CommandTrouble {
    let words = match reading.last_words.as_str() {
        "" => String::new(),
        words => format!("; its last words:\n{words}\n"),
    };
    CommandTrouble::Failed(Failure {
        what: format!("{who} {}{words}", reading.end.words()),
        advice: advice.to_owned(),
    })
}
