//! The shared libraries that a process has mapped, and which of them allocates its memory.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use foreign::file;

use super::elf::Elf;
use super::{Allocator, PRELOAD};

/// The files of shared libraries, those first that were to be loaded first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::levers::program) struct Mapped(Vec<PathBuf>);

/// What the C library and its loader are called: they have a `malloc` for whoever has no other.
const OF_THE_C_LIBRARY: [&str; 4] = ["libc.", "libc-", "ld-", "ld."];

impl Mapped {
    /// Those of a process.
    ///
    /// # Errors
    /// `EACCES` where this user may not look.
    pub(in crate::levers::program) fn of(pid: u32) -> io::Result<Self> {
        let maps = fs::read(format!("/proc/{pid}/maps"))?;
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut libraries = libraries(&String::from_utf8_lossy(&maps));
        let first = preloaded(&environment);
        // Stable: all others stay in their order.
        libraries.sort_by_key(|library| {
            let place = first.iter().position(|name| is_named(library, name));
            place.unwrap_or(first.len())
        });
        Ok(Self(libraries))
    }

    /// Whether an allocator is among them.
    pub(in crate::levers::program) fn has(&self, allocator: &Allocator) -> bool {
        self.0.iter().any(|library| allocator.is(library))
    }

    /// The first that defines `malloc`, but for the C library.
    fn allocator(&self) -> Option<&Path> {
        let is_allocator = |library: &&PathBuf| {
            let file = file::open(library);
            let defines = file.and_then(|file| Elf::of(&file)?.defines("malloc"));
            !is_of_the_c_library(library) && defines.unwrap_or(false)
        };
        self.0.iter().find(is_allocator).map(PathBuf::as_path)
    }
}

impl fmt::Display for Mapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(library) = self.allocator() else {
            return formatter.write_str("the C library's");
        };
        let mut by_name = Allocator::BY_NAME.iter();
        match by_name.find(|allocator| allocator.is(library)) {
            Some(allocator) => write!(formatter, "{allocator} ({})", library.display()),
            None => write!(formatter, "{}", library.display()),
        }
    }
}

/// The files of lines such as `7f5e-7f5f r-xp 0000 fd:00 99   /lib/libc.so.6`, each once.
fn libraries(maps: &str) -> Vec<PathBuf> {
    let files = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    let mut libraries: Vec<PathBuf> = files
        .map(PathBuf::from)
        .filter(|file| is_library(file))
        .collect();
    libraries.dedup();
    libraries
}

fn is_library(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().contains(".so")
}

fn is_of_the_c_library(library: &Path) -> bool {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    OF_THE_C_LIBRARY.iter().any(|start| name.starts_with(start))
}

/// What an environment, whose variables end with a zero each, has to be loaded first.
fn preloaded(environment: &[u8]) -> Vec<&OsStr> {
    let start = format!("{PRELOAD}=");
    let mut variables = environment.split(|byte| *byte == 0);
    let found = variables.find_map(|variable| variable.strip_prefix(start.as_bytes()));
    let names = found
        .unwrap_or_default()
        .split(|byte| matches!(byte, b':' | b' '));
    names
        .map(OsStr::from_bytes)
        .filter(|name| !name.is_empty())
        .collect()
}

/// A name such as `libmimalloc.so.2` is mostly a link to a file with more of a version.
fn is_named(library: &Path, name: &OsStr) -> bool {
    let file_name = |path: &Path| path.file_name().map(|name| name.as_bytes().to_owned());
    let (library, name) = (file_name(library), file_name(Path::new(name)));
    library
        .zip(name)
        .is_some_and(|(library, name)| library.starts_with(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        55d0-55d1 r--p 00000000 fd:00 131 /usr/bin/python3.11\n\
        55d2-55d3 rw-p 00000000 00:00 0   [heap]\n\
        7f5d-7f5e r--p 00000000 fd:00 132 /usr/lib/libmimalloc.so.2.0\n\
        7f5e-7f5f r-xp 00001000 fd:00 132 /usr/lib/libmimalloc.so.2.0\n\
        7f60-7f61 r--p 00000000 fd:00 133 /usr/lib/libc.so.6\n";

    #[test]
    fn the_libraries_of_a_process_are_the_shared_objects_that_it_has_mapped() {
        let found = libraries(MAPS);
        let names: Vec<&str> = found.iter().filter_map(|file| file.to_str()).collect();
        assert_eq!(names, ["/usr/lib/libmimalloc.so.2.0", "/usr/lib/libc.so.6"]);
        let mapped = Mapped(found);
        assert!(mapped.has(&Allocator::Mimalloc) && !mapped.has(&Allocator::Jemalloc));
    }

    #[test]
    fn a_list_of_what_is_loaded_first_is_parted_by_colons_and_spaces() {
        let names = preloaded(b"A=1\0LD_PRELOAD=libjemalloc.so.2:/a/b.so  c.so\0B=2\0");
        assert_eq!(names, ["libjemalloc.so.2", "/a/b.so", "c.so"]);
        assert!(preloaded(b"LD_PRELOADED=a.so\0").is_empty());
    }

    #[test]
    fn a_process_without_another_allocator_has_that_of_the_c_library() {
        let own = Mapped::of(std::process::id()).unwrap();
        assert_eq!(own.to_string(), "the C library's");
    }
}
