//! Collects the facts of this machine by an allow-list, so that names, addresses and serial numbers
//! stay out unless they are asked for.

use std::collections::BTreeMap;

use model::facts::{Facts, Identity};

use crate::inventory::tables::TABLES;
use crate::tree::Tree;
use crate::{cpus, irq_time};

/// The facts of this machine; with `full`, names and addresses too.
pub fn collect(full: bool) -> Facts {
    Facts {
        irq_time_accounting: Some(irq_time::probe()),
        ..collect_from(&Tree::of_this_machine(), full)
    }
}

pub(crate) fn collect_from(tree: &Tree, full: bool) -> Facts {
    let cpuinfo = tree.text("proc/cpuinfo").unwrap_or_default();
    let text = |file: &str| tree.text(file).unwrap_or_default();
    let online = tree.online_cpus().unwrap_or_default();
    Facts {
        kernel_release: text("proc/sys/kernel/osrelease"),
        architecture: std::env::consts::ARCH.to_owned(),
        distribution: distribution(tree),
        cpu_model: cpu_model(&cpuinfo).unwrap_or_else(|| "unknown".to_owned()),
        cpus_online: u32::try_from(online.len()).unwrap_or(u32::MAX),
        cpus_allowed: sys::cpu::format_list(&sys::cpu::allowed().unwrap_or_default()),
        cpu_quota: cpus::quota_in(tree),
        memory_bytes: tree.memory_kib().unwrap_or(0).saturating_mul(1024),
        virtualisation: virtualisation(tree, &cpuinfo),
        clocksource: tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        frequency_governor: tree.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        halt_poll_ns: tree.number("sys/module/haltpoll/parameters/guest_halt_poll_ns"),
        congestion_control: tree.text("proc/sys/net/ipv4/tcp_congestion_control"),
        irq_time_accounting: None,
        mitigations: mitigations(tree),
        identity: full.then(|| identity(tree)),
    }
}

/// The name that the distribution gives itself.
fn distribution(tree: &Tree) -> Option<String> {
    let name = tree.behind("etc/os-release", "PRETTY_NAME=")?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// The first processor's name. Machines without a `model name`, such as Arm ones, give the numbers
/// of implementer and part; their `Serial` and `Hardware` lines are left alone.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let value = |wanted: &str| first_value(cpuinfo, wanted);
    value("model name").or_else(|| {
        let (implementer, part) = (value("CPU implementer")?, value("CPU part")?);
        Some(format!("implementer {implementer}, part {part}"))
    })
}

/// The value of this key in `/proc/cpuinfo`, from the first processor that has it.
pub(crate) fn first_value(cpuinfo: &str, wanted: &str) -> Option<String> {
    let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = pairs.find(|(key, _)| key.trim() == wanted)?;
    Some(value.trim().to_owned())
}

/// What the hypervisor calls itself, from the least personal signs: its interface, the maker of the
/// virtual board, its clock. The name of the product stays out, since owners may choose it.
fn virtualisation(tree: &Tree, cpuinfo: &str) -> Option<String> {
    let maker = tree.text("sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let clocks = tree
        .text("sys/devices/system/clocksource/clocksource0/available_clocksource")
        .unwrap_or_default();
    let is_guest = cpuinfo.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    tree.text("sys/hypervisor/type")
        .map(|kind| kind.chars().filter(char::is_ascii_alphanumeric).collect())
        .or_else(|| name_for(&TABLES.makers, std::iter::once(&*maker)))
        .or_else(|| name_for(&TABLES.clocks, clocks.split_whitespace()))
        .or_else(|| is_guest.then(|| "a hypervisor that does not name itself".to_owned()))
}

/// The hypervisor that the first known word stands for, by a table of such words.
fn name_for<'w>(
    table: &[(String, String)],
    mut words: impl Iterator<Item = &'w str>,
) -> Option<String> {
    words.find_map(|word| {
        let (_, name) = table.iter().find(|(known, _)| known == word)?;
        Some(name.clone())
    })
}

/// The kernel's state for each processor vulnerability, by the vulnerability's name.
pub(crate) fn mitigations(tree: &Tree) -> BTreeMap<String, String> {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let states = tree.names(FOLDER).into_iter().filter_map(|name| {
        let state = tree.text(&format!("{FOLDER}/{name}"))?;
        Some((name, state))
    });
    states.collect()
}

fn identity(tree: &Tree) -> Identity {
    Identity {
        host_name: tree.text("proc/sys/kernel/hostname").unwrap_or_default(),
        user_name: user_name(tree).unwrap_or_default(),
        addresses: addresses(&tree.text("proc/net/fib_trie").unwrap_or_default()),
    }
}

/// The name of the effective user, looked up in `/etc/passwd` alone.
fn user_name(tree: &Tree) -> Option<String> {
    let ids = tree.behind("proc/self/status", "Uid:")?;
    let user = ids.split_whitespace().nth(1)?;
    let passwd = tree.text("etc/passwd")?;
    let mut entries = passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let entry = entries.find(|fields| fields.get(2) == Some(&user))?;
    entry.first().map(|name| (*name).to_owned())
}

/// Our IPv4 addresses: in the routing trie, such a leaf is `|-- ADDRESS` followed by `host LOCAL`.
fn addresses(fib_trie: &str) -> Vec<String> {
    let mut found = std::collections::BTreeSet::new();
    let mut leaf = None;
    for line in fib_trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = Some(address);
        } else if line.ends_with("host LOCAL") {
            found.extend(leaf.filter(|address| !address.starts_with("127.")));
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    const FIB_TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     \
                            |-- 192.0.2.17\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n";

    /// A machine full of names, addresses and serial numbers.
    fn telling() -> Planted {
        Planted::new(
            &format!("telling-{:?}", std::thread::current().id()),
            &[
                ("proc/sys/kernel/hostname", "planted-host\n"),
                ("etc/hostname", "planted-host\n"),
                ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
                (
                    "proc/version",
                    "Linux version 6.1 (planted-user@planted-host) gcc\n",
                ),
                (
                    "proc/cmdline",
                    "BOOT_IMAGE=/vmlinuz ip=192.0.2.17 planted-token\n",
                ),
                (
                    "proc/cpuinfo",
                    "CPU implementer : 0x41\nCPU part\t: 0xd0c\nSerial\t: planted-serial\nflags : fpu hypervisor\n",
                ),
                (
                    "proc/self/status",
                    "Name:\tlinerate\nUid:\t1000\t1000\t1000\t1000\n",
                ),
                ("proc/net/fib_trie", FIB_TRIE),
                (
                    "etc/passwd",
                    "root:x:0:0::/root:/bin/sh\nplanted-user:x:1000:1000::/home/planted-user:/bin/sh\n",
                ),
                (
                    "etc/os-release",
                    "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVENDOR_ID=planted-vendor\n",
                ),
                ("sys/class/dmi/id/sys_vendor", "planted-maker\n"),
                ("sys/class/dmi/id/product_serial", "planted-serial\n"),
                ("sys/class/dmi/id/product_name", "planted-product\n"),
                ("sys/class/net/eth0/address", "00:00:5e:00:53:01\n"),
            ],
        )
    }

    #[test]
    fn no_name_address_or_serial_number_gets_into_the_facts() {
        let planted = telling();
        let facts = format!("{:?}", collect_from(&planted.tree, false));
        for secret in ["planted", "192.0.2.17", "00:00:5e"] {
            assert!(!facts.contains(secret), "{secret} is in {facts}");
        }
        assert!(facts.contains("Debian GNU/Linux 12") && facts.contains("0xd0c"));
    }

    #[test]
    fn with_full_the_names_and_addresses_are_there_and_only_in_the_identity() {
        let planted = telling();
        let facts = collect_from(&planted.tree, true);
        let identity = facts.identity.clone().unwrap();
        assert_eq!(identity.host_name, "planted-host");
        assert_eq!(identity.user_name, "planted-user");
        assert_eq!(identity.addresses, ["192.0.2.17"]);
        assert_eq!(
            Facts {
                identity: None,
                ..facts
            },
            collect_from(&planted.tree, false)
        );
    }

    #[test]
    fn an_empty_machine_gives_empty_facts() {
        let facts = collect_from(&Tree::below("/nonexistent"), true);
        assert_eq!(
            (facts.cpu_model.as_str(), facts.memory_bytes),
            ("unknown", 0)
        );
        assert_eq!((facts.distribution, facts.virtualisation), (None, None));
    }

    #[test]
    fn the_hypervisor_is_known_by_its_maker_or_its_clock_or_not_at_all() {
        let by_clock = |clocks: &'static str| name_for(&TABLES.clocks, clocks.split(' '));
        let by_maker = |maker| name_for(&TABLES.makers, std::iter::once(maker));
        assert_eq!(by_maker("Amazon EC2").as_deref(), Some("Amazon EC2"));
        assert_eq!(by_clock("tsc kvm-clock acpi_pm").as_deref(), Some("KVM"));
        assert_eq!(by_clock("tsc hpet"), None);
        let planted = telling();
        let found = collect_from(&planted.tree, false).virtualisation.unwrap();
        assert_eq!(found, "a hypervisor that does not name itself");
    }

    #[test]
    fn this_machine_has_a_kernel_a_processor_and_memory() {
        let facts = collect(false);
        assert!(facts.kernel_release.contains('.') && facts.cpus_online > 0);
        assert!(facts.memory_bytes > 1 << 20 && !facts.cpus_allowed.is_empty());
    }
}
