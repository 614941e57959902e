//! Control groups of both versions: the group that a process is in, what it grants, and how often
//! it was throttled for having used that up.

mod limits;
mod place;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::kernel_file;
pub use limits::Throttling;

/// The part of the kernel that a group limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    Cpu,
    Cpuset,
    Memory,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cpuset => "cpuset",
            Self::Memory => "memory",
        }
    }
}

/// Version 1 has a hierarchy of groups for each controller, version 2 one for all (cgroups(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    One,
    Two,
}

/// The group of this process for one controller, with its ancestors as far as they can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    version: Hierarchy,
    /// Innermost first.
    folders: Vec<PathBuf>,
}

impl Group {
    /// The group of this process; `None` where the controller is not mounted.
    pub fn of_this_process(controller: Controller) -> Option<Self> {
        Self::below("/", controller)
    }

    /// The group of another process.
    pub fn of_process(pid: u32, controller: Controller) -> Option<Self> {
        Self::find(Path::new("/"), &pid.to_string(), controller)
    }

    /// The group of this process, from a copy of the files of `/proc` and `/sys` below `root`.
    pub fn below(root: impl AsRef<Path>, controller: Controller) -> Option<Self> {
        Self::find(root.as_ref(), "self", controller)
    }

    fn find(root: &Path, process: &str, controller: Controller) -> Option<Self> {
        let cgroup = kernel_file::text(root.join(format!("proc/{process}/cgroup")))?;
        let mountinfo = kernel_file::text(root.join("proc/self/mountinfo"))?;
        let (version, folders) = place::find(&cgroup, &mountinfo, controller)?;
        let folders = folders.iter().map(|folder| root.join(folder)).collect();
        Some(Self { version, folders })
    }

    pub fn version(&self) -> Hierarchy {
        self.version
    }

    /// The group's folder.
    pub fn folder(&self) -> &Path {
        &self.folders[0]
    }

    /// The folder of the parent group, as far as that can be seen.
    pub fn parent(&self) -> Option<&Path> {
        self.folders.get(1).map(PathBuf::as_path)
    }

    /// CPUs' worth of time granted: the tightest quota of the group and its ancestors, since all of
    /// them apply. `None` without a quota.
    pub fn cpu_quota(&self) -> Option<f64> {
        self.tightest_quota().map(|(quota, _)| quota)
    }

    /// The folder of the group that has this tightest quota.
    pub fn folder_of_quota(&self) -> Option<&Path> {
        self.tightest_quota().map(|(_, folder)| folder)
    }

    fn tightest_quota(&self) -> Option<(f64, &Path)> {
        let quotas = self.folders.iter().filter_map(|folder| {
            let text = match self.version {
                Hierarchy::One => {
                    let quota = kernel_file::text(folder.join("cpu.cfs_quota_us"))?;
                    let period = kernel_file::text(folder.join("cpu.cfs_period_us"))?;
                    format!("{quota} {period}")
                }
                Hierarchy::Two => kernel_file::text(folder.join("cpu.max"))?,
            };
            Some((limits::quota(&text)?, folder.as_path()))
        });
        quotas.min_by(|(one, _), (other, _)| one.total_cmp(other))
    }

    /// How often the group, or the ancestor that was throttled most, was throttled; `None` where no
    /// group counts it.
    pub fn throttling(&self) -> Option<Throttling> {
        let stats = self.texts(|folder| kernel_file::text(folder.join("cpu.stat")));
        stats
            .map(|text| limits::throttling(&text))
            .max_by_key(|throttling| throttling.throttled_periods)
    }

    /// The CPUs that the group may run on, as a list such as `0-3`, limited by what its ancestors
    /// allow; `None` where no group limits them.
    pub fn cpuset(&self) -> Option<String> {
        let file = match self.version {
            Hierarchy::One => "cpuset.effective_cpus",
            Hierarchy::Two => "cpuset.cpus.effective",
        };
        self.texts(|folder| kernel_file::text(folder.join(file)))
            .next()
    }

    /// The memory that the group may use, in bytes: the tightest limit of it and its ancestors.
    /// `None` without a limit.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        let file = match self.version {
            Hierarchy::One => "memory.limit_in_bytes",
            Hierarchy::Two => "memory.max",
        };
        self.texts(|folder| kernel_file::text(folder.join(file)))
            .filter_map(|text| limits::memory_bytes(&text))
            .min()
    }

    /// The texts that `read` finds in the group and its ancestors, innermost first.
    fn texts<'a>(
        &'a self,
        read: impl Fn(&Path) -> Option<String> + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        self.folders.iter().filter_map(move |folder| read(folder))
    }
}

/// Moves the calling process into the group of this `cgroup.procs`, which is open for writing.
///
/// # Errors
/// `EACCES` where groups between here and there belong to another user, `EBUSY` for a group that
/// may hold no processes.
pub fn enter(processes: &OwnedFd) -> io::Result<()> {
    // 0 is the writer itself (cgroups(7)).
    rustix::io::write(processes, b"0")?;
    Ok(())
}

/// Returns the mount points of the hierarchies by which systemd tracks the processes of a login.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn roots_of_logins() -> io::Result<Vec<PathBuf>> {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo")?;
    let roots = place::of_logins(&mountinfo).into_iter();
    Ok(roots.map(|root| Path::new("/").join(root)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    const V2: &str = "25 30 0:23 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup rw\n";

    /// A copy of a machine's files, removed after the test.
    struct Copy(PathBuf);

    impl Copy {
        fn of(test: &str, membership: &str, mounts: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("linerate-sys-cgroup-{}-{test}", std::process::id());
            let copy = Self(std::env::temp_dir().join(name));
            copy.write("proc/self/cgroup", membership);
            copy.write("proc/self/mountinfo", mounts);
            for (file, text) in files {
                copy.write(&format!("sys/fs/cgroup/{file}"), text);
            }
            copy
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn group(&self, controller: Controller) -> Group {
            Group::below(&self.0, controller).unwrap()
        }
    }

    impl Drop for Copy {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_tightest_limits_of_all_ancestors_count_in_version_2() {
        let files = [
            ("a/b/cpu.max", "max 100000\n"),
            ("a/cpu.max", "150000 100000\n"),
            ("cpu.max", "400000 100000\n"),
            ("a/b/memory.max", "max\n"),
            ("a/memory.max", "1073741824\n"),
            ("a/b/cpuset.cpus.effective", "2-3\n"),
            ("a/b/cpu.stat", "nr_periods 10\nnr_throttled 1\n"),
            ("a/cpu.stat", "nr_periods 10\nnr_throttled 4\n"),
        ];
        let copy = Copy::of("two", "0::/a/b\n", V2, &files);
        let group = copy.group(Controller::Cpu);
        assert_eq!(
            (group.version(), group.cpu_quota()),
            (Hierarchy::Two, Some(1.5))
        );
        assert_eq!(group.throttling().unwrap().throttled_periods, 4);
        assert_eq!(copy.group(Controller::Cpuset).cpuset().unwrap(), "2-3");
        let memory = copy.group(Controller::Memory).memory_limit_bytes();
        assert_eq!(memory, Some(1 << 30));
    }

    #[test]
    fn a_group_of_version_1_is_read_by_its_own_files() {
        let files = [
            ("cpu/job/cpu.cfs_quota_us", "50000\n"),
            ("cpu/job/cpu.cfs_period_us", "100000\n"),
            ("cpu/cpu.cfs_quota_us", "-1\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let copy = Copy::of("one", "2:memory:/\n1:cpu:/job\n0::/\n", V1, &files);
        let group = copy.group(Controller::Cpu);
        assert_eq!(
            (group.version(), group.cpu_quota()),
            (Hierarchy::One, Some(0.5))
        );
        assert_eq!(copy.group(Controller::Memory).memory_limit_bytes(), None);
        assert_eq!(Group::below(&copy.0, Controller::Cpuset), None);
    }
}
