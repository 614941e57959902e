//! The interrupts of a network device, and other programs that move them.

use std::collections::BTreeSet;

use super::knob::{self, DeviceName};
use super::{Knob, Obstacle, Site};
use crate::tree::Tree;

/// The service that redistributes interrupts every 10 seconds (irqbalance(1)).
const BALANCER: &str = "irqbalance";

/// The interrupts of the device, in order of their numbers.
///
/// # Errors
/// Where the device has none, as is the case for virtual ones.
pub(super) fn of_device(site: &Site) -> Result<Vec<Knob>, Obstacle> {
    let (tree, device) = (&site.tree, site.device()?);
    let mut numbers = signalled_by_messages(tree, device);
    if numbers.is_empty() {
        numbers = by_name(tree, device);
    }
    if numbers.is_empty() {
        let words = format!("{device} has no interrupt of its own that is in use");
        return Err(Obstacle::Absent(words));
    }
    let knob = |number| Knob::Interrupt {
        number,
        action: knob::action(tree, number),
    };
    Ok(numbers.into_iter().map(knob).collect())
}

/// The interrupts of a PCI device that signals them by messages (`msi_irqs` of
/// Documentation/ABI/testing/sysfs-bus-pci). For a virtio device, they belong to the PCI device
/// below it.
fn signalled_by_messages(tree: &Tree, device: &DeviceName) -> BTreeSet<u32> {
    let hardware = format!("sys/class/net/{device}/device");
    let bus = tree.link_name(&format!("{hardware}/subsystem"));
    let carrier = if bus.as_deref() == Some("virtio") {
        format!("{hardware}/..")
    } else {
        hardware
    };
    let names = tree.names(&format!("{carrier}/msi_irqs"));
    let numbers = names.iter().filter_map(|name| name.parse().ok());
    numbers.filter(|number| is_in_use(tree, *number)).collect()
}

/// Whether a driver has requested the interrupt. For others, such as those of a device that is
/// down, the kernel shows no settings (`register_irq_proc` of kernel/irq/proc.c).
fn is_in_use(tree: &Tree, number: u32) -> bool {
    !tree.names(&format!("proc/irq/{number}")).is_empty()
}

/// The interrupts whose line in `/proc/interrupts` ends with the device's name, or with the name, a
/// hyphen and the name of a queue, as drivers call them.
fn by_name(tree: &Tree, device: &DeviceName) -> BTreeSet<u32> {
    let is_its = |name: &str| {
        let rest = name.strip_prefix(device.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let lines = tree.text("proc/interrupts").unwrap_or_default();
    let numbers = lines.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        // The line of a shared interrupt ends with `first, second`.
        let mut names = rest.split([' ', ',']);
        names.any(is_its).then(|| number.trim().parse().ok())?
    });
    numbers.collect()
}

/// Checks that no other program moves these interrupts while they are set by us.
///
/// # Errors
/// Names the program that does, and how to exclude the interrupts there.
pub(super) fn stay_where_they_are_put(tree: &Tree, numbers: &[u32]) -> Result<(), Obstacle> {
    if numbers.is_empty() {
        return Ok(());
    }
    let is_balancer =
        |process: &String| tree.text(&format!("proc/{process}/comm")).as_deref() == Some(BALANCER);
    let mut processes = tree
        .names("proc")
        .into_iter()
        .filter(|name| is_number(name));
    let Some(process) = processes.find(is_balancer) else {
        return Ok(());
    };
    let command = tree.text(&format!("proc/{process}/cmdline"));
    let left = left_alone(&command.unwrap_or_default());
    let moved: Vec<String> = numbers
        .iter()
        .filter(|number| !left.contains(number))
        .map(|number| format!("--banirq={number}"))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    let bans = moved.join(" ");
    Err(Obstacle::Advice(format!(
        "{BALANCER} (process {process}) redistributes interrupts every 10 seconds and would move \
         these as well; exclude them: add {bans} to IRQBALANCE_ARGS in /etc/default/{BALANCER} \
         (/etc/sysconfig/{BALANCER} on Fedora and SUSE), then systemctl restart {BALANCER}; or \
         stop it until after the undo: systemctl stop {BALANCER}"
    )))
}

/// The interrupts that irqbalance was told to leave alone, by its command line. Its words end with
/// zero bytes; each interrupt is excluded by `--banirq=NUMBER` or `-i NUMBER`.
fn left_alone(command: &str) -> BTreeSet<u32> {
    let words: Vec<&str> = command.split('\0').collect();
    let after_flag = words.windows(2).filter_map(|pair| {
        let is_flag = ["-i", "--banirq"].contains(&pair[0]);
        is_flag.then(|| pair[1])
    });
    let joined = words.iter().filter_map(|word| {
        let long = word.strip_prefix("--banirq=");
        long.or_else(|| word.strip_prefix("-i"))
    });
    let numbers = joined.chain(after_flag);
    numbers.filter_map(|number| number.parse().ok()).collect()
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levers::{Plan, find};
    use crate::tree::planted::Planted;

    const ONLINE: (&str, &str) = ("sys/devices/system/cpu/online", "0-1\n");
    /// Lines of e1000e and of a device without messages, among others.
    const LINES: (&str, &str) = (
        "proc/interrupts",
        "           CPU0       CPU1
  9:          0          0   IO-APIC   9-fasteoi   acpi
 11:         12          0   IO-APIC  11-fasteoi   ehci_hcd:usb1, eth1
 24:       5077          0   PCI-MSI 65536-edge      eth0-rx-0
 25:       3100          0   PCI-MSI 65537-edge      eth0-tx-0
126:          2          0   PCI-MSI 65538-edge      eth0
127:          2          0   PCI-MSI 65539-edge      eth01
NMI:          0          0   Non-maskable interrupts
",
    );

    /// A machine with these interrupts, all of which may be served anywhere.
    fn machine(test: &str, numbers: &[u32], more: &[(&str, &str)]) -> Planted {
        let files = numbers.iter().map(|number| affinity(*number));
        let files: Vec<String> = files.collect();
        let anywhere = files.iter().map(|file| (file.as_str(), "0-1\n"));
        let planted: Vec<_> = anywhere.chain([ONLINE]).chain(more.to_vec()).collect();
        Planted::new(&format!("interrupts-{test}"), &planted)
    }

    fn affinity(number: u32) -> String {
        format!("proc/irq/{number}/smp_affinity_list")
    }

    fn plan(machine: &Planted, device: &str, value: &str) -> Result<Plan, Obstacle> {
        let site = Site::below(&machine.tree, Some(device));
        find("interrupt-affinity").unwrap().plan(&site, Some(value))
    }

    fn echoes(rows: &[(u32, &str)]) -> Vec<String> {
        let echo = |(number, cpus): &(u32, &str)| format!("echo {cpus} > /{}", affinity(*number));
        rows.iter().map(echo).collect()
    }

    #[test]
    fn spread_gives_each_interrupt_one_cpu_after_the_other() {
        let machine = machine("spread", &[11, 24, 25, 126, 127], &[LINES]);
        let spread = plan(&machine, "eth0", "spread").unwrap();
        assert_eq!(
            spread.commands(),
            echoes(&[(24, "0"), (25, "1"), (126, "0")])
        );
        let back = echoes(&[(126, "0-1"), (25, "0-1"), (24, "0-1")]);
        assert_eq!(spread.undo_commands(), back);
        let one = plan(&machine, "eth0", "1").unwrap();
        assert_eq!(one.commands(), echoes(&[(24, "1"), (25, "1"), (126, "1")]));
        let shared = plan(&machine, "eth1", "1").unwrap();
        assert_eq!(shared.commands(), echoes(&[(11, "1")]));
    }

    #[test]
    fn interrupts_by_messages_are_those_that_the_bus_lists() {
        let listed = [
            ("sys/class/net/eth0/device/msi_irqs/9", "msix\n"),
            ("sys/class/net/eth0/device/msi_irqs/30", "msix\n"),
            // Nobody has asked for this one.
            ("sys/class/net/eth0/device/msi_irqs/31", "msix\n"),
        ];
        let more = [&listed[..], &[LINES]].concat();
        let machine = machine("messages", &[9, 30], &more);
        let spread = plan(&machine, "eth0", "spread").unwrap();
        assert_eq!(spread.commands(), echoes(&[(9, "0"), (30, "1")]));
    }

    #[test]
    fn the_interrupts_of_a_virtio_device_are_listed_by_its_carrier() {
        let listed = [
            ("sys/devices/pci/msi_irqs/40", "msix\n"),
            ("sys/devices/pci/virtio0/uevent", ""),
            ("sys/class/net/eth0/ifindex", "2\n"),
            ("sys/bus/virtio/uevent", ""),
        ];
        let machine = machine("virtio", &[40], &listed);
        let path = |file: &str| machine.tree.path(file);
        let link = |from: &str, to: &str| std::os::unix::fs::symlink(path(to), path(from)).unwrap();
        link("sys/class/net/eth0/device", "sys/devices/pci/virtio0");
        link("sys/devices/pci/virtio0/subsystem", "sys/bus/virtio");
        let plan = plan(&machine, "eth0", "1").unwrap();
        assert_eq!(plan.commands(), echoes(&[(40, "1")]));
    }

    #[test]
    fn a_service_that_would_move_them_back_is_named_and_nothing_is_set() {
        let balancer = ("proc/812/comm", "irqbalance\n");
        let other = ("proc/7/comm", "sshd\n");
        let machine = machine("balanced", &[24, 25, 126], &[LINES, balancer, other]);
        let said = plan(&machine, "eth0", "0").unwrap_err().to_string();
        assert!(said.contains("irqbalance (process 812)"), "{said}");
        assert!(said.contains("systemctl stop irqbalance"), "{said}");
        let bans = "add --banirq=24 --banirq=25 --banirq=126 to IRQBALANCE_ARGS";
        assert!(said.contains(bans), "{said}");
        let site = Site::below(&machine.tree, Some("eth0"));
        let lever = find("interrupt-affinity").unwrap();
        assert!(lever.may_set(&site).is_err());
        assert_eq!(lever.read(&site).unwrap().now, "0-1");
    }

    #[test]
    fn interrupts_that_the_service_was_told_to_leave_alone_are_set() {
        let told = |more: &str| {
            format!("/usr/sbin/irqbalance\0--foreground\0--banirq=24\0-i\x0025{more}\0")
        };
        let of = |test: &str, command: &str| {
            let running = [
                ("proc/812/comm", "irqbalance\n"),
                ("proc/812/cmdline", command),
                LINES,
            ];
            let machine = machine(test, &[24, 25, 126], &running);
            plan(&machine, "eth0", "0").map(|plan| plan.steps.len())
        };
        assert_eq!(of("all-left", &told("\0--banirq=126")).unwrap(), 3);
        let said = of("two-left", &told("\0-d")).unwrap_err().to_string();
        assert!(said.contains("add --banirq=126 to"), "{said}");
    }

    #[test]
    fn an_interrupt_is_known_by_who_has_asked_for_it() {
        let asked = [
            ("sys/kernel/irq/24/actions", "eth0-rx-0\n"),
            ("sys/kernel/irq/25/actions", "eth0-tx-0\n"),
            ("sys/kernel/irq/126/actions", "\n"),
            LINES,
        ];
        let machine = machine("asked", &[24, 25, 126], &asked);
        let plan = plan(&machine, "eth0", "0").unwrap();
        let of = |number, action: Option<&str>| Knob::Interrupt {
            number,
            action: action.map(str::to_owned),
        };
        let knobs: Vec<Knob> = plan.steps.into_iter().map(|step| step.knob).collect();
        let wanted = [
            of(24, Some("eth0-rx-0")),
            of(25, Some("eth0-tx-0")),
            of(126, None),
        ];
        assert_eq!(knobs, wanted);
    }

    #[test]
    fn what_is_no_list_of_cpus_or_of_a_device_without_interrupts_is_refused() {
        let machine = machine("refused", &[24, 25, 126], &[LINES]);
        for value in ["none", "", "all", "1-"] {
            let said = plan(&machine, "eth0", value).unwrap_err().to_string();
            let expected = "expected a list of CPUs such as 0-3,8, or spread for one CPU each";
            assert!(said.contains(expected), "{value}: {said}");
        }
        let said = plan(&machine, "veth0", "0").unwrap_err().to_string();
        assert_eq!(said, "veth0 has no interrupt of its own that is in use");
    }
}
