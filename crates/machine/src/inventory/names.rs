//! Words for numbers: classes of devices, and names of vendors and devices where a list is
//! installed.

use super::tables::TABLES;

/// Where Debian's `pci.ids` package, among others, puts the list.
pub(super) const PCI_LIST: &str = "usr/share/misc/pci.ids";

/// Names of a vendor and its device from the list's text. A vendor is a line `1af4  Name`; lines
/// `\t1041  Name` for its devices follow it.
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

/// The name of the first class whose prefix the given class has.
pub(super) fn class_name(classes: &[(String, String)], class: &str) -> Option<String> {
    let found = classes
        .iter()
        .find(|(prefix, _)| class.starts_with(&**prefix));
    found.map(|(_, name)| name.clone())
}

/// Whether a device's name follows a rule of the kernel or of systemd: after a known prefix it has
/// only digits and the letters between them. Other names, such as `enx` with the hardware address,
/// may identify an owner.
pub(super) fn is_given_by_rule(name: &str) -> bool {
    let prefixes = TABLES.device_prefixes.iter();
    let rests = prefixes.filter_map(|prefix| name.strip_prefix(&**prefix));
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
        let name = |class| class_name(&TABLES.pci_classes, class);
        assert_eq!(name("0108").as_deref(), Some("NVMe controller"));
        assert_eq!(name("0180").as_deref(), Some("mass storage controller"));
        assert_eq!(name("ffff"), None);
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
