//! The project's own commands: `cargo xtask test`, `cargo xtask prove`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool prints"
)]

mod bench;
mod packages;
mod prove;
mod stage;
mod target;
mod tests_run;

use std::process::ExitCode;

use stage::Stages;

const USAGE: &str = "\
usage: cargo xtask <command>

  test            everything CI checks; needs root, installs the Debian packages that tests need
  prove [FILTER]  what is too slow for every commit: verdicts against planted truths, and bench
  bench [FILTER]  our instruments beside the tools they replace, in interleaved pairs";

fn main() -> ExitCode {
    let command = std::env::args().nth(1);
    let filter = std::env::args().nth(2).unwrap_or_default();
    let outcome = match command.as_deref() {
        Some("test") => test(),
        Some("prove") => prove::run(&filter).map(code),
        Some("bench") => bench::run(&filter).map(code),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::from(2)
    })
}

fn code(well: bool) -> ExitCode {
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Every check of the first tier, in the order in which a failure is cheapest to learn.
fn test() -> anyhow::Result<ExitCode> {
    packages::install_missing()?;
    let mut stages = Stages::default();
    stages.run("format", "cargo", &["fmt", "--all", "--check"])?;
    let lints = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    stages.run("lints", "cargo", &lints)?;
    let tests = tests_run::cargo_tests(&mut stages)?;
    Ok(stages.close(&tests))
}
