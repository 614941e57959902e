//! Turns what somebody asked to compare into the commands to run.

use std::collections::BTreeMap;
use std::time::SystemTime;

use model::bench::{
    BenchArm, BenchCommand, BenchRounds, BenchStudy, BenchWorkload, SavedBench, Tolerated,
};
use model::command::{CommandInput, CommandOutput};
use model::run::Begun;
use model::{CommandSpec, Facts, Role};

use super::parameters::{Parameter, combinations, fill};
use crate::refusal::Refusal;

/// The most commands of one comparison: each is run in every round.
pub(crate) const MOST_COMMANDS: usize = 200;
/// Title of the arm that runs the shell alone.
const SHELL_TITLE: &str = "(the shell alone)";

/// What to compare, as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchOrder {
    pub commands: Vec<String>,
    /// Names in place of the commands, in their order; one may hold parameters and serve all.
    pub names: Vec<String>,
    /// Command that all others are compared with; the first command if there is none.
    pub reference: Option<String>,
    pub reference_name: Option<String>,
    pub parameters: Vec<Parameter>,
    /// Run once for each command: `setup` before all rounds, `cleanup` after them.
    pub setup: Option<String>,
    pub cleanup: Option<String>,
    /// Run before and after each run: none, one for all, or one for each command.
    pub prepare: Vec<String>,
    pub conclude: Vec<String>,
    /// Assignments as a shell reads them: none, one for all, or one for each command.
    pub environment: Vec<String>,
    /// The program and arguments that a line is given to; empty to run commands directly. What runs
    /// beside the commands is then given to `sh`.
    pub shell: Vec<String>,
    pub input: CommandInput,
    /// None, one for all, or one for each command.
    pub output: Vec<CommandOutput>,
    pub timeout_ms: Option<u64>,
    pub tolerated: Tolerated,
    pub warmup_rounds: u32,
    pub rounds: BenchRounds,
    pub seed: u64,
    /// The smallest change worth knowing, as a share.
    pub smallest_effect: f64,
    /// The command line that repeats the comparison.
    pub command: String,
}

/// At least as many as the single look of a quick study has; at most as many as are judged in no
/// time.
pub const USUAL_ROUNDS: BenchRounds = BenchRounds {
    fewest: judge::QUICK_PAIRS,
    most: 200,
};

impl BenchOrder {
    /// Fills in the parameters and adds the arms that make the comparison honest: the reference
    /// again if there is something to compare, and the shell alone if a shell runs the commands.
    /// The machine has these facts, and the run begins at `begun`.
    ///
    /// # Errors
    /// If the order contradicts itself; the error says how.
    pub fn plan(self, facts: Facts, begun: SystemTime) -> Result<SavedBench, Refusal> {
        self.check_parameters()?;
        let count = self.count();
        if count > MOST_COMMANDS {
            return Err(Refusal(format!(
                "{count} commands are too many; compare at most {MOST_COMMANDS} at once"
            )));
        }
        let lines = self.lines();
        self.check_counts(lines.len())?;
        let mut arms = Vec::new();
        for (index, (line, values)) in lines.iter().enumerate() {
            arms.push(self.command(index, line, values)?);
        }
        let extra = [self.control(&arms), self.shell_alone(&arms)];
        arms.extend(extra.into_iter().flatten());
        Ok(self.described(arms, facts, begun))
    }

    fn described(self, arms: Vec<BenchCommand>, facts: Facts, begun: SystemTime) -> SavedBench {
        let study = BenchStudy {
            workload: BenchWorkload::default(),
            shell: self.shell,
            smallest_effect: self.smallest_effect,
            warmup_rounds: self.warmup_rounds,
            rounds: self.rounds,
            tolerated: self.tolerated,
            rounds_planned: None,
            memory_floor_bytes: 0,
        };
        let by = Begun::at(begun, self.command, self.seed);
        SavedBench::begun(study, arms, facts, by)
    }

    fn check_parameters(&self) -> Result<(), Refusal> {
        let own = [&self.setup, &self.cleanup].into_iter().flatten();
        let lists = [
            &self.commands,
            &self.prepare,
            &self.conclude,
            &self.names,
            &self.environment,
        ];
        let templates: Vec<&String> = lists.into_iter().flatten().chain(own).collect();
        for (index, parameter) in self.parameters.iter().enumerate() {
            let name = &parameter.name;
            let same = |other: &Parameter| other.name == *name;
            if self.parameters[..index].iter().any(same) {
                return Err(Refusal(format!("the parameter {name} is given twice")));
            }
            let wanted = parameter.placeholder();
            if !templates.iter().any(|template| template.contains(&wanted)) {
                return Err(Refusal(format!(
                    "no command has {wanted}; write it where the value of {name} should go"
                )));
            }
        }
        Ok(())
    }

    fn check_counts(&self, commands: usize) -> Result<(), Refusal> {
        for (option, given) in [
            ("--prepare", self.prepare.len()),
            ("--conclude", self.conclude.len()),
            ("--output", self.output.len()),
            ("--env", self.environment.len()),
            ("--command-name", self.named(commands)),
        ] {
            if given > 1 && given != commands {
                return Err(Refusal(format!(
                    "{given} values of {option} for {commands} commands; give one for all or one for each"
                )));
            }
        }
        Ok(())
    }

    /// Returns how many names are given, or 0 if that number is right. There may be fewer names
    /// than commands, unless parameters multiply the commands.
    fn named(&self, commands: usize) -> usize {
        let own = commands - usize::from(self.reference.is_some());
        let is_few = self.parameters.is_empty() && self.names.len() <= own;
        match self.names.len() {
            given if is_few || given == own => 0,
            given => given,
        }
    }

    /// Number of command lines, known before any is made.
    fn count(&self) -> usize {
        let values = self.parameters.iter().map(|of| of.values.len());
        let filled = values.fold(self.commands.len(), usize::saturating_mul);
        filled.saturating_add(usize::from(self.reference.is_some()))
    }

    /// Every command line with its parameters, the reference first.
    fn lines(&self) -> Vec<(&String, BTreeMap<String, String>)> {
        let reference = self.reference.iter().map(|line| (line, BTreeMap::new()));
        let filled = combinations(&self.parameters);
        let filled = filled.into_iter().flat_map(|values| {
            let lines = self.commands.iter();
            lines.map(move |line| (line, values.clone()))
        });
        reference.chain(filled).collect()
    }

    fn command(
        &self,
        index: usize,
        line: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<BenchCommand, Refusal> {
        let unseen = self.unseen(index, line, values);
        let line = fill(line, values);
        let environment = one_or_each(&self.environment, index);
        let assignments = environment.map(|given| fill(given, values));
        let environment = variables(assignments.as_deref().unwrap_or_default())?;
        let beside = |template: Option<&String>| {
            let spec = |template: &String| -> Result<_, Refusal> {
                let line = fill(template, values);
                is_given(&line)?;
                Ok(CommandSpec {
                    words: beside_words(&self.shell, line),
                    environment: environment.clone(),
                    ..CommandSpec::default()
                })
            };
            template.map(spec).transpose()
        };
        let role = if index == 0 {
            Role::Baseline
        } else {
            Role::Step
        };
        Ok(BenchCommand {
            spec: CommandSpec {
                words: self.words(&line)?,
                environment: environment.clone(),
                input: self.input.clone(),
                output: one_or_each(&self.output, index)
                    .cloned()
                    .unwrap_or_default(),
                timeout_ms: self.timeout_ms,
            },
            setup: beside(self.setup.as_ref())?,
            prepare: beside(one_or_each(&self.prepare, index))?,
            conclude: beside(one_or_each(&self.conclude, index))?,
            cleanup: beside(self.cleanup.as_ref())?,
            arm: BenchArm {
                name: (index + 1).to_string(),
                title: self.title(index, &line, (values, assignments.as_deref())) + &unseen,
                role,
                command: line,
                parameters: values.clone(),
                environment,
            },
        })
    }

    fn words(&self, line: &str) -> Result<Vec<String>, Refusal> {
        is_given(line)?;
        match self.shell.is_empty() {
            true => words(line),
            false => Ok(in_shell(&self.shell, line.to_owned())),
        }
    }

    /// The name that was given, or else the command as it would be typed.
    fn title(
        &self,
        index: usize,
        line: &str,
        (values, assignments): (&BTreeMap<String, String>, Option<&str>),
    ) -> String {
        let typed = || match assignments {
            None | Some("") => line.to_owned(),
            Some(assignments) => format!("{assignments} {line}"),
        };
        let name = self.name(index);
        name.map_or_else(typed, |name| fill(name, values))
    }

    /// The name that was given, with its parameters not filled in.
    fn name(&self, index: usize) -> Option<&String> {
        match index.checked_sub(usize::from(self.reference.is_some())) {
            None => self.reference_name.as_ref(),
            Some(own) if self.parameters.is_empty() => self.names.get(own),
            Some(own) => one_or_each(&self.names, own),
        }
    }

    /// Lists the parameters that are only in what runs around a command, ` (threads = 1)`. Without
    /// them its rows could not be told apart.
    fn unseen(&self, index: usize, line: &str, values: &BTreeMap<String, String>) -> String {
        let environment = one_or_each(&self.environment, index);
        let more = [environment, self.name(index)];
        let seen = more.into_iter().flatten().map(String::as_str).chain([line]);
        let unseen = self.parameters.iter().filter_map(|parameter| {
            let value = values.get(&parameter.name)?;
            let wanted = parameter.placeholder();
            let is_seen = seen.clone().any(|template| template.contains(&wanted));
            (!is_seen).then(|| format!("{} = {value}", parameter.name))
        });
        match &unseen.collect::<Vec<_>>()[..] {
            [] => String::new(),
            unseen => format!(" ({})", unseen.join(", ")),
        }
    }

    /// The reference a second time, if there is something to compare.
    fn control(&self, commands: &[BenchCommand]) -> Option<BenchCommand> {
        let reference = commands.first().filter(|_| commands.len() > 1)?;
        let mut control = reference.clone();
        (control.setup, control.cleanup) = (None, None);
        control.arm.name = "control".to_owned();
        control.arm.title = format!("{}, again", reference.arm.title);
        control.arm.role = Role::Control;
        Some(control)
    }

    /// The shell without anything to do, in the same rounds.
    fn shell_alone(&self, commands: &[BenchCommand]) -> Option<BenchCommand> {
        let like = commands.first().filter(|_| !self.shell.is_empty())?;
        Some(BenchCommand {
            spec: CommandSpec {
                words: in_shell(&self.shell, String::new()),
                // It prints nothing, and must not empty a file into which the commands print.
                output: CommandOutput::Null,
                ..like.spec.clone()
            },
            arm: BenchArm {
                name: "shell".to_owned(),
                title: SHELL_TITLE.to_owned(),
                role: Role::Floor,
                command: String::new(),
                parameters: BTreeMap::new(),
                environment: BTreeMap::new(),
            },
            setup: None,
            prepare: None,
            conclude: None,
            cleanup: None,
        })
    }
}

fn is_given(line: &str) -> Result<(), Refusal> {
    match line.trim() {
        "" => Err(Refusal(
            "a command is empty; give a program or a line for the shell".to_owned(),
        )),
        _ => Ok(()),
    }
}

fn in_shell(shell: &[String], line: String) -> Vec<String> {
    shell
        .iter()
        .cloned()
        .chain(["-c".to_owned(), line])
        .collect()
}

/// Builds the words of a command that is not measured, which has a shell in any case.
fn beside_words(shell: &[String], line: String) -> Vec<String> {
    match shell {
        [] => in_shell(&["sh".to_owned()], line),
        shell => in_shell(shell, line),
    }
}

/// Parses assignments such as `A=1 B='two words'`.
fn variables(assignments: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let wrong = || {
        Refusal(format!(
            "--env `{assignments}` is no assignment; write NAME=VALUE, and quotes around spaces"
        ))
    };
    let variable = |word: String| {
        let (name, value) = word.split_once('=').ok_or_else(wrong)?;
        let is_name = !name.is_empty() && !value.contains('\0') && !name.contains('\0');
        is_name
            .then(|| (name.to_owned(), value.to_owned()))
            .ok_or_else(wrong)
    };
    let words = shell_words::split(assignments).map_err(|_| wrong())?;
    words.into_iter().map(variable).collect()
}

/// Splits a line into words, with quotes as a shell reads them.
///
/// # Errors
/// If a quote is not closed.
pub fn words(line: &str) -> Result<Vec<String>, Refusal> {
    shell_words::split(line).map_err(|_| {
        Refusal(format!(
            "`{line}` has a quote that is not closed; close it, or use a shell"
        ))
    })
}

/// Returns the value for all, or the value at `index`.
fn one_or_each<T>(given: &[T], index: usize) -> Option<&T> {
    match given {
        [one] => Some(one),
        each => each.get(index),
    }
}
