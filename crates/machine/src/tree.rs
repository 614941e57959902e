//! Files of `/proc`, `/sys` and `/etc` below a root, and the drivers of network devices, so that
//! tests can supply their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::drivers::{Drivers, OfThisMachine};

/// Where the machine's files are read from, and what reports on its drivers.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    drivers: Arc<dyn Drivers>,
}

impl Tree {
    /// The machine that this process runs on.
    pub(crate) fn of_this_machine() -> Self {
        Self::below("/")
    }

    /// Files below another folder, which stands for the root.
    pub(crate) fn below(root: impl AsRef<Path>) -> Self {
        Self {
            root: root.as_ref().to_owned(),
            drivers: Arc::new(OfThisMachine),
        }
    }

    /// Replaces the drivers.
    #[cfg(test)]
    pub(crate) fn with_drivers(mut self, drivers: Arc<dyn Drivers>) -> Self {
        self.drivers = drivers;
        self
    }

    pub(crate) fn drivers(&self) -> &dyn Drivers {
        &*self.drivers
    }

    /// The path of a file given without its leading slash.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// The file's text without the white space around it; `None` when it cannot be read.
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        sys::kernel_file::text(self.path(file))
    }

    /// The file's text, or the error with its errno.
    pub(crate) fn try_text(&self, file: &str) -> std::io::Result<String> {
        fs::read_to_string(self.path(file))
    }

    /// The file's text as a number.
    pub(crate) fn number<N: std::str::FromStr>(&self, file: &str) -> Option<N> {
        sys::kernel_file::number(self.path(file))
    }

    /// What follows a word at the beginning of a line of a file.
    pub(crate) fn behind(&self, file: &str, word: &str) -> Option<String> {
        behind(&self.text(file)?, word).map(str::to_owned)
    }

    /// The CPUs of a file that lists some, such as `0-3,8`.
    pub(crate) fn cpus(&self, file: &str) -> Option<Vec<usize>> {
        sys::cpu::parse_list(&self.text(file)?).ok()
    }

    /// The CPUs that are on line, in order of their numbers.
    pub(crate) fn online_cpus(&self) -> Option<Vec<usize>> {
        self.cpus("sys/devices/system/cpu/online")
    }

    /// The CPUs on which a process with this `status` may run: those that are allowed and online.
    pub(crate) fn allowed_cpus(&self, status: &str) -> Option<Vec<usize>> {
        let allowed = sys::cpu::parse_list(behind(status, "Cpus_allowed_list:")?).ok()?;
        let online = self.online_cpus();
        let is_there = |cpu: &usize| online.as_ref().is_none_or(|online| online.contains(cpu));
        Some(allowed.into_iter().filter(is_there).collect())
    }

    /// The memory of the machine, KiB (`MemTotal` of proc_meminfo(5)).
    pub(crate) fn memory_kib(&self) -> Option<u64> {
        let total = self.behind("proc/meminfo", "MemTotal:")?;
        total.strip_suffix(" kB")?.parse().ok()
    }

    /// The effective capabilities of this process, one bit each (capabilities(7)); 0 if the kernel
    /// does not report them.
    pub(crate) fn capabilities(&self) -> u64 {
        let held = self.behind("proc/self/status", "CapEff:");
        let held = held.and_then(|held| u64::from_str_radix(&held, 16).ok());
        held.unwrap_or(0)
    }

    /// The last component of a link's target; `None` if there is no such link.
    pub(crate) fn link_name(&self, link: &str) -> Option<String> {
        let target = fs::read_link(self.path(link)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// The names in a folder, sorted; empty if it cannot be read.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }
}

/// What follows a word at the beginning of a line, without the white space around it.
pub(crate) fn behind<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(word))
        .map(str::trim)
}

/// The word in brackets in a text that lists all choices, such as `always [madvise] never`.
pub(crate) fn chosen(text: &str) -> Option<String> {
    let words = text.split_whitespace();
    let mut held = words.filter_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    held.next().map(str::to_owned)
}

#[cfg(test)]
pub(crate) mod planted {
    //! A folder of test files that is removed when the test ends.

    use super::{Path, PathBuf, Tree, fs};

    pub(crate) struct Planted {
        root: PathBuf,
        pub(crate) tree: Tree,
    }

    impl Planted {
        /// Writes the files. `test` must be a name that no other test uses.
        pub(crate) fn new(test: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("linerate-machine-{}-{test}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for (file, text) in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap_or_else(|| Path::new("/"))).unwrap();
                fs::write(path, text).unwrap();
            }
            let tree = Tree::below(&root);
            Self { root, tree }
        }
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}
