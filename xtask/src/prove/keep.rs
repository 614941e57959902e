//! A log of proofs to be committed: `results/<date>-<machine>/prove.txt`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, ensure};

use crate::{commit, target};

/// Runs the proofs in a process of their own, so that all they print is kept, of their children
/// as well.
pub(super) fn run(filter: &str) -> anyhow::Result<ExitCode> {
    let hash = commit::hash().context("a kept log names its commit: run this in a git checkout")?;
    ensure!(
        !commit::is_changed(),
        "a kept log names its commit: commit the changed files first"
    );
    let path = path_for(filter)?;
    let mut file = File::create(&path).with_context(|| path.display().to_string())?;
    writeln!(file, "$ cargo xtask prove {filter}\ncommit {hash}")?;
    writeln!(
        file,
        "begun {}\n",
        humantime::format_rfc3339_seconds(sys::clock::wall())
    )?;
    let mut proofs = Command::new(std::env::current_exe()?)
        .args(["prove", filter])
        .stdout(Stdio::piped())
        .spawn()?;
    let output = proofs.stdout.take().context("standard output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        writeln!(file, "{line}")?;
    }
    let held = proofs.wait()?.success();
    println!("kept in {}", path.display());
    Ok(crate::code(held))
}

fn path_for(filter: &str) -> anyhow::Result<PathBuf> {
    let today = humantime::format_rfc3339_seconds(sys::clock::wall()).to_string();
    let (date, _) = today.split_once('T').context("today's date")?;
    let cpu_info = std::fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let folder = target::workspace()
        .join("results")
        .join(format!("{date}-{}", machine_name(&cpu_info)));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let hyphen = if filter.is_empty() { "" } else { "-" };
    Ok(folder.join(format!("prove{hyphen}{filter}.txt")))
}

/// The processor's name and the number of CPUs, as in `amd-epyc-2cpu`.
fn machine_name(cpu_info: &str) -> String {
    let count = cpu_info.matches("processor\t:").count();
    let line = cpu_info
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split_once(':'));
    let model = line.map_or(std::env::consts::ARCH, |(_, model)| model);
    // What follows `@` is the clock rate.
    let model = model.split('@').next().unwrap_or_default();
    let model = model.replace("(R)", "").replace("(TM)", "");
    let mut words: Vec<String> = model.split_whitespace().map(plain).collect();
    words.retain(|word| !word.is_empty() && word != "cpu" && word != "processor");
    format!("{}-{count}cpu", words.join("-"))
}

fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_ascii_alphanumeric());
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_named_by_its_processor_and_its_number_of_cpus() {
        let amd = "processor\t: 0\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\n";
        assert_eq!(machine_name(amd), "amd-epyc-2cpu");
        let intel = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) 8275CL CPU @ 3.00GHz\n";
        assert_eq!(machine_name(intel), "intel-xeon-8275cl-1cpu");
    }
}
