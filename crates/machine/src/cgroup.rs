//! The control group of this process: what CPU time it grants and whether it was throttled.

use crate::tree::Tree;

/// The folders of the control group that limits the CPU time of this process, innermost first:
/// its own and its ancestors', as far as they can be seen from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuGroup {
    /// Below the root, without a leading slash.
    folders: Vec<String>,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// How often the group ran out of its quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throttling {
    pub(crate) periods: u64,
    pub(crate) throttled_periods: u64,
}

impl CpuGroup {
    /// The group of this process; `None` where no CPU controller is mounted.
    pub(crate) fn of_this_process(tree: &Tree) -> Option<Self> {
        Self::parse(
            &tree.text("proc/self/cgroup")?,
            &tree.text("proc/self/mountinfo")?,
        )
    }

    /// From the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`. A version 1 hierarchy with
    /// the CPU controller is the one that counts; without one, version 2 is.
    pub(crate) fn parse(cgroup: &str, mountinfo: &str) -> Option<Self> {
        let of_version = |version| {
            let path = group_path(cgroup, version)?;
            let (root, mount_point) = mount(mountinfo, version)?;
            Some(Self {
                folders: folders(path, root, mount_point),
                version,
            })
        };
        of_version(Version::One).or_else(|| of_version(Version::Two))
    }

    /// CPUs' worth of time granted: the tightest quota of the group and its ancestors.
    pub(crate) fn quota(&self, tree: &Tree) -> Option<f64> {
        let quotas = self
            .folders
            .iter()
            .filter_map(|folder| self.quota_of(tree, folder));
        quotas.min_by(f64::total_cmp)
    }

    /// How often the group, or the ancestor that was throttled most, was stopped.
    pub(crate) fn throttling(&self, tree: &Tree) -> Option<Throttling> {
        let texts = self
            .folders
            .iter()
            .filter_map(|folder| tree.text(&format!("{folder}/cpu.stat")));
        texts
            .map(|text| parse_throttling(&text))
            .max_by_key(|throttling| throttling.throttled_periods)
    }

    fn quota_of(&self, tree: &Tree, folder: &str) -> Option<f64> {
        match self.version {
            Version::One => {
                let quota = tree.text(&format!("{folder}/cpu.cfs_quota_us"))?;
                let period = tree.text(&format!("{folder}/cpu.cfs_period_us"))?;
                parse_quota(&format!("{quota} {period}"))
            }
            Version::Two => parse_quota(&tree.text(&format!("{folder}/cpu.max"))?),
        }
    }
}

/// The group's path in the hierarchy: a line such as `4:cpu,cpuacct:/path` or `0::/path`.
fn group_path(cgroup: &str, version: Version) -> Option<&str> {
    cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let wanted = match version {
            Version::One => controllers.split(',').any(|name| name == "cpu"),
            Version::Two => number == "0" && controllers.is_empty(),
        };
        wanted.then_some(path)
    })
}

/// Root and mount point of the hierarchy. Fields of a line, from proc_pid_mountinfo(5): number,
/// parent, device, root, mount point, options, optional fields, `-`, type, source, super options.
fn mount(mountinfo: &str, version: Version) -> Option<(&str, &str)> {
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ');
        let mut after = after.split(' ');
        let (root, mount_point) = (before.nth(3)?, before.next()?);
        let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
        let wanted = match version {
            Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
            Version::Two => kind == "cgroup2",
        };
        wanted.then_some((root, mount_point))
    })
}

/// The group's folder and those above it, up to the mount point. In a container the mount shows
/// only what is below `root`; a group outside of it can be seen no nearer than the mount point.
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

/// Quota and period in µs as `cpu.max` has them; `max`, or −1 in version 1, is no quota.
fn parse_quota(text: &str) -> Option<f64> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn parse_throttling(text: &str) -> Throttling {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let found = lines.find(|(key, _)| *key == name);
        found
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(0)
    };
    Throttling {
        periods: value("nr_periods"),
        throttled_periods: value("nr_throttled"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    const V1_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:7 - cgroup2 cgroup2 rw";
    const V2_MOUNT: &str = "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup rw";

    #[test]
    fn a_version_1_group_counts_before_an_empty_version_2() {
        let group = CpuGroup::parse("2:cpuacct:/a\n1:cpu:/jobs/one\n0::/\n", V1_MOUNTS).unwrap();
        assert_eq!(group.version, Version::One);
        let cpu = "sys/fs/cgroup/cpu";
        assert_eq!(
            group.folders,
            [
                format!("{cpu}/jobs/one"),
                format!("{cpu}/jobs"),
                cpu.to_owned()
            ]
        );
    }

    #[test]
    fn the_tightest_quota_of_all_ancestors_counts() {
        let planted = Planted::new(
            "quota",
            &[
                ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
            ],
        );
        let group = CpuGroup::parse("0::/a/b\n", V2_MOUNT).unwrap();
        assert_eq!(group.quota(&planted.tree), Some(1.5));
    }

    #[test]
    fn in_a_container_the_path_is_taken_relative_to_what_is_mounted() {
        let mount = "40 30 0:23 /docker/c1 /sys/fs/cgroup rw - cgroup2 cgroup rw";
        let group = CpuGroup::parse("0::/docker/c1/worker\n", mount).unwrap();
        assert_eq!(group.folders, ["sys/fs/cgroup/worker", "sys/fs/cgroup"]);
        let outside = CpuGroup::parse("0::/../other\n", V2_MOUNT).unwrap();
        assert_eq!(outside.folders, ["sys/fs/cgroup"]);
    }

    #[test]
    fn no_quota_is_none_and_odd_texts_are_none() {
        for text in ["max 100000", "-1 100000", "", "100000", "a b", "1000 0"] {
            assert_eq!(parse_quota(text), None, "{text}");
        }
        assert_eq!(CpuGroup::parse("", V2_MOUNT), None);
        assert_eq!(CpuGroup::parse("0::/\n", "nonsense"), None);
    }

    #[test]
    fn throttling_is_read_and_missing_counters_are_nought() {
        let text = "usage_usec 9\nnr_periods 40\nnr_throttled 7\nthrottled_usec 123\n";
        let throttling = parse_throttling(text);
        assert_eq!((throttling.periods, throttling.throttled_periods), (40, 7));
        assert_eq!(parse_throttling("usage_usec 9"), Throttling::default());
    }
}
