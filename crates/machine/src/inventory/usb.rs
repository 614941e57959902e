//! Devices of the USB.

use model::inventory::UsbDevice;

use super::look::Look;
use super::names;
use super::tables::TABLES;

const FOLDER: &str = "sys/bus/usb/devices";

/// The folder holds interfaces too, which have no number of a device.
pub(super) fn collect(look: &Look) -> Vec<UsbDevice> {
    let names = look.tree().names(FOLDER);
    let mut devices: Vec<_> = names.iter().filter_map(|name| device(look, name)).collect();
    devices.sort_by_key(|device| (device.bus, device.number));
    devices
}

fn device(look: &Look, name: &str) -> Option<UsbDevice> {
    let text = |file: &str| look.text(&format!("{FOLDER}/{name}/{file}"), "USB devices");
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
