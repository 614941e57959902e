//! Finds the control group of a process: from the texts of `/proc/PID/cgroup` and
//! `/proc/PID/mountinfo` to folders, innermost first.

use super::{Controller, Hierarchy};

/// Returns the group's version and its folders: its own and its ancestors', as far as they are
/// mounted here, without a leading slash. A version 1 hierarchy with the controller takes
/// precedence over version 2. `None` where neither is mounted.
pub(super) fn find(
    cgroup: &str,
    mountinfo: &str,
    controller: Controller,
) -> Option<(Hierarchy, Vec<String>)> {
    let of_version = |version| {
        let path = group_path(cgroup, version, controller)?;
        let (root, mount_point) = mount(mountinfo, version, controller)?;
        Some((version, folders(path, root, mount_point)))
    };
    of_version(Hierarchy::One).or_else(|| of_version(Hierarchy::Two))
}

/// The group's path in the hierarchy: a line such as `4:cpu,cpuacct:/path` or `0::/path`.
fn group_path(cgroup: &str, version: Hierarchy, controller: Controller) -> Option<&str> {
    cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let wanted = match version {
            Hierarchy::One => controllers.split(',').any(|name| name == controller.name()),
            Hierarchy::Two => number == "0" && controllers.is_empty(),
        };
        wanted.then_some(path)
    })
}

/// Returns the mount points of the hierarchies by which systemd tracks the processes of a login:
/// its own of version 1, and version 2. Without a leading slash.
pub(super) fn of_logins(mountinfo: &str) -> Vec<String> {
    let of_version = |version| mounts(mountinfo, version, "name=systemd");
    let mounts = [Hierarchy::One, Hierarchy::Two]
        .into_iter()
        .flat_map(of_version);
    let folder = |(_, mount_point): (&str, &str)| mount_point.trim_matches('/').to_owned();
    mounts.map(folder).collect()
}

/// Root and mount point of the first mount of the hierarchy.
fn mount(mountinfo: &str, version: Hierarchy, controller: Controller) -> Option<(&str, &str)> {
    mounts(mountinfo, version, controller.name()).next()
}

/// Root and mount point of each mount of a hierarchy. Fields of a line, from proc_pid_mountinfo(5):
/// number, parent, device, root, mount point, options, optional fields, `-`, type, source, super
/// options.
fn mounts<'a>(
    mountinfo: &'a str,
    version: Hierarchy,
    controller: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    mountinfo.lines().filter_map(move |line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ');
        let mut after = after.split(' ');
        let (root, mount_point) = (before.nth(3)?, before.next()?);
        let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
        let has_controller = || options.split(',').any(|name| name == controller);
        let wanted = match version {
            Hierarchy::One => kind == "cgroup" && has_controller(),
            Hierarchy::Two => kind == "cgroup2",
        };
        wanted.then_some((root, mount_point))
    })
}

/// The group's folder and those above it, up to the mount point. In a container the mount shows
/// only what is below `root`; for a group outside of it only the mount point can be seen.
fn folders(path: &str, root: &str, mount_point: &str) -> Vec<String> {
    let below = path
        .strip_prefix(root.trim_end_matches('/'))
        .unwrap_or_default();
    let mount_point = mount_point.trim_matches('/');
    let mut relative = below.trim_matches('/');
    if relative.split('/').any(|part| part == "..") {
        relative = "";
    }
    let mut folders = Vec::new();
    while !relative.is_empty() {
        folders.push(format!("{mount_point}/{relative}"));
        relative = relative.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    folders.push(mount_point.to_owned());
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 - cgroup2 cgroup2 rw";
    const V2_MOUNT: &str = "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup rw";
    const CPU: Controller = Controller::Cpu;

    #[test]
    fn a_version_1_group_counts_before_an_empty_version_2() {
        let membership = "3:memory:/m\n2:cpuacct:/a\n1:cpu:/jobs/one\n0::/\n";
        let cpu = "sys/fs/cgroup/cpu";
        let expected = [
            format!("{cpu}/jobs/one"),
            format!("{cpu}/jobs"),
            cpu.to_owned(),
        ];
        let found = find(membership, V1_MOUNTS, CPU).unwrap();
        assert_eq!(found, (Hierarchy::One, expected.to_vec()));
        let (_, memory) = find(membership, V1_MOUNTS, Controller::Memory).unwrap();
        assert_eq!(memory[0], "sys/fs/cgroup/memory/m");
    }

    #[test]
    fn a_controller_that_no_version_1_hierarchy_has_is_looked_for_in_version_2() {
        let (version, folders) = find("1:cpu:/a\n0::/b\n", V1_MOUNTS, Controller::Cpuset).unwrap();
        assert_eq!(
            (version, folders[0].as_str()),
            (Hierarchy::Two, "sys/fs/cgroup/unified/b")
        );
    }

    #[test]
    fn in_a_container_the_path_is_taken_relative_to_what_is_mounted() {
        let mount = "40 30 0:23 /docker/c1 /sys/fs/cgroup rw - cgroup2 cgroup rw";
        let (_, inside) = find("0::/docker/c1/worker\n", mount, CPU).unwrap();
        assert_eq!(inside, ["sys/fs/cgroup/worker", "sys/fs/cgroup"]);
        let (_, outside) = find("0::/../other\n", V2_MOUNT, CPU).unwrap();
        assert_eq!(outside, ["sys/fs/cgroup"]);
    }

    #[test]
    fn logins_are_known_by_a_hierarchy_of_systemd_and_by_version_2() {
        let mounts = format!(
            "{V1_MOUNTS}\n42 31 0:39 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd"
        );
        let folders = ["sys/fs/cgroup/systemd", "sys/fs/cgroup/unified"];
        assert_eq!(of_logins(&mounts), folders);
        assert_eq!(of_logins(V2_MOUNT), ["sys/fs/cgroup"]);
    }

    #[test]
    fn odd_texts_are_no_group() {
        assert_eq!(find("", V2_MOUNT, CPU), None);
        assert_eq!(find("0::/\n", "nonsense", CPU), None);
    }
}
