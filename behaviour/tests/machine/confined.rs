//! Runs the program where it has less than the whole machine: in a control group with a CPU quota,
//! on chosen CPUs, or in a mount namespace where files are hidden.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Folder;

/// A control group of the test's own that grants a quota of CPU time, in µs per 100 ms. It is of
/// version 1 where that version's CPU controller is mounted, else of version 2. It is removed when
/// the test ends.
pub(crate) struct QuotaGroup(PathBuf);

impl QuotaGroup {
    pub(crate) fn of_us(quota_us: u32) -> Self {
        let name = format!("linerate-test-{}-{quota_us}", std::process::id());
        let version_1 = Path::new("/sys/fs/cgroup/cpu");
        if version_1.join("cpu.cfs_quota_us").exists() {
            return Self::make(
                version_1.join(name),
                "cpu.cfs_quota_us",
                &quota_us.to_string(),
            );
        }
        let root = Path::new("/sys/fs/cgroup");
        std::fs::write(root.join("cgroup.subtree_control"), "+cpu").unwrap();
        Self::make(root.join(name), "cpu.max", &format!("{quota_us} 100000"))
    }

    fn make(folder: PathBuf, file: &str, quota: &str) -> Self {
        std::fs::create_dir(&folder).unwrap();
        let group = Self(folder);
        std::fs::write(group.0.join(file), quota).unwrap();
        group
    }

    /// Moves a process into the group, with all its threads.
    pub(crate) fn take(&self, pid: u32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }

    /// CPU time that the group grants in each 100 ms, µs.
    pub(crate) fn quota_us(&self) -> u32 {
        let files = ["cpu.cfs_quota_us", "cpu.max"].map(|name| self.0.join(name));
        let text = files
            .iter()
            .find_map(|file| std::fs::read_to_string(file).ok());
        let text = text.unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// A command that runs the program in this group from its first instruction on.
    pub(crate) fn linerate(&self, folder: &Folder, arguments: &[&str]) -> Command {
        let enter = format!("echo $$ > {}/cgroup.procs", self.0.display());
        after(&enter, folder, arguments)
    }
}

impl Drop for QuotaGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A command that runs the program on the CPUs of a list, such as `0`.
pub(crate) fn on_cpus(list: &str, folder: &Folder, arguments: &[&str]) -> Command {
    after(&format!("taskset -pc {list} $$ >&2"), folder, arguments)
}

/// A command that runs the program in a mount namespace where `hidden` is empty: a folder without
/// files, or a file without text.
pub(crate) fn without(hidden: &str, folder: &Folder, arguments: &[&str]) -> Command {
    let hide = if Path::new(hidden).is_dir() {
        format!("mount -t tmpfs none {hidden}")
    } else {
        format!("mount --bind /dev/null {hidden}")
    };
    in_place_of_a_shell(&["unshare", "--mount", "sh"], &hide, folder, arguments)
}

fn after(step: &str, folder: &Folder, arguments: &[&str]) -> Command {
    in_place_of_a_shell(&["sh"], step, folder, arguments)
}

/// A command in which a shell takes a step that must succeed, and then becomes the program.
pub(crate) fn in_place_of_a_shell(
    shell: &[&str],
    step: &str,
    folder: &Folder,
    arguments: &[&str],
) -> Command {
    let mut command = Command::new(shell[0]);
    command
        .args(&shell[1..])
        .args(["-c", &format!("{step} && exec \"$0\" \"$@\"")])
        .arg(crate::common::program())
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command
}
