//! Words for numbers: classes of devices, and the vendors' names where a list is installed.

/// Where Debian's `pci.ids` package and others put the list.
pub(super) const PCI_LIST: &str = "usr/share/misc/pci.ids";

/// Vendor and device by name, from the list's text: a vendor is a line `1af4  Name`, its devices
/// follow it as `\t1041  Name`.
pub(super) fn pci_names(
    list: &str,
    vendor: &str,
    device: &str,
) -> (Option<String>, Option<String>) {
    let mut lines = list
        .lines()
        .skip_while(|line| named(line, vendor).is_none());
    let vendor_name = lines.next().and_then(|line| named(line, vendor));
    let devices = lines.take_while(|line| line.starts_with(['\t', '#']));
    let mut own = devices.filter_map(|line| line.strip_prefix('\t'));
    let device_name = own.find_map(|line| named(line, device));
    (
        vendor_name.map(str::to_owned),
        device_name.map(str::to_owned),
    )
}

fn named<'a>(line: &'a str, number: &str) -> Option<&'a str> {
    line.strip_prefix(number)?.strip_prefix("  ")
}

/// A PCI class from its first two digits, or four where they say more: PCI Code and ID Assignment.
pub(super) fn pci_class(class: &str) -> &'static str {
    const CLASSES: [(&str, &str); 27] = [
        ("0100", "SCSI controller"),
        ("0101", "IDE controller"),
        ("0104", "RAID controller"),
        ("0106", "SATA controller"),
        ("0108", "NVMe controller"),
        ("01", "mass storage controller"),
        ("0200", "Ethernet controller"),
        ("0207", "InfiniBand controller"),
        ("02", "network controller"),
        ("03", "display controller"),
        ("04", "multimedia controller"),
        ("05", "memory controller"),
        ("0600", "host bridge"),
        ("0601", "ISA bridge"),
        ("0604", "PCI bridge"),
        ("06", "bridge"),
        ("07", "communication controller"),
        ("08", "system peripheral"),
        ("09", "input device"),
        ("0b", "processor"),
        ("0c03", "USB controller"),
        ("0c05", "SMBus controller"),
        ("0c", "serial bus controller"),
        ("0d", "wireless controller"),
        ("10", "encryption controller"),
        ("11", "signal processing controller"),
        ("12", "processing accelerator"),
    ];
    let found = CLASSES.iter().find(|(prefix, _)| class.starts_with(prefix));
    found.map_or("unassigned class", |(_, name)| name)
}

/// A USB device class; 00 leaves it to the interfaces (usb.org, Defined Class Codes).
pub(super) fn usb_class(class: &str) -> &'static str {
    match class {
        "00" => "by interface",
        "01" => "audio",
        "02" => "communications",
        "03" => "human interface device",
        "07" => "printer",
        "08" => "mass storage",
        "09" => "hub",
        "0e" => "video",
        "e0" => "wireless",
        "ef" => "miscellaneous",
        _ => "other",
    }
}

/// Names that the kernel or systemd gives by rule; the rest of such a name is numbers and the
/// letters between them. Others, such as `enx` with the hardware's address, may tell of an owner.
pub(super) fn is_given_by_rule(name: &str) -> bool {
    const PREFIXES: [&str; 26] = [
        "lo", "eth", "eno", "ens", "enp", "enP", "wlan", "wlp", "wls", "ib", "ibp", "ibs", "usb",
        "wwan", "bond", "team", "br", "virbr", "docker", "dummy", "ifb", "tun", "tap", "veth",
        "wg", "sit",
    ];
    let rests = PREFIXES
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix));
    let is_number = |rest: &str| {
        let letters = rest.chars().filter(|letter| !letter.is_ascii_digit());
        rest.len() < 12 && { letters }.all(|letter| "sfndpurPv".contains(letter))
    };
    { rests }.any(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# comment\n1af4  Red Hat, Inc.\n\t1041  Virtio network device\n\t\t1af4 1100  QEMU\n\
                        \t1042  Virtio block device\n8086  Intel Corporation\n\t1042  Not this one\n";

    #[test]
    fn a_device_is_named_among_those_of_its_own_vendor() {
        let both = |vendor: &str, device: &str| (Some(vendor.to_owned()), Some(device.to_owned()));
        assert_eq!(
            pci_names(LIST, "1af4", "1042"),
            both("Red Hat, Inc.", "Virtio block device")
        );
        let (vendor, device) = pci_names(LIST, "8086", "1041");
        assert_eq!(
            (vendor.as_deref(), device),
            (Some("Intel Corporation"), None)
        );
        assert_eq!(pci_names(LIST, "ffff", "1041"), (None, None));
        assert_eq!(pci_names("", "1af4", "1041"), (None, None));
    }

    #[test]
    fn the_more_exact_class_is_taken_first() {
        assert_eq!(pci_class("0108"), "NVMe controller");
        assert_eq!(pci_class("0180"), "mass storage controller");
        assert_eq!(pci_class("ffff"), "unassigned class");
    }

    #[test]
    fn a_name_with_an_address_or_a_word_in_it_is_not_given_by_rule() {
        for name in [
            "lo",
            "eth0",
            "enp3s0f1np1",
            "ens5",
            "docker0",
            "eno1",
            "enP4p65s0",
        ] {
            assert!(is_given_by_rule(name), "{name}");
        }
        for name in [
            "enx00005e005301",
            "wg-acme",
            "br-5f2c8a91d0e3",
            "office",
            "vethab12cd3",
        ] {
            assert!(!is_given_by_rule(name), "{name}");
        }
    }
}
