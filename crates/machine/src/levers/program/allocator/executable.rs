//! A program as the kernel would execute it, found over `PATH` and through scripts.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use foreign::file;
use sys::privilege;

use super::Startup;
use super::elf::Elf;

/// Where a program is looked for without a `PATH` (execvp(3)).
const USUAL_PATH: &str = "/bin:/usr/bin";
/// How far a script's interpreter may be a script again (`exec_binprm` in fs/exec.c).
const MOST_SCRIPTS: usize = 5;
/// What the kernel reads of a script's first line (`BINPRM_BUF_SIZE`).
const FIRST_LINE_BYTES: usize = 256;

/// A program that is loaded by another.
pub(super) struct Executable {
    /// Without links, as its loader sees it when it is started.
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) loader: PathBuf,
}

impl Executable {
    /// What is executed under that name; of a script, who runs it.
    ///
    /// # Errors
    /// Where there is none, or none that would look at what is to be loaded before it.
    pub(super) fn find(startup: &Startup<'_>) -> io::Result<Self> {
        let mut path = resolve(startup)?;
        for _ in 0..=MOST_SCRIPTS {
            let file = file::open(&path).map_err(|error| {
                let why = crate::findings::errno(&error);
                of(&path, &format!("cannot be looked into: {why}"))
            })?;
            match interpreter(&file) {
                Some(interpreter) => path = interpreter,
                None => return Self::of_binary(&path, file),
            }
        }
        Err(of(&path, "is a script of a script of a script"))
    }

    fn of_binary(path: &Path, file: File) -> io::Result<Self> {
        let elf = Elf::of(&file).map_err(|error| of(path, &error.to_string()))?;
        let loader = elf.loader().map_err(|error| of(path, &error.to_string()))?;
        let Some(loader) = loader else {
            return Err(of(
                path,
                "is linked statically: nobody loads a library into it, and its allocator stays the one that it was built with",
            ));
        };
        if privilege::is_given_by(&file)? {
            return Err(of(
                path,
                "runs with privileges of its own (set-user-ID, set-group-ID or capabilities), so that its loader takes \
                 no library from whoever starts it",
            ));
        }
        if elf.defines("malloc").unwrap_or(false) {
            return Err(of(
                path,
                "has an allocator built in (it defines malloc itself), which goes before every library",
            ));
        }
        Ok(Self {
            path: fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?,
            file,
            loader,
        })
    }

    pub(super) fn error(&self, what: &str) -> io::Error {
        of(&self.path, what)
    }
}

/// A name with a slash is a path; another is looked for as the user that the program will be, whom folders of root keep out.
fn resolve(startup: &Startup<'_>) -> io::Result<PathBuf> {
    let (name, path) = (startup.program, startup.variable("PATH"));
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = path.map_or(USUAL_PATH.as_bytes(), OsStr::as_bytes);
    let mut places = std::env::split_paths(OsStr::from_bytes(path)).map(|folder| folder.join(name));
    let is_meant = |place: &PathBuf| is_program(place) && startup.descent.may_run(place);
    places.find(is_meant).ok_or_else(|| {
        let name = name.display();
        io::Error::other(format!(
            "there is no program `{name}`: it is neither a path that leads to one nor found on PATH"
        ))
    })
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Who runs a script, by its first line; `None` of what is none.
fn interpreter(file: &File) -> Option<PathBuf> {
    let mut head = [0; FIRST_LINE_BYTES];
    let read = file.read_at(&mut head, 0).ok()?;
    let line = head[..read].strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | 0));
    let path = words.find(|word| !word.is_empty())?;
    Some(OsString::from_vec(path.to_vec()).into())
}

fn of(path: &Path, what: &str) -> io::Error {
    // Of what is known by a link, such as ourselves, the name that a reader knows.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    io::Error::other(format!("{} {what}", path.display()))
}
