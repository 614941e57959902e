//! Runs every fuzz target for a few seconds, from its seeds and from what earlier runs found.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use anyhow::{Context as _, bail};

use crate::stage::Stages;
use crate::target;

/// The programs of `fuzz/src/bin`, each with the bytes of its longest input. Longer inputs take
/// more time and find nothing new.
const TARGETS: [(&str, u32); 12] = [
    ("agent_protocol", 4096),
    ("file_request", 1024),
    ("http2", 1024),
    ("http2_answers", 32),
    ("iperf3", 2048),
    ("request", 1024),
    ("response", 4096),
    ("run_folder", 32 * 1024),
    ("study_file", 8192),
    ("tls_handshake", 64),
    ("tls_raw", 2048),
    // Four turns.
    ("tls_records", 17),
];
/// Time for every target.
const SECONDS: u32 = 5;
/// An input that takes this long is a fault; the slowest takes milliseconds.
const SLOWEST_SECONDS: u32 = 10;
/// Text before the number of inputs in the fuzzer's statistics.
const INPUTS: &str = "stat::number_of_executed_units:";

/// Builds the targets and runs them, as many at once as there are CPUs, each as a stage.
pub(crate) fn run(stages: &mut Stages) -> anyhow::Result<()> {
    let begun = sys::clock::now();
    println!("== fuzz build");
    let built = build()?;
    stages.note("fuzz build", begun, built)?;
    if !built {
        println!("the fuzz targets were not run");
        return Ok(());
    }
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    for batch in TARGETS.chunks(cpus) {
        let begun = sys::clock::now();
        let start = |(name, longest_bytes): &(&'static str, u32)| {
            let mut fuzzer = fuzzer(name, *longest_bytes, SECONDS)?;
            let pipes = fuzzer.stdout(Stdio::piped()).stderr(Stdio::piped());
            Ok((*name, pipes.spawn()?))
        };
        let started: Vec<_> = batch.iter().map(start).collect::<anyhow::Result<_>>()?;
        for (name, fuzzer) in started {
            println!("== fuzz {name}");
            let well = found_nothing(&fuzzer.wait_with_output()?)?;
            stages.note(&format!("fuzz {name}"), begun, well)?;
        }
    }
    Ok(())
}

/// Builds the targets and runs one of them for some seconds; true when it found nothing.
pub(crate) fn run_one(name: &str, seconds: u32) -> anyhow::Result<bool> {
    let known = TARGETS.iter().find(|(known, _)| *known == name);
    let Some((name, longest_bytes)) = known else {
        let names = TARGETS.map(|(name, _)| name).join(", ");
        bail!("there is no fuzz target `{name}`; there are {names}");
    };
    Ok(build()? && found_nothing(&fuzzer(name, *longest_bytes, seconds)?.output()?)?)
}

/// Whether a fuzzer found nothing. Its words are printed only when it found something.
fn found_nothing(output: &Output) -> anyhow::Result<bool> {
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let inputs = words.lines().find_map(|line| line.strip_prefix(INPUTS));
        println!("{} inputs", inputs.context("no count of inputs")?.trim());
    } else {
        println!("{words}\nagain: the target with the path above as its argument");
    }
    Ok(output.status.success())
}

/// Builds all targets, in the folder `fuzz`: only there does cargo read `fuzz/.cargo`, which has
/// the compiler flags that count coverage.
pub(crate) fn build() -> anyhow::Result<bool> {
    let status = target::cargo(&["build", "--release", "--quiet", "--bins"])
        .current_dir(folder())
        .env("CARGO_TARGET_DIR", target::directory().join("fuzz"))
        .env_remove("RUSTFLAGS")
        .status()
        .context("cargo could not be started")?;
    Ok(status.success())
}

/// The command that runs a target. It writes what it finds into the target directory, never among
/// the seeds.
fn fuzzer(name: &str, longest_bytes: u32, seconds: u32) -> anyhow::Result<Command> {
    let target = target::directory().join("fuzz");
    let found = target.join("found").join(name);
    std::fs::create_dir_all(&found)?;
    let mut command = Command::new(target.join(triple()).join("release").join(name));
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={SLOWEST_SECONDS}"))
        .arg(format!("-max_len={longest_bytes}"))
        .arg(format!(
            "-artifact_prefix={}/crash-{name}-",
            target.display()
        ))
        .args(["-verbosity=0", "-print_final_stats=1"])
        .arg(found)
        .arg(folder().join("seeds").join(name));
    Ok(command)
}

fn folder() -> PathBuf {
    target::workspace().join("fuzz")
}

/// The folder that cargo builds into: the target triple that `fuzz/.cargo/config.toml` names.
fn triple() -> &'static Path {
    Path::new("x86_64-unknown-linux-gnu")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_fuzz_target_is_run_and_begins_with_seeds_of_its_own() {
        let names = |inner: &str| {
            let entries = std::fs::read_dir(folder().join(inner)).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            let names = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
            names.collect::<BTreeSet<_>>()
        };
        let run: BTreeSet<_> = TARGETS.map(|(name, _)| name.to_owned()).into();
        assert_eq!((names("src/bin"), names("seeds")), (run.clone(), run));
    }

    #[test]
    fn the_longest_seed_of_every_fuzz_target_fits() {
        for (name, longest_bytes) in TARGETS {
            for seed in std::fs::read_dir(folder().join("seeds").join(name)).unwrap() {
                let bytes = seed.unwrap().metadata().unwrap().len();
                assert!(bytes <= u64::from(longest_bytes), "{name}: {bytes}");
            }
        }
    }
}
