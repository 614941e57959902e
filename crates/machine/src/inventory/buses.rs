//! PCI and USB devices.

use model::inventory::{PciDevice, UsbDevice};

use super::look::Look;
use super::names;
use super::tables::TABLES;

const PCI: &str = "sys/bus/pci/devices";
const USB: &str = "sys/bus/usb/devices";

pub(super) fn pci(look: &Look) -> Vec<PciDevice> {
    let list = look.tree().text(names::PCI_LIST).unwrap_or_default();
    let slots = look.tree().names(PCI);
    slots
        .iter()
        .filter_map(|slot| pci_device(look, slot, &list))
        .collect()
}

fn pci_device(look: &Look, slot: &str, list: &str) -> Option<PciDevice> {
    let text = |file: &str| look.text(&format!("{PCI}/{slot}/{file}"), "PCI devices");
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
        driver: look.tree().link_name(&format!("{PCI}/{slot}/driver")),
        // −1, which does not parse, where the firmware does not say.
        numa_node: text("numa_node").and_then(|node| node.parse().ok()),
        link: link(text("current_link_speed"), text("current_link_width")),
    })
}

/// Speed and width of a PCI link. Where there is no link, the width is 0 or 255.
fn link(speed: Option<String>, width: Option<String>) -> Option<String> {
    let lanes: u32 = width?.parse().ok()?;
    (1..=32)
        .contains(&lanes)
        .then_some(format!("{} ×{lanes}", speed?))
}

/// USB devices. Their folder also holds interfaces, which have no device number.
pub(super) fn usb(look: &Look) -> Vec<UsbDevice> {
    let names = look.tree().names(USB);
    let mut devices: Vec<_> = names
        .iter()
        .filter_map(|name| usb_device(look, name))
        .collect();
    devices.sort_unstable_by_key(|device| (device.bus, device.number));
    devices
}

fn usb_device(look: &Look, name: &str) -> Option<UsbDevice> {
    let text = |file: &str| look.text(&format!("{USB}/{name}/{file}"), "USB devices");
    Some(UsbDevice {
        bus: text("busnum")?.parse().ok()?,
        number: text("devnum")?.parse().ok()?,
        vendor: text("idVendor")?,
        product: text("idProduct")?,
        class_name: names::class_name(&TABLES.usb_classes, &text("bDeviceClass")?)
            .unwrap_or_else(|| "other".to_owned()),
        speed_mbit: text("speed").and_then(|speed| speed.parse().ok()),
        serial: look.full().then(|| text("serial")).flatten(),
    })
}
