//! The target directory of the checks: it is under the user's cache, so that a fresh clone builds
//! fast.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use sys::attribute::Attribute;
use sys::scheduling::Scheduling;

use crate::commands;

/// The profile that a user builds with, and that is tested.
pub(crate) const PROFILE: &str = "release";
/// The profile of the package, whose program is compared with other packaged servers and clients.
pub(crate) const PACKAGED: &str = "dist";
/// All profiles that are built.
const PROFILES: [&str; 3] = ["dev", PROFILE, PACKAGED];
/// The target triple of static programs, which are built in a separate folder.
pub(crate) const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// File that names the checkout that last used the target directory.
const OWNER_FILE: &str = "checkout";

/// The root of the workspace. Cargo sets the variable for what it runs; the value that is compiled
/// in may be of another checkout in which this program was built.
pub(crate) fn workspace() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let own = own.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    own.parent().map_or_else(|| own.clone(), Path::to_path_buf)
}

/// The target directory: `CARGO_TARGET_DIR`, else `linerate/target` under `XDG_CACHE_HOME`, else
/// the same under `~/.cache`.
pub(crate) fn directory() -> PathBuf {
    chosen(&|name| std::env::var_os(name).map(PathBuf::from))
}

/// The user's cache: `XDG_CACHE_HOME`, else `~/.cache`; `None` where neither is known.
pub(crate) fn cache() -> Option<PathBuf> {
    cache_by(&|name| std::env::var_os(name).map(PathBuf::from))
}

fn chosen(variable: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
    set(variable, "CARGO_TARGET_DIR")
        .and_then(|path| std::path::absolute(path).ok())
        .or_else(|| cache_by(variable).map(|cache| cache.join("linerate/target")))
        .unwrap_or_else(|| workspace().join("target"))
}

fn cache_by(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The XDG base directory specification requires that a relative path be ignored.
    let cache = set(variable, "XDG_CACHE_HOME").filter(|path| path.is_absolute());
    cache.or_else(|| set(variable, "HOME").map(|home| home.join(".cache")))
}

fn set(variable: &dyn Fn(&str) -> Option<PathBuf>, name: &str) -> Option<PathBuf> {
    variable(name).filter(|path| !path.as_os_str().is_empty())
}

/// A cargo command in the workspace that builds into [`directory`].
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(arguments)
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", directory())
        .stdin(Stdio::null());
    command
}

/// Builds the program in a profile and returns its path. As an example is built too, cargo enables
/// the same features as for the tests, and builds nothing twice.
pub(crate) fn program(profile: &str) -> anyhow::Result<PathBuf> {
    let how = ["build", "--quiet", "--workspace", "--profile", profile];
    let what = ["--bin", "linerate", "--example", "auditctl"];
    commands::run(&mut cargo(&[&how[..], &what].concat())).context("the build failed")?;
    Ok(directory().join(profile).join("linerate"))
}

/// Builds something ahead on idle CPUs, with idle priority, so that it gives way to any other work.
/// A failure is ignored: it occurs again in the stage that needs the build, and is reported there.
pub(crate) fn idly<T>(build: impl FnOnce() -> anyhow::Result<T>) {
    if Attribute::Scheduling(Scheduling::Idle).take_on().is_ok() {
        let _ = build();
    }
}

/// The path of the example program that is built with [`program`]; guests use it.
pub(crate) fn auditctl(profile: &str) -> PathBuf {
    directory().join(profile).join("examples/auditctl")
}

/// The exclusive right of this checkout to the target directory, until it is dropped.
pub(crate) struct Claim {
    _lock: File,
}

/// Waits until no other check uses the target directory, and removes the workspace's crates that
/// another checkout built there. Cargo identifies these crates by their path within the workspace
/// and by the age of their files, so it would take the program of an older checkout for that of
/// this one.
pub(crate) fn claim() -> anyhow::Result<Claim> {
    let directory = directory();
    let shown = directory.display();
    std::fs::create_dir_all(&directory).with_context(|| format!("making {shown}"))?;
    let lock = File::create(directory.join("in-use"))?;
    if lock.try_lock().is_err() {
        println!("waiting for another check that builds into {shown}");
        lock.lock()?;
    }
    let owner = directory.join(OWNER_FILE);
    let here = workspace().display().to_string();
    if std::fs::read_to_string(&owner).unwrap_or_default() != here {
        forget_workspace()?;
        std::fs::write(owner, here)?;
    }
    // On standard error, apart from the results: a saved log names no path of the machine.
    eprintln!("building into {shown}");
    Ok(Claim { _lock: lock })
}

fn forget_workspace() -> anyhow::Result<()> {
    let ordinary = PROFILES.map(|profile| vec![profile]);
    let is_static = vec![PACKAGED, "--target", TRIPLE];
    for which in ordinary.into_iter().chain([is_static]) {
        let clean = [
            &["clean", "--quiet", "--workspace", "--profile"],
            &which[..],
        ]
        .concat();
        commands::run(&mut cargo(&clean))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_with(variables: &[(&str, &str)]) -> PathBuf {
        chosen(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        })
    }

    #[test]
    fn a_target_directory_that_is_set_wins_over_the_cache() {
        let both = [("CARGO_TARGET_DIR", "/t"), ("XDG_CACHE_HOME", "/c")];
        assert_eq!(chosen_with(&both), Path::new("/t"));
        let relative = chosen_with(&[("CARGO_TARGET_DIR", "out")]);
        assert!(relative.is_absolute() && relative.ends_with("out"));
    }

    #[test]
    fn the_cache_is_the_one_of_the_user() {
        let cache = [("XDG_CACHE_HOME", "/c"), ("HOME", "/home/a")];
        assert_eq!(chosen_with(&cache), Path::new("/c/linerate/target"));
        let ignored = [("XDG_CACHE_HOME", "relative"), ("HOME", "/home/a")];
        let home = Path::new("/home/a/.cache/linerate/target");
        assert_eq!(chosen_with(&ignored), home);
        assert_eq!(chosen_with(&[]), workspace().join("target"));
    }
}
