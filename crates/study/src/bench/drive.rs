//! Runs a plan round by round: warm-up, rounds in random order, and what belongs around them.

use model::bench::{BenchCommand, BenchRecord, BenchStudy, SavedBench};
use model::command::CommandTrouble;
use model::failure::Failure;
use model::{CommandReading, CommandSpec};

use crate::clock::Clock;
use crate::plan::{Design as _, Planned};
use crate::rounds::{self, Hands, SavedBlocks, SoFar};

/// Time for all rounds if nobody says how many, for each command, ms.
const BUDGET_MS: u64 = 3000;

/// Environment variable that tells a command, and what runs around it, which run it is. hyperfine
/// gives it this name.
const ITERATION: &str = "HYPERFINE_ITERATION";

/// Who runs commands: the machine, or a test.
pub trait RunsCommands {
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

/// Receives the progress of a comparison.
pub trait BenchProgress {
    /// A stretch of work has begun, such as `warm-up`.
    fn phase(&mut self, what: &str);
    /// The number of rounds is settled.
    fn planned(&mut self, rounds: u32, arms: usize, expected_ms: u64);
    /// `done` of the `planned` runs are done.
    fn run_done(&mut self, done: usize, planned: usize, left_ms: u64);
}

/// How a comparison ended. What was measured before is in the record.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    Done,
    /// Somebody asked us to stop.
    Stopped,
    Failed(Failure),
}

/// One comparison under way.
struct Drive<'a, H, P, C> {
    run: &'a SavedBench,
    /// The study of the run, updated as rounds and memory floor become known.
    study: BenchStudy,
    hands: &'a mut H,
    progress: &'a mut P,
    clock: &'a C,
}

/// Runs what is left of a comparison as it is planned. What was measured before a failure or a stop
/// is saved, and the cleanup commands run whatever happened.
pub fn run(
    run: &SavedBench,
    mut saved: SavedBlocks<CommandReading>,
    hands: &mut impl RunsCommands,
    progress: &mut impl BenchProgress,
    clock: &impl Clock,
) -> (BenchRecord, Ending) {
    let mut drive = Drive {
        run,
        study: run.study.clone(),
        hands,
        progress,
        clock,
    };
    let ending = drive.go(&mut saved);
    (BenchRecord::of(&drive.described(), &saved.blocks), ending)
}

impl<H: RunsCommands, P: BenchProgress, C: Clock> Drive<'_, H, P, C> {
    fn go(&mut self, saved: &mut SavedBlocks<CommandReading>) -> Ending {
        let remaining = self.run.remaining(&saved.blocks);
        if remaining.is_empty() {
            return Ending::Done;
        }
        let measured = self.measure(remaining, saved);
        let cleaned = self.clean_up();
        match measured.and(cleaned) {
            Ok(()) => Ending::Done,
            Err(CommandTrouble::Stopped) => Ending::Stopped,
            Err(CommandTrouble::Failed(failure)) => Ending::Failed(failure),
        }
    }

    fn measure(
        &mut self,
        remaining: Vec<Planned>,
        saved: &mut SavedBlocks<CommandReading>,
    ) -> Result<(), CommandTrouble> {
        for arm in &self.run.arms {
            self.beside("--setup", arm, arm.setup.as_ref())?;
        }
        self.warm_up()?;
        self.measure_floor()?;
        let clock = self.clock;
        rounds::go_through(self, remaining, saved, clock)?;
        self.measure_floor()?;
        Ok(saved.describe(&self.described())?)
    }

    fn described(&self) -> SavedBench {
        SavedBench {
            study: self.study.clone(),
            ..self.run.clone()
        }
    }

    fn warm_up(&mut self) -> Result<(), CommandTrouble> {
        if self.study.warmup_rounds > 0 {
            self.progress.phase("warm-up");
        }
        for round in 0..self.study.warmup_rounds {
            for arm in &self.run.arms {
                self.once(arm, &format!("warmup-{round}"))?;
            }
        }
        self.progress.phase("the first round");
        Ok(())
    }

    /// Measures the memory floor. Our own memory grows with what we record, so this is done before
    /// and after.
    fn measure_floor(&mut self) -> Result<(), CommandTrouble> {
        let floor = self.hands.memory_floor_bytes()?;
        self.study.memory_floor_bytes = self.study.memory_floor_bytes.max(floor);
        Ok(())
    }

    /// Settles the number of rounds if nobody gave it: as many as fit into the budget, judging by
    /// the first round.
    fn settle_rounds(&mut self, round_ms: u64) {
        let round_ms = round_ms.max(1);
        let arms = self.run.arms.len();
        let affordable = BUDGET_MS * arms as u64 / round_ms;
        let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
        let wanted = self.study.rounds;
        let rounds = affordable.min(wanted.most).max(wanted.fewest);
        self.study.rounds_planned = Some(rounds);
        let left_rounds = u64::from(rounds.saturating_sub(1));
        self.progress.planned(rounds, arms, round_ms * left_rounds);
    }

    /// Does one run with what comes before and after it. A failure that is not tolerated ends the
    /// comparison.
    fn once(
        &mut self,
        arm: &BenchCommand,
        iteration: &str,
    ) -> Result<CommandReading, CommandTrouble> {
        let with_iteration = |spec: &CommandSpec| {
            let mut spec = spec.clone();
            let (name, value) = (ITERATION.to_owned(), iteration.to_owned());
            spec.environment.insert(name, value);
            spec
        };
        self.beside(
            "--prepare",
            arm,
            arm.prepare.as_ref().map(with_iteration).as_ref(),
        )?;
        let reading = self.hands.run(&with_iteration(&arm.spec))?;
        self.beside(
            "--conclude",
            arm,
            arm.conclude.as_ref().map(with_iteration).as_ref(),
        )?;
        if self.study.tolerated.admits(reading.end) {
            return Ok(reading);
        }
        let advice = match reading.end {
            model::command::CommandEnd::TimedOut => "raise --timeout, or see what it waits for",
            _ => "fix it, or count failed runs too with --ignore-failure",
        };
        Err(failed(&format!("`{}`", arm.arm.command), &reading, advice))
    }

    fn beside(
        &mut self,
        option: &str,
        arm: &BenchCommand,
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
            "fix it: nothing is measured without it",
        ))
    }

    fn clean_up(&mut self) -> Result<(), CommandTrouble> {
        let run = self.run;
        let cleaned = run.arms.iter().map(|arm| {
            let spec = arm.cleanup.as_ref();
            self.beside("--cleanup", arm, spec)
        });
        cleaned.collect::<Vec<_>>().into_iter().collect()
    }
}

impl<H: RunsCommands, P: BenchProgress, C: Clock> Hands for Drive<'_, H, P, C> {
    type Reading = CommandReading;
    type Error = CommandTrouble;

    fn measure(
        &mut self,
        next: &Planned,
        _saved: &SavedBlocks<CommandReading>,
    ) -> Result<Option<CommandReading>, CommandTrouble> {
        let planned = self.study.rounds_planned;
        if planned.is_some_and(|planned| next.round >= planned) {
            return Ok(None);
        }
        let arm = &self.run.arms[next.arm];
        self.once(arm, &next.round.to_string()).map(Some)
    }

    fn measured(
        &mut self,
        saved: &SavedBlocks<CommandReading>,
        so_far: SoFar,
    ) -> Result<(), CommandTrouble> {
        let (arms, done) = (self.run.arms.len(), saved.blocks.len());
        let rounds = self
            .study
            .rounds_planned
            .unwrap_or(self.study.rounds.fewest);
        let planned = rounds as usize * arms;
        let left_ms = so_far.left_ms(planned.saturating_sub(done));
        self.progress.run_done(done, planned, left_ms);
        if self.study.rounds_planned.is_none() && so_far.done == arms {
            self.settle_rounds(so_far.left_ms(arms));
            saved.describe(&self.described())?;
        }
        Ok(())
    }
}

fn failed(who: &str, reading: &CommandReading, advice: &str) -> CommandTrouble {
    CommandTrouble::Failed(Failure {
        what: format!("{who} {}", reading.ending()),
        advice: advice.to_owned(),
    })
}
