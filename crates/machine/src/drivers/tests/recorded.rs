//! What the drivers of other machines report, read from a text of commands and their output.

use std::collections::BTreeMap;
use std::io;

use sys::ethtool::{Feature, Setting};
use sys::netdev::Napi;

use super::Drivers;
use crate::tree::planted::Planted;

/// `EOPNOTSUPP`.
const NOT_SUPPORTED: i32 = 95;
/// Features that ethtool(8) names otherwise than the kernel: ethtool's name and the kernel's.
const FEATURE_NAMES: [(&str, &str); 3] = [
    ("generic-receive-offload", "rx-gro"),
    ("generic-segmentation-offload", "tx-generic-segmentation"),
    ("large-receive-offload", "rx-lro"),
];

/// The commands of a record, each with the lines that it prints.
#[derive(Debug)]
pub(crate) struct Recorded(BTreeMap<&'static str, Vec<&'static str>>);

impl Recorded {
    /// Parses a record. A line with `$ ` begins a command, and a line with `#` is a comment.
    pub(crate) fn parse(text: &'static str) -> Self {
        let mut commands = BTreeMap::new();
        let mut command = "";
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line.strip_prefix("$ ") {
                Some(next) => command = next,
                None => commands.entry(command).or_insert_with(Vec::new).push(line),
            }
        }
        Self(commands)
    }

    /// The files of the recorded machine, as far as the commands show or list them.
    pub(crate) fn files(&self, test: &str) -> Planted {
        let mut files = vec![("sys/class/net/eth0/ifindex".to_owned(), "2".to_owned())];
        for (command, printed) in &self.0 {
            let (program, path) = command.split_once(' ').unwrap();
            match program {
                "cat" => files.push((path[1..].to_owned(), printed.join("\n") + "\n")),
                "ls" => {
                    let names = printed.iter().map(|name| format!("{}/{name}", &path[1..]));
                    files.extend(names.map(|file| (file, String::new())));
                }
                _ => {}
            }
        }
        // The folder `device` comes first: a path through `device/..` needs `device` to exist.
        let device = ("sys/class/net/eth0/device/uevent".to_owned(), String::new());
        files.insert(0, device);
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let planted = Planted::new(&format!("recorded-{test}"), &files);
        for (command, printed) in &self.0 {
            if let Some(link) = command.strip_prefix("readlink /") {
                let link = planted.tree.path(link);
                std::os::unix::fs::symlink(printed[0], link).unwrap();
            }
        }
        planted
    }

    /// What ethtool(8) prints with a flag, or the error with which the driver does not answer.
    fn printed(&self, flag: &str) -> io::Result<&[&'static str]> {
        let printed = self.0[format!("ethtool -{flag} eth0").as_str()].as_slice();
        match printed[0].contains("Operation not supported") {
            true => Err(io::Error::from_raw_os_error(NOT_SUPPORTED)),
            false => Ok(printed),
        }
    }

    pub(crate) fn driver(&self) -> &str {
        field(self.printed("i").unwrap(), "driver")
    }
}

/// The text after a name and a colon, or `n/a` where no line has the name.
fn field<'t>(lines: &[&'t str], name: &str) -> &'t str {
    let rest = |line: &&'t str| line.trim().strip_prefix(name)?.strip_prefix(':');
    lines.iter().find_map(rest).unwrap_or("n/a").trim()
}

/// A number as the ioctl reports it: 0 for what the driver does not have.
fn number(text: &str) -> u32 {
    match text {
        "n/a" | "off" => 0,
        "on" => 1,
        number => number.parse().unwrap(),
    }
}

impl Drivers for Recorded {
    fn setting(&self, _: &str, setting: Setting) -> io::Result<(u32, Option<u32>)> {
        let (flag, name) = match setting {
            Setting::ReceiveUs => ("c", "rx-usecs"),
            Setting::ReceiveFrames => ("c", "rx-frames"),
            Setting::TransmitUs => ("c", "tx-usecs"),
            Setting::TransmitFrames => ("c", "tx-frames"),
            Setting::AdaptiveReceive => ("c", "Adaptive RX"),
            Setting::AdaptiveTransmit => ("c", "TX"),
            Setting::ReceiveRing => ("g", "RX"),
            Setting::TransmitRing => ("g", "TX"),
            Setting::ReceiveChannels => ("l", "RX"),
            Setting::TransmitChannels => ("l", "TX"),
            Setting::CombinedChannels => ("l", "Combined"),
        };
        let printed = self.printed(flag)?;
        if flag == "c" {
            // One line has both directions: `Adaptive RX: off  TX: n/a`.
            let lines: Vec<&str> = printed.iter().flat_map(|line| line.split("  ")).collect();
            return Ok((number(field(&lines, name)), None));
        }
        let now = printed.iter().position(|line| line.starts_with("Current"));
        let (most, now) = printed.split_at(now.unwrap());
        let [most, now] = [most, now].map(|lines| number(field(lines, name)));
        Ok((now, Some(most)))
    }

    fn set(&self, _: &str, _: Setting, _: u32) -> io::Result<()> {
        Err(io::Error::other("a record takes nothing"))
    }

    fn features(&self, _: &str) -> io::Result<Vec<Feature>> {
        let lines = self.printed("k")?.iter();
        let lines = lines.filter_map(|line| line.trim().split_once(": "));
        let feature = |(name, state): (&str, &str)| {
            let kernels = FEATURE_NAMES.iter().find(|(known, _)| *known == name);
            let is_on = state.starts_with("on");
            Feature {
                name: kernels.map_or(name, |(_, kernels)| kernels).to_owned(),
                is_on,
                is_wanted: is_on != state.contains("[requested"),
                can_change: !state.contains("[fixed]"),
            }
        };
        Ok(lines.map(feature).collect())
    }

    fn switch_feature(&self, _: &str, _: &str, _: bool) -> io::Result<()> {
        Err(io::Error::other("a record takes nothing"))
    }

    fn receive_hash_table(&self, _: &str) -> io::Result<Vec<u32>> {
        if !self.0.contains_key("ethtool -x eth0") {
            return Err(io::Error::from_raw_os_error(NOT_SUPPORTED));
        }
        // Lines such as `    8:      0     1     2     3`, followed by the hash key.
        let rows = self.printed("x")?.iter();
        let rows = rows.filter_map(|line| line.trim().split_once(':'));
        let rows = rows.filter(|(entry, _)| entry.parse::<u32>().is_ok());
        Ok(rows
            .flat_map(|(_, queues)| queues.split_whitespace())
            .map(number)
            .collect())
    }

    /// Lines such as `[{'id': 8193, 'ifindex': 2, 'irq-suspend-timeout': 0},`.
    fn napis(&self, _: &str) -> io::Result<Vec<Napi>> {
        let napi = |line: &&'static str| {
            let number = |name: &str| {
                let (_, rest) = line.split_once(&format!("'{name}': "))?;
                rest.split([',', '}']).next()?.parse().ok()
            };
            Some(Napi {
                id: u32::try_from(number("id")?).ok()?,
                defer_hard_irqs: number("defer-hard-irqs"),
                flush_timeout_ns: number("gro-flush-timeout"),
                suspend_timeout_ns: number("irq-suspend-timeout"),
                threaded: number("threaded"),
            })
        };
        let printed = self.0.get("ynl --family netdev --dump napi-get");
        let lines = printed.map(Vec::as_slice).unwrap_or_default();
        let mut napis: Vec<Napi> = lines.iter().filter_map(napi).collect();
        napis.sort_by_key(|napi| napi.id);
        Ok(napis)
    }

    fn suspend_for(&self, _: u32, _: u32) -> io::Result<()> {
        Err(io::Error::other("a record takes nothing"))
    }
}
