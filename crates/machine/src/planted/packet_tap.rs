//! `packet-tap=N`: idle sockets that receive every packet, like the one that a DHCP client holds.

use std::collections::HashSet;
use sys::packet::Tap;

use super::{Held, PlantedError, ours};
use crate::rig;

const NAME: &str = "packet-tap";
/// The kernel's list of taps in the network namespace of this process.
const LIST: &str = "/proc/net/packet";

/// Opens `count` packet sockets bound to all protocols, in a namespace of our own or on a host of a
/// rig. They may be on such a host, since they end with this process.
pub(super) fn hold(count: u16) -> Result<HeldTaps, PlantedError> {
    if !rig::is_inside() {
        ours(NAME)?;
    }
    let opened: Result<Vec<_>, _> = (0..count).map(|_| Tap::open()).collect();
    let taps = opened.map_err(refused("opening a packet socket"))?;
    Ok(HeldTaps(taps))
}

/// Sockets that receive every packet.
pub(super) struct HeldTaps(Vec<Tap>);

impl HeldTaps {
    fn inodes(&self) -> Result<Vec<u64>, PlantedError> {
        let inodes: Result<Vec<_>, _> = self.0.iter().map(Tap::inode).collect();
        inodes.map_err(refused("looking at a packet socket"))
    }
}

impl Held for HeldTaps {
    fn verify(&self) -> Result<(), PlantedError> {
        let listed = listed()?;
        let missing = self
            .inodes()?
            .iter()
            .filter(|inode| !listed.contains(*inode))
            .count();
        if missing == 0 {
            return Ok(());
        }
        let what = format!("{missing} of {} sockets are not in {LIST}", self.0.len());
        Err(PlantedError::without_effect(NAME, &what))
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        let inodes = self.inodes()?;
        drop(self);
        let listed = listed()?;
        if inodes.iter().any(|inode| listed.contains(inode)) {
            let what = format!("closed sockets are still in {LIST}");
            return Err(PlantedError::without_effect(NAME, &what));
        }
        Ok(())
    }
}

fn listed() -> Result<HashSet<u64>, PlantedError> {
    let text = std::fs::read_to_string(LIST).map_err(refused("reading the taps"))?;
    Ok(crate::packet_list::parse(&text)
        .iter()
        .map(|tap| tap.inode)
        .collect())
}

fn refused(doing: &'static str) -> impl Fn(std::io::Error) -> PlantedError {
    PlantedError::refused(NAME, doing)
}
