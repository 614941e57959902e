//! The project's own commands: `cargo xtask test`, `cargo xtask prove`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool prints"
)]

mod bench;
mod browser;
mod commands;
mod documents;
mod format;
mod fuzz;
mod packages;
mod prove;
mod release;
mod stage;
mod target;
mod tests_run;
mod tidy;
mod vm;

use std::process::ExitCode;
use std::thread;

use anyhow::bail;
use stage::Stages;
use sys::stop::{Again, StopSignal};

const USAGE: &str = "\
usage: cargo xtask <command>

  test [--strict] everything CI checks; needs root, installs the Debian packages that tests need; a test or
                  a guest that fails is run once more, alone, unless --strict
  prove [FILTER] [--keep] [--list]
                  what is too slow for every commit: verdicts against planted truths, and bench;
                  --keep writes what it prints to a file under results/, --list says how old the
                  newest log of each proof is, in days and in commits
  fmt             formats everything
  docs            the documents of the code, private items included; a warning is an error
  tidy [--rules]  the house rules: checked, or listed
  fuzz TARGET [SECONDS]
                  one fuzz target for longer than the five seconds that test gives it
  bench [FILTER] [--rounds N] [--against 'COMMAND with {port}']
                  our instruments beside the tools they replace, in interleaved rounds; --against
                  names a further server to stand beside `linerate serve`, and may be repeated
  vm COMMAND [--guest] [--put] [--get] [--append] [--disk] [--cut-at] [--timeout]
                  run, check or fetch a real kernel in an emulated machine; `vm help` says how
  release         a static program, a Debian package and their checksums, into dist/
  pictures        take the documents' pictures of the report anew, after a change to its looks";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        // The exit code that a shell gives for a program ended by a signal.
        let code = sys::stop::heard().map_or(2, |signal| 128 + signal);
        ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
    })
}

fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    match arguments {
        ["test"] => test(false),
        ["test", "--strict"] => test(true),
        ["prove", rest @ ..] => prove::run(rest),
        ["fmt"] => format::run().map(code),
        ["docs"] => documents::run().map(code),
        ["tidy", rest @ ..] => tidy::run(rest).map(code),
        ["fuzz", target] => fuzz::run_one(target, 60).map(code),
        ["fuzz", target, seconds] => fuzz::run_one(target, seconds.parse()?).map(code),
        ["bench", rest @ ..] => {
            let _stop = StopSignal::listen(Again::Kills)?;
            bench::run(rest).map(code)
        }
        // The studies of bench/ run this.
        ["lap", rest @ ..] => bench::lap::run(rest).map(|()| ExitCode::SUCCESS),
        ["vm", rest @ ..] => vm::run(rest),
        ["release"] => release::run().map(code),
        ["pictures"] => browser::take_pictures().map(code),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("`{}` is no command\n\n{USAGE}", arguments.join(" ")),
    }
}

fn code(well: bool) -> ExitCode {
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs every check of the first tier, those that find a failure most cheaply first.
fn test(is_strict: bool) -> anyhow::Result<ExitCode> {
    // Tests interrupt the programs that they start; these must not inherit from a shell that
    // interrupts are ignored.
    sys::stop::ignore_none();
    let _stop = StopSignal::listen(Again::Kills)?;
    packages::install_missing()?;
    browser::install_axe()?;
    let _claim = target::claim()?;
    let mut stages = Stages::default();
    format::check(&mut stages)?;
    // The tests are built in another folder of cargo's, with the CPU time that lints and documents
    // leave.
    thread::scope(|scope| {
        scope.spawn(|| target::idly(tests_run::build));
        let lints = ["clippy", "--workspace", "--all-targets", "--quiet"];
        let deny = ["--", "-D", "warnings"];
        stages.run("lints", target::cargo(&[&lints[..], &deny].concat()))?;
        stages.run("docs", documents::command())
    })?;
    tidy::stage(&mut stages)?;
    let mut tests = tests_run::cargo_tests(&mut stages, is_strict)?;
    vm::proofs::run(&mut stages, &mut tests, is_strict)?;
    fuzz::run(&mut stages)?;
    prove::sample(&mut stages, is_strict)?;
    Ok(stages.close(&tests))
}
