//! This program on another machine: brought there once, under its own checksum.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::session::Far;
use crate::refusal::Refusal;
use foreign::sha256;

/// How long a look at a host may take, with connecting: an agent for keys may hang as well.
const LOOK: Duration = Duration::from_secs(30);
/// How long copying may take: a slow line needs minutes for some ten MB, and one that is cut is
/// noticed much sooner.
const COPY: Duration = Duration::from_secs(600);
/// The most that is shown of another kind of machine, in letters.
const SHOWN_KIND: usize = 80;
/// Where it is kept: below the cache of the user there, so it may be thrown away at any time.
const FOLDER: &str = "d=\"${XDG_CACHE_HOME:-$HOME/.cache}/linerate/agents\"";

/// The program that is brought to hosts, with its checksum.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    /// SHA-256, hexadecimal.
    checksum: String,
}

impl Program {
    /// Takes a program's checksum.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn at(path: &Path) -> Result<Self, Refusal> {
        let program = File::open(path).and_then(sha256::of_all);
        let checksum = program.map_err(|error| unread(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            checksum,
        })
    }

    /// Sees that this very program is on a host, and copies it there where it is not; its path
    /// there, for a shell.
    ///
    /// # Errors
    /// A host of another kind, one without room, or what else it said.
    pub(super) fn bring_to(&self, far: &Far) -> Result<String, Refusal> {
        let told = far.run("looking for this program there", &self.look(), None, LOOK)?;
        let lines: Vec<&str> = told.lines().collect();
        if let [said, .., kind, _] = lines[..]
            && kind == our_kind()
        {
            return Err(Refusal(format!(
                "{}: a start-up file of the shell there prints `{}` before any command does; have it print \
                 where the shell is interactive alone",
                far.host,
                foreign::clipped(said.trim(), SHOWN_KIND)
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
            far.run("copying this program there", &self.take(), Some(file), COPY)?;
        }
        Ok(self.path_there())
    }

    fn path_there(&self) -> String {
        format!(
            "\"${{XDG_CACHE_HOME:-$HOME/.cache}}/linerate/agents/{}\"",
            self.name()
        )
    }

    /// What it is called there: another build has another name, so none is mistaken for this one.
    fn name(&self) -> String {
        format!("linerate-{}", self.checksum)
    }

    /// Says which kind of machine it is, and whether the program is there, whole.
    fn look(&self) -> String {
        let (name, checksum) = (self.name(), &self.checksum);
        format!(
            "uname -sm; {FOLDER}; \
             if [ -x \"$d/{name}\" ] && sha256sum < \"$d/{name}\" | grep -q {checksum}; \
             then echo here; else echo absent; fi"
        )
    }

    /// Takes the program from its standard input: whole, or nothing of it stays. A target that is
    /// started as another user is this program too, so it may be executed by all.
    fn take(&self) -> String {
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

/// Kernel and machine as `uname -sm` says them of the machines that this program runs on.
fn our_kind() -> String {
    let machine = match std::env::consts::ARCH {
        "x86" => "i686",
        "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
        "powerpc64" => "ppc64",
        same => same,
    };
    format!("Linux {machine}")
}
