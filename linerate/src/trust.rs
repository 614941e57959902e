//! Services and studies are files that anybody may have written, and they run commands. Ours are run;
//! another's only for whoever says to have read it, and what it would run is shown first.

use std::path::Path;

use anyhow::bail;
use model::bench::SavedBench;
use model::command::CommandOutput;
use model::command_study::{Factor, LevelValue};
use model::service::{Find, Readiness};
use model::{CommandStudy, Service};
use study::{catalogue, services};

/// The word of whoever has read a file of commands.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct TrustFlag {
    /// Run the commands of a service or study that is not one of Linerate's own, and load its libraries
    #[arg(long)]
    pub(crate) trust: bool,
}

impl TrustFlag {
    /// Whether the commands of a service may be run: they are ours, or somebody vouches for them.
    pub(crate) fn check(self, service: &Service) -> anyhow::Result<()> {
        if self.trust || services::is_our_own(service) {
            return Ok(());
        }
        refuse("service", &service.name, &of_service(service))
    }

    /// Whether the commands of a study may be run.
    pub(crate) fn check_study(self, study: &CommandStudy) -> anyhow::Result<()> {
        if self.trust || catalogue::is_our_own(study) {
            return Ok(());
        }
        refuse("study", &study.name, &of_study(study))
    }

    /// Whether the commands of a comparison may be run that a folder has.
    pub(crate) fn check_bench(self, run: &SavedBench, folder: &Path) -> anyhow::Result<()> {
        if self.trust {
            return Ok(());
        }
        refuse("comparison", &folder.display().to_string(), &of_bench(run))
    }

    /// Whether the load may be put on that a folder has: it says itself where.
    pub(crate) fn check_load(self, command: &str, folder: &Path) -> anyhow::Result<()> {
        if self.trust {
            return Ok(());
        }
        bail!(
            "{} would have this load put on:\n  {command}\nadd --trust if you want that",
            folder.display()
        )
    }
}

/// What a file would have run, and what it puts before those commands.
#[derive(Default)]
struct Runs {
    commands: Vec<Vec<String>>,
    beside: Vec<(String, Vec<String>)>,
}

impl Runs {
    fn add(&mut self, words: [&[String]; 3]) {
        self.commands.push(words.concat());
    }

    fn add_beside(&mut self, what: impl Into<String>, words: Vec<String>) {
        let beside = (what.into(), words);
        if !beside.1.is_empty() && !self.beside.contains(&beside) {
            self.beside.push(beside);
        }
    }

    /// How a program is asked for its version, as it is found.
    fn add_find(&mut self, find: &Find) {
        self.add([&any_of(find), &find.version_arguments, &[]]);
        self.add_beside("programs also looked for in", find.places.clone());
    }

    /// Each command on a line of its own, and then what is put before them.
    fn lines(&self) -> String {
        let commands = self.commands.iter().map(|words| line("", words, " "));
        let beside = self.beside.iter();
        let beside = beside.map(|(what, words)| line(&format!("{what}: "), words, ", "));
        let mut lines: Vec<String> = commands.collect();
        lines.dedup();
        let with = if self.beside.is_empty() { "" } else { "\nwith" };
        format!("{}{with}{}", lines.concat(), beside.collect::<String>())
    }
}

/// One word for the program that is found, under whichever of these names.
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
    for way in start.on_socket.iter().chain([&start.on_address]) {
        runs.add([&program, &start.arguments, way]);
    }
    if let Readiness::Command(words) = &service.ready.when {
        runs.add([words, &[], &[]]);
    }
    let environment = service.environment.iter();
    let environment = environment.map(|(name, value)| format!("{name}={value}"));
    runs.add_beside("environment", environment.collect());
    runs.add_beside("files", service.files.keys().cloned().collect());
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
    let all = lists.into_iter().flatten().chain(evidence);
    for words in all.filter(|words| !words.is_empty()) {
        runs.add([words, &[], &[]]);
    }
    for factor in &study.factors {
        runs.add_beside(format!("{{{}}} is one of", factor.name), values(factor));
    }
    runs.add_beside("files", study.files.keys().cloned().collect());
    runs
}

fn of_bench(run: &SavedBench) -> Runs {
    let mut runs = Runs::default();
    for arm in &run.arms {
        let beside = [&arm.setup, &arm.prepare, &arm.conclude, &arm.cleanup];
        let specs = beside.into_iter().flatten().chain([&arm.spec]);
        for spec in specs {
            runs.add([&spec.words, &[], &[]]);
            let variables = spec.environment.iter();
            let set: Vec<String> = variables
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            if !set.is_empty() {
                runs.add_beside("environment", set);
            }
            if let CommandOutput::File(path) = &spec.output {
                runs.add_beside("output to", vec![path.display().to_string()]);
            }
        }
    }
    runs
}

/// What a factor puts into commands.
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

/// What a study of commands would run, whoever's it is.
pub(crate) fn would_run(study: &CommandStudy) -> String {
    let (name, runs) = (&study.name, of_study(study));
    format!("the study `{name}` would run{}", runs.lines())
}

fn refuse(kind: &str, name: &str, runs: &Runs) -> anyhow::Result<()> {
    bail!(
        "the {kind} `{name}` is none of Linerate's own, and it would run{}\nread its file, and \
         add --trust if you want that",
        runs.lines()
    )
}

/// A line of its own, in which what the file says can move no terminal.
fn line(before: &str, words: &[String], between: &str) -> String {
    let words = words.iter().map(|word| word.escape_debug().to_string());
    format!("\n  {before}{}", words.collect::<Vec<_>>().join(between))
}
