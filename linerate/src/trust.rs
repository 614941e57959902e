//! Decides whose commands are run. Services and studies are files that anybody may have written,
//! and they run commands. Linerate's own are run as they are. Any other is refused, and what it
//! would run is shown, until the user vouches for it with `--trust`.

use std::path::Path;

use anyhow::bail;
use model::bench::SavedBench;
use model::command::CommandOutput;
use model::command_study::{Factor, LevelValue};
use model::service::{Find, Readiness};
use model::{CommandStudy, Service};
use study::{catalogue, services};

/// The flag by which a user vouches for a file of commands.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct TrustFlag {
    /// Run the commands of a service or study that is not one of Linerate's own, and load its libraries
    #[arg(long)]
    pub(crate) trust: bool,
}

impl TrustFlag {
    /// Refuses the commands of a service unless it is Linerate's own or the user vouches for them.
    pub(crate) fn check(self, service: &Service) -> anyhow::Result<()> {
        if self.trust || services::is_our_own(service) {
            return Ok(());
        }
        refuse("service", &service.name, &of_service(service))
    }

    /// Refuses the commands of a study unless it is Linerate's own or the user vouches for them.
    pub(crate) fn check_study(self, study: &CommandStudy) -> anyhow::Result<()> {
        if self.trust || catalogue::is_our_own(study) {
            return Ok(());
        }
        refuse("study", &study.name, &of_study(study))
    }

    /// Refuses the commands of a saved comparison unless the user vouches for them.
    pub(crate) fn check_bench(self, run: &SavedBench, folder: &Path) -> anyhow::Result<()> {
        if self.trust {
            return Ok(());
        }
        refuse("comparison", &folder.display().to_string(), &of_bench(run))
    }

    /// Refuses to go on with a saved load unless the user vouches for it: the command in the folder
    /// decides which server is loaded.
    pub(crate) fn check_load(self, command: &str, folder: &Path) -> anyhow::Result<()> {
        if self.trust {
            return Ok(());
        }
        bail!(
            "the run in {} would start this load:\n  {command}\nadd --trust to allow that",
            folder.display()
        )
    }
}

/// The commands that a file would run, and what it gives to them.
#[derive(Default)]
struct Runs {
    commands: Vec<Vec<String>>,
    inputs: Vec<(String, Vec<String>)>,
}

impl Runs {
    fn add(&mut self, words: [&[String]; 3]) {
        self.commands.push(words.concat());
    }

    fn add_input(&mut self, what: impl Into<String>, words: Vec<String>) {
        let input = (what.into(), words);
        if !input.1.is_empty() && !self.inputs.contains(&input) {
            self.inputs.push(input);
        }
    }

    /// Adds the command that asks a program for its version, and where the program is looked for.
    fn add_find(&mut self, find: &Find) {
        self.add([&any_of(find), &find.version_arguments, &[]]);
        self.add_input("programs also looked for in", find.places.clone());
    }

    /// Each command on a line of its own, then the inputs that they are given.
    fn lines(&self) -> String {
        let commands = self.commands.iter().map(|words| line("", words, " "));
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|(what, words)| line(&format!("{what}: "), words, ", "));
        let mut lines: Vec<String> = commands.collect();
        lines.dedup();
        let with = if self.inputs.is_empty() { "" } else { "\nwith" };
        format!("{}{with}{}", lines.concat(), inputs.collect::<String>())
    }
}

/// One word that shows the names under which the program is looked for.
fn any_of(find: &Find) -> [String; 1] {
    [agent::service::names(find).join("|")]
}

fn of_service(service: &Service) -> Runs {
    let mut runs = Runs::default();
    runs.add_find(&service.find);
    for prepare in &service.prepare {
        runs.add([&prepare.command, &[], &[]]);
    }
    let start = &service.start;
    let program = start
        .program
        .clone()
        .map_or_else(|| any_of(&service.find), |path| [path]);
    for listening in start.on_socket.iter().chain([&start.on_address]) {
        runs.add([&program, &start.arguments, listening]);
    }
    if let Readiness::Command(words) = &service.ready.when {
        runs.add([words, &[], &[]]);
    }
    let environment = service.environment.iter();
    let environment = environment.map(|(name, value)| format!("{name}={value}"));
    runs.add_input("environment", environment.collect());
    runs.add_input("files", service.files.keys().cloned().collect());
    runs
}

fn of_study(study: &CommandStudy) -> Runs {
    let mut runs = Runs::default();
    for need in &study.needs {
        runs.add_find(&need.find);
    }
    let workload = &study.workload;
    let timed = std::slice::from_ref(&workload.run);
    let server = std::slice::from_ref(&workload.server);
    let lists = [
        &workload.build[..],
        &workload.prepare,
        server,
        timed,
        &workload.cleanup,
    ];
    let evidence = study.evidence.iter().map(|piece| &piece.run);
    let commands = lists.into_iter().flatten().chain(evidence);
    for words in commands.filter(|words| !words.is_empty()) {
        runs.add([words, &[], &[]]);
    }
    for factor in &study.factors {
        runs.add_input(format!("{{{}}} is one of", factor.name), values(factor));
    }
    runs.add_input("files", study.files.keys().cloned().collect());
    runs
}

fn of_bench(run: &SavedBench) -> Runs {
    let mut runs = Runs::default();
    for arm in &run.arms {
        let untimed = [&arm.setup, &arm.prepare, &arm.conclude, &arm.cleanup];
        let specs = untimed.into_iter().flatten().chain([&arm.spec]);
        for spec in specs {
            runs.add([&spec.words, &[], &[]]);
            let variables = spec.environment.iter();
            let set: Vec<String> = variables
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            if !set.is_empty() {
                runs.add_input("environment", set);
            }
            if let CommandOutput::File(path) = &spec.output {
                runs.add_input("output to", vec![path.display().to_string()]);
            }
        }
    }
    runs
}

/// The values that a factor puts into commands, one per level.
fn values(factor: &Factor) -> Vec<String> {
    let value = |value: &Option<LevelValue>, name: &String| match value {
        None => name.clone(),
        Some(LevelValue::Text(text)) => text.clone(),
        Some(LevelValue::Words(words)) => words.join(" "),
    };
    let levels = factor.levels.iter();
    levels
        .map(|level| value(&level.value, &level.name))
        .collect()
}

/// Says what a study of commands would run, whether or not it is Linerate's own.
pub(crate) fn would_run(study: &CommandStudy) -> String {
    let (name, runs) = (&study.name, of_study(study));
    format!("the study `{name}` would run{}", runs.lines())
}

fn refuse(kind: &str, name: &str, runs: &Runs) -> anyhow::Result<()> {
    bail!(
        "the {kind} `{name}` is not one of Linerate's own; it would run{}\nread its file, and \
         add --trust to allow that",
        runs.lines()
    )
}

/// An indented line whose words are escaped, so that the file's text cannot control the terminal.
fn line(before: &str, words: &[String], between: &str) -> String {
    let words = words.iter().map(|word| word.escape_debug().to_string());
    format!("\n  {before}{}", words.collect::<Vec<_>>().join(between))
}
