//! The memory allocator of a program: a library that its loader is told to load before the C library, whose `malloc`
//! is then everybody's.

mod asking;
mod elf;
mod executable;
mod loader;
mod mapped;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use foreign::file;
use serde::{Deserialize, Serialize};
use sys::descent::Descent;

use elf::Elf;
use executable::Executable;
pub(super) use mapped::Mapped;

/// The variable that tells a loader what to load first (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";
/// A program that is on every machine, and loaded.
const ANY_PROGRAM: &str = "/bin/sh";

/// A memory allocator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Allocator {
    Jemalloc,
    Mimalloc,
    Tcmalloc,
    /// A shared library by its absolute path.
    Library(PathBuf),
}

/// A program that is about to be started, without what it is to be given.
pub struct Startup<'a> {
    pub program: &'a OsStr,
    pub environment: &'a [(OsString, OsString)],
    pub descent: Descent,
}

/// A variable of an environment, and its value.
pub type Variable = (&'static str, OsString);

impl Allocator {
    const BY_NAME: [Self; 3] = [Self::Jemalloc, Self::Mimalloc, Self::Tcmalloc];

    /// A name, or an absolute path that can stand in a list (ld.so(8) parts them by colons and white space).
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts = |c: char| c == ':' || c.is_whitespace();
        if text.starts_with('/') && !text.contains(parts) {
            return Some(Self::Library(text.into()));
        }
        let mut by_name = Self::BY_NAME.into_iter();
        by_name.find(|allocator| allocator.to_string() == text)
    }

    /// Whether a shared library of that file is it.
    fn is(&self, file: &Path) -> bool {
        if let Self::Library(library) = self {
            return library.canonicalize().is_ok_and(|library| library == file);
        }
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.starts_with(&format!("lib{self}"))
    }

    /// Its libraries as a loader finds them, those first that are rather wanted.
    fn libraries(&self) -> Vec<&str> {
        match self {
            Self::Jemalloc => vec!["libjemalloc.so.2"],
            Self::Mimalloc => vec!["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0"],
            Self::Tcmalloc => vec!["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"],
            Self::Library(path) => path.to_str().into_iter().collect(),
        }
    }

    /// What a program must have in its environment to have it.
    ///
    /// # Errors
    /// Why it would do without.
    pub fn variable(&self, startup: &Startup<'_>) -> io::Result<Variable> {
        let executable = Executable::find(startup)?;
        let mut why_not = None;
        for library in self.libraries() {
            let preload = before(library, startup.variable(PRELOAD));
            let answer = loader::ask(&executable, startup, &preload)?;
            let file = answer.file_of(library);
            if let Some(file) = &file {
                allocates(file)?;
                if let Some(complaint) = answer.complaint_of(file) {
                    return Err(io::Error::other(complaint.to_owned()));
                }
            }
            if let Some(refusal) = answer.refusal() {
                let what = format!("cannot be asked about: its loader says: {refusal}");
                return Err(executable.error(&what));
            }
            if file.is_some() {
                return Ok((PRELOAD, preload));
            }
            why_not = answer.why_not(library).map(str::to_owned);
        }
        Err(match why_not {
            Some(why_not) => self.not_loaded(&executable, &why_not),
            // As musl's does.
            None => executable.error(&format!(
                "would start without it: its loader {} does not map {}, and does not say why",
                executable.loader.display(),
                self.libraries().join(" or ")
            )),
        })
    }

    /// Whether programs of this machine could have it, by one that every machine has.
    pub(super) fn rehearse(&self) -> io::Result<()> {
        let environment: Vec<_> = std::env::vars_os().collect();
        let startup = Startup {
            program: OsStr::new(ANY_PROGRAM),
            environment: &environment,
            descent: Descent::from_here()?,
        };
        self.variable(&startup).map(drop)
    }

    fn not_loaded(&self, executable: &Executable, why_not: &str) -> io::Error {
        let loader = executable.loader.display();
        let package = match self {
            Self::Jemalloc => "libjemalloc2",
            Self::Mimalloc => "libmimalloc2.0",
            Self::Tcmalloc => "libtcmalloc-minimal4",
            Self::Library(path) => {
                let path = path.display();
                let what = format!("the loader {loader} does not take {path} ({why_not})");
                return io::Error::other(what);
            }
        };
        let libraries = self.libraries().join(" or ");
        io::Error::other(format!(
            "the loader {loader} does not find {libraries} ({why_not}); Debian 12 has it in the package {package}"
        ))
    }
}

impl Startup<'_> {
    fn variable(&self, name: &str) -> Option<&OsStr> {
        // Of several the last counts, as in a command.
        let mut variables = self.environment.iter().rev();
        let found = variables.find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_os_str())
    }
}

/// A library before those that are loaded first already.
fn before(library: &str, others: Option<&OsStr>) -> OsString {
    let mut preload = OsString::from(library);
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    preload
}

/// A library without a `malloc` would be loaded, and change nothing.
fn allocates(library: &Path) -> io::Result<()> {
    let defines = file::open(library).and_then(|file| Elf::of(&file)?.defines("malloc"));
    let path = library.display();
    match defines {
        Ok(true) => Ok(()),
        Ok(false) => Err(io::Error::other(format!(
            "{path} defines no malloc: it is no allocator"
        ))),
        Err(error) => {
            let why = crate::findings::errno(&error);
            Err(io::Error::other(format!("{path} {why}")))
        }
    }
}

impl fmt::Display for Allocator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jemalloc => formatter.write_str("jemalloc"),
            Self::Mimalloc => formatter.write_str("mimalloc"),
            Self::Tcmalloc => formatter.write_str("tcmalloc"),
            Self::Library(path) => write!(formatter, "{}", path.display()),
        }
    }
}
