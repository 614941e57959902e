//! Block devices and their partitions.

use model::inventory::Disk;

use super::look::Look;
use super::tables::TABLES;
use crate::tree::chosen;

const FOLDER: &str = "sys/class/block";
const WHAT: &str = "disks";
/// The kernel gives sizes in sectors of 512 bytes, whatever the device's own sector size is.
const SECTOR_BYTES: u64 = 512;
/// All block devices but the empty loop devices, of which there are many.
pub(super) fn collect(look: &Look) -> Vec<Disk> {
    let mounts = look
        .text("proc/self/mountinfo", "mount points")
        .unwrap_or_default();
    let names = look.tree().names(FOLDER);
    let disks = names.iter().map(|name| disk(look, name, &mounts));
    disks
        .filter(|disk| disk.size_bytes > 0 || !disk.name.starts_with("loop"))
        .collect()
}

fn disk(look: &Look, name: &str, mounts: &str) -> Disk {
    let text = |file: &str| look.text(&format!("{FOLDER}/{name}/{file}"), WHAT);
    let is = |file: &str| text(file).map(|text| text == "1");
    let number = |file: &str| text(file)?.parse().ok();
    let device = text("dev").unwrap_or_default();
    let sectors = text("size").and_then(|sectors| sectors.parse::<u64>().ok());
    Disk {
        name: name.to_owned(),
        part_of: part_of(look, name),
        size_bytes: sectors.unwrap_or(0) * SECTOR_BYTES,
        model: text("device/model"),
        is_rotational: is("queue/rotational"),
        is_read_only: is("ro"),
        is_removable: is("removable"),
        scheduler: text("queue/scheduler").map(|text| chosen(&text).unwrap_or(text)),
        logical_block_bytes: number("queue/logical_block_size"),
        physical_block_bytes: number("queue/physical_block_size"),
        queue_requests: number("queue/nr_requests"),
        mount_points: mount_points(mounts, &device, look.full()),
        serial: serial(look, name),
    }
}

/// The disk of a partition: a partition's entry is a link to a folder within that of its disk.
fn part_of(look: &Look, name: &str) -> Option<String> {
    look.tree().text(&format!("{FOLDER}/{name}/partition"))?;
    let path = std::fs::canonicalize(look.tree().path(&format!("{FOLDER}/{name}"))).ok()?;
    let disk = path.parent()?.file_name()?;
    Some(disk.to_string_lossy().into_owned())
}

/// Where a device, given as MAJOR:MINOR, is mounted. For the fields see proc_pid_mountinfo(5).
fn mount_points(mounts: &str, device: &str, full: bool) -> Vec<String> {
    let points = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(2);
        let (found, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        (found == device && root == "/").then_some(point)
    });
    let shown =
        points.filter(|point| full || TABLES.mount_points.iter().any(|usual| usual == point));
    let points: std::collections::BTreeSet<_> = shown.map(str::to_owned).collect();
    points.into_iter().collect()
}

fn serial(look: &Look, name: &str) -> Option<String> {
    let text = |file: &str| look.text(&format!("{FOLDER}/{name}/{file}"), "serial numbers");
    let serial = || text("serial").or_else(|| text("device/serial"));
    look.full()
        .then(serial)
        .flatten()
        .filter(|serial| !serial.is_empty())
}
