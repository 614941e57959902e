//! What a loader makes of libraries that are to be loaded before a program: it is asked, and starts nothing.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::asking::{self, Bounds};
use super::executable::Executable;
use super::{PRELOAD, Startup};

/// The program, to a child that has it for its standard input.
const STANDARD_INPUT: &str = "/proc/self/fd/0";
/// What would have a loader say more, or elsewhere, than is asked (ld.so(8)).
const CHANGES_THE_ANSWER: [&str; 4] = [
    "LD_DEBUG",
    "LD_DEBUG_OUTPUT",
    "LD_TRACE_LOADED_OBJECTS",
    "LD_VERBOSE",
];
/// A line for each library, of which the largest desktop programs have hundreds.
const BOUNDS: Bounds = Bounds {
    patience: Duration::from_secs(5),
    most_bytes: 256 << 10,
};

/// A loader's answer.
pub(super) struct Answer {
    status: ExitStatus,
    /// A line for each library that it would map.
    mapped: String,
    /// What it complains of.
    refused: String,
}

/// Asks the loader of a program, as the user and in the environment that the program will have. The loader is the
/// program's own choice, as it will be when it is started.
///
/// # Errors
/// Where the loader cannot be started, or does not come to an end.
pub(super) fn ask(
    executable: &Executable,
    startup: &Startup<'_>,
    preload: &OsStr,
) -> io::Result<Answer> {
    let mut command = Command::new(&executable.loader);
    let program = name_for(executable, startup, &mut command)?;
    command
        .arg("--list")
        .arg(program)
        .env_clear()
        .envs(startup.environment.iter().cloned())
        .env(PRELOAD, preload);
    for variable in CHANGES_THE_ANSWER {
        command.env_remove(variable);
    }
    let said = asking::ask(&mut command, startup.descent, &BOUNDS).map_err(|error| {
        let loader = executable.loader.display();
        io::Error::other(format!("the loader {loader} {error}"))
    })?;
    Ok(Answer {
        status: said.status,
        mapped: said.output,
        refused: said.errors,
    })
}

/// What a child finds the program by: its path, as libraries may lie beside it (`$ORIGIN`, ld.so(8)). Of one in a folder
/// that is closed to the child it is given the open file, as when we are the program ourselves.
fn name_for(
    executable: &Executable,
    startup: &Startup<'_>,
    command: &mut Command,
) -> io::Result<OsString> {
    let path = &executable.path;
    if path.is_file() && startup.descent.may_run(path) {
        command.stdin(Stdio::null());
        return Ok(path.into());
    }
    command.stdin(executable.file.try_clone()?);
    Ok(STANDARD_INPUT.into())
}

impl Answer {
    /// The file that a library would be mapped from, by a line such as `libc.so.6 => /lib/libc.so.6 (0x7f…)`, or
    /// without the arrow where it was named by its path.
    pub(super) fn file_of(&self, library: &str) -> Option<PathBuf> {
        self.mapped.lines().find_map(|line| {
            let rest = line.trim().strip_prefix(library)?;
            let (file, _address) = rest.rsplit_once(" (0x")?;
            match file.strip_prefix(" => ") {
                Some(file) => Some(file.into()),
                None => file.is_empty().then(|| library.into()),
            }
        })
    }

    /// What it says where it would not even load the program.
    pub(super) fn refusal(&self) -> Option<String> {
        if self.status.success() && !self.mapped.is_empty() {
            return None;
        }
        let mut from_last = self.refused.lines().rev().map(str::trim);
        let said = from_last.find(|line| !line.is_empty());
        Some(said.map_or_else(|| format!("nothing ({})", self.status), str::to_owned))
    }

    /// What it complains of in a file that it would map, such as what that needs in turn and nobody has.
    pub(super) fn complaint_of(&self, file: &Path) -> Option<&str> {
        let file = file.to_str()?;
        let mut complaints = self.refused.lines();
        complaints.find(|line| line.contains(file)).map(str::trim)
    }

    /// Why it would not be, as in `object 'lib.so' from LD_PRELOAD cannot be preloaded (wrong ELF class: ELFCLASS32):
    /// ignored.`
    pub(super) fn why_not(&self, library: &str) -> Option<&str> {
        let of_it = format!("'{library}'");
        let line = self.refused.lines().find(|line| line.contains(&of_it))?;
        let (_, reason) = line.split_once("cannot be preloaded (")?;
        reason.rsplit_once(')').map(|(reason, _)| reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            status: ExitStatus::default(),
            mapped: "\tlinux-vdso.so.1 (0x00007ffd)\n\
                \tlibjemalloc.so.2 => /lib/x86_64-linux-gnu/libjemalloc.so.2 (0x00007f5e)\n\
                \t/opt/a b/liballoc.so (0x00007f5d)\n\
                \tlibgone.so.1 => not found\n"
                .to_owned(),
            refused: "ERROR: ld.so: object '/tmp/narrow.so' from LD_PRELOAD cannot be preloaded (wrong ELF class: \
                ELFCLASS32): ignored.\n\
                Error loading shared library libx.so: No such file (needed by /opt/a b/liballoc.so)\n"
                .to_owned(),
        }
    }

    #[test]
    fn a_library_is_mapped_from_the_file_that_the_loader_names() {
        let answer = answer();
        let there = "/lib/x86_64-linux-gnu/libjemalloc.so.2";
        assert_eq!(answer.file_of("libjemalloc.so.2"), Some(there.into()));
        let by_path = "/opt/a b/liballoc.so";
        assert_eq!(answer.file_of(by_path), Some(by_path.into()));
        for other in ["libjemalloc.so", "libgone.so.1", "libtcmalloc.so.4"] {
            assert_eq!(answer.file_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_loaders_reason_is_told_for_the_library_that_it_is_of() {
        let answer = answer();
        let reason = Some("wrong ELF class: ELFCLASS32");
        assert_eq!(answer.why_not("/tmp/narrow.so"), reason);
        assert_eq!(answer.why_not("/tmp/other.so"), None);
        let complaint = answer.complaint_of(Path::new("/opt/a b/liballoc.so"));
        assert!(complaint.unwrap().contains("shared library libx.so"));
        assert_eq!(answer.complaint_of(Path::new("/lib/other.so")), None);
    }

    #[test]
    fn a_loader_that_maps_nothing_refuses_the_program_even_where_it_is_silent() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut answer = answer();
        assert_eq!(answer.refusal(), None);
        answer.status = ExitStatus::from_raw(127 << 8);
        let last =
            "Error loading shared library libx.so: No such file (needed by /opt/a b/liballoc.so)";
        assert_eq!(answer.refusal().as_deref(), Some(last));
        answer.refused.clear();
        let silent = Some("nothing (exit status: 127)");
        assert_eq!(answer.refusal().as_deref(), silent);
        answer.status = ExitStatus::default();
        answer.mapped.clear();
        assert_eq!(
            answer.refusal().as_deref(),
            Some("nothing (exit status: 0)")
        );
    }
}
