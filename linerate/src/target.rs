//! The program that a study is to measure, as the command line names it.

use anyhow::{Context as _, bail};
use model::Service;
use model::service::{Protocol, Readiness};
use study::Targets;
use study::services;

/// What our own server is called in the words of a study.
const OURS: &str = "our own server";

/// Flags that choose the program under test.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct TargetFlags {
    /// Measure this service instead of our own server; `linerate service list` shows those there are
    #[arg(long, value_name = "SERVICE")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) trust: TrustFlag,
}

/// The word of whoever has read a service file.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct TrustFlag {
    /// Run the commands of a service or study that is not one of Linerate's own
    #[arg(long)]
    pub(crate) trust: bool,
}

impl TargetFlags {
    /// What the arms of a study drive, if it can be driven and its commands may be run.
    pub(crate) fn targets(&self, study: &str) -> anyhow::Result<Targets> {
        let Some(name) = &self.target else {
            return Ok(Targets::Ours);
        };
        let known = services::find(name)?;
        services::check_speaks(&known.service, Protocol::Http, study)?;
        self.trust.check(&known.service)?;
        Ok(Targets::Service(Box::new(known)))
    }

    /// The flag again, for the command that repeats a run.
    pub(crate) fn words(&self) -> String {
        let target = self.target.as_ref();
        let trust = if self.trust.trust { " --trust" } else { "" };
        target.map_or_else(String::new, |name| format!(" --target {name}{trust}"))
    }
}

impl TrustFlag {
    /// Whether the commands of a service may be run: they are ours, or somebody vouches for them.
    pub(crate) fn check(self, service: &Service) -> anyhow::Result<()> {
        if self.trust || services::is_our_own(service) {
            return Ok(());
        }
        bail!(
            "the service `{}` is none of Linerate's own, and it would run\n{}\nread its file, and \
             add --trust if you want that",
            service.name,
            commands(service).context("a service without a program")?
        )
    }
}

/// The commands that a service runs, a line each; `None` for one without a program.
fn commands(service: &Service) -> Option<String> {
    let program = service.find.programs.first()?;
    let started = service.start.program.as_ref().unwrap_or(program);
    let with = |program: &String, arguments: &[String]| {
        let program = std::slice::from_ref(program);
        line(&[program, arguments].concat())
    };
    let mut all = vec![with(program, &service.find.version_arguments)];
    all.extend(service.prepare.iter().map(|prepare| line(&prepare.command)));
    all.push(with(started, &service.start.arguments));
    if let Readiness::Command(words) = &service.ready.when {
        all.push(line(words));
    }
    Some(all.join("\n"))
}

fn line(words: &[String]) -> String {
    let words = words.iter().map(|word| word.escape_debug().to_string());
    format!("  {}", words.collect::<Vec<_>>().join(" "))
}

/// What the program under test is called in sentences.
pub(crate) fn name(targets: &Targets) -> &str {
    match targets {
        Targets::Service(known) => &known.service.title,
        Targets::Ours | Targets::Running(_) => OURS,
    }
}
