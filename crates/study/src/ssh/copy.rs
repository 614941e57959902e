//! Copies this program to another machine, once, under a name with its checksum.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::session::Far;
use crate::refusal::Refusal;
use foreign::sha256;

/// Longest time to look for the program on a host, with connecting: an agent for keys may hang too.
const LOOK: Duration = Duration::from_secs(30);
/// Longest time to copy: a slow line needs minutes for some ten MB. A line that is cut is noticed
/// much sooner.
const COPY: Duration = Duration::from_secs(600);
/// Most characters that are shown of another kind of machine.
const SHOWN_KIND: usize = 80;
/// Folder of the copies: below the cache of the user there, so it may be deleted at any time.
const FOLDER: &str = "d=\"${XDG_CACHE_HOME:-$HOME/.cache}/linerate/agents\"";

/// The program that is copied to hosts, with its checksum.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    /// SHA-256, hexadecimal.
    checksum: String,
}

impl Program {
    /// Computes a program's checksum.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn at(path: &Path) -> Result<Self, Refusal> {
        let program = File::open(path).and_then(sha256::of_all);
        let checksum = program.map_err(|error| unread(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            checksum,
        })
    }

    /// Makes sure that exactly this program is on a host, and copies it there if it is not. Returns
    /// its path there, for a shell.
    ///
    /// # Errors
    /// If the host is of another kind or has no room, or any other error that it reports.
    pub(super) fn bring_to(&self, far: &Far) -> Result<String, Refusal> {
        let answer = far.run("looking for this program there", &self.check(), None, LOOK)?;
        let lines: Vec<&str> = answer.lines().collect();
        if let [printed, .., kind, _] = lines[..]
            && kind == our_kind()
        {
            return Err(Refusal(format!(
                "{}: a start-up file of the shell there prints `{}` before any command does; have \
                 it print only where the shell is interactive",
                far.host,
                foreign::clipped(printed.trim(), SHOWN_KIND)
            )));
        }
        let kind = lines.first().copied().unwrap_or_default();
        if kind != our_kind() {
            return Err(Refusal(format!(
                "{} is of another kind ({}) than this program was built for ({}); take a host of that \
                 kind, or start the study from a machine of the host's own kind",
                far.host,
                foreign::clipped(kind.trim(), SHOWN_KIND),
                our_kind()
            )));
        }
        if lines.get(1) != Some(&"here") {
            let file = File::open(&self.path);
            let file = file.map_err(|error| unread(&self.path, &error))?;
            far.run("copying this program there", &self.save(), Some(file), COPY)?;
        }
        Ok(self.path_there())
    }

    fn path_there(&self) -> String {
        format!(
            "\"${{XDG_CACHE_HOME:-$HOME/.cache}}/linerate/agents/{}\"",
            self.name()
        )
    }

    /// Name of the copy. Another build has another name, so none is mistaken for this one.
    fn name(&self) -> String {
        format!("linerate-{}", self.checksum)
    }

    /// The script that prints the kind of machine, and whether the whole program is there.
    fn check(&self) -> String {
        let (name, checksum) = (self.name(), &self.checksum);
        format!(
            "uname -sm; {FOLDER}; \
             if [ -x \"$d/{name}\" ] && sha256sum < \"$d/{name}\" | grep -q {checksum}; \
             then echo here; else echo absent; fi"
        )
    }

    /// The script that stores the program from its standard input: the whole of it, or nothing. All
    /// users may execute it, because a target that is started as another user is this program too.
    fn save(&self) -> String {
        let (name, checksum) = (self.name(), &self.checksum);
        format!(
            "umask 077; {FOLDER}; mkdir -p \"$d\" && t=$(mktemp \"$d/part.XXXXXX\") || exit 1; \
             trap \"rm -f '$t'\" EXIT; trap \"exit 1\" HUP INT TERM; \
             cat > \"$t\" || exit 1; \
             sha256sum < \"$t\" | grep -q {checksum} || \
             {{ echo \"what came is not what was sent\" >&2; exit 1; }}; \
             chmod 755 \"$t\" && mv \"$t\" \"$d/{name}\""
        )
    }
}

fn unread(program: &Path, error: &io::Error) -> Refusal {
    Refusal(format!(
        "{} cannot be read to be copied: {error}",
        program.display()
    ))
}

/// Returns kernel and machine as `uname -sm` prints them on machines that this program runs on.
fn our_kind() -> String {
    let machine = match std::env::consts::ARCH {
        "x86" => "i686",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
        "powerpc64" => "ppc64",
        same => same,
    };
    format!("Linux {machine}")
}
