//! Devices of the PCI bus.

use model::inventory::PciDevice;

use super::look::Look;
use super::names;
use super::tables::TABLES;

const FOLDER: &str = "sys/bus/pci/devices";

pub(super) fn collect(look: &Look) -> Vec<PciDevice> {
    let list = look.tree().text(names::PCI_LIST).unwrap_or_default();
    let slots = look.tree().names(FOLDER);
    slots
        .iter()
        .filter_map(|slot| device(look, slot, &list))
        .collect()
}

fn device(look: &Look, slot: &str, list: &str) -> Option<PciDevice> {
    let text = |file: &str| look.text(&format!("{FOLDER}/{slot}/{file}"), "PCI devices");
    let digits = |file: &str| text(file)?.strip_prefix("0x")?.get(..4).map(str::to_owned);
    let (class, vendor, device) = (digits("class")?, digits("vendor")?, digits("device")?);
    let (vendor_name, device_name) = names::pci_names(list, &vendor, &device);
    Some(PciDevice {
        slot: slot.to_owned(),
        class_name: names::class_name(&TABLES.pci_classes, &class)
            .unwrap_or_else(|| "unassigned class".to_owned()),
        class,
        vendor,
        device,
        vendor_name,
        device_name,
        driver: look.tree().link_name(&format!("{FOLDER}/{slot}/driver")),
        // −1 where the firmware does not say.
        numa_node: text("numa_node").and_then(|node| node.parse().ok()),
        link: link(text("current_link_speed"), text("current_link_width")),
    })
}

/// A link that is not there has width 0, or 255.
fn link(speed: Option<String>, width: Option<String>) -> Option<String> {
    let lanes: u32 = width?.parse().ok()?;
    (1..=32)
        .contains(&lanes)
        .then_some(format!("{} ×{lanes}", speed?))
}
