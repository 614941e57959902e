//! What a network device and its driver can do and are set to: the requests of ethtool(8), by the
//! one ioctl that every kernel has answered. Layouts: linux/ethtool.h.

mod setting;

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::{check, socket};
pub use setting::Setting;

const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_SET_SIZES: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_HASH_TABLE: u32 = 0x38;
/// The set of strings that names the features (`ETH_SS_FEATURES`).
const FEATURE_NAMES: u32 = 4;
/// Length of each string of a set (`ETH_GSTRING_LEN`).
const NAME_BYTES: usize = 32;
/// Features per block of the answer, one bit each.
const BLOCK_BITS: usize = 32;
/// More features than any kernel has; 64 are in use.
const MOST_FEATURES: usize = 4096;

/// More entries than any card's table of queues has; the largest known has 2048.
const MOST_ENTRIES: usize = 1 << 16;

/// Parts of the names of features by which a device leaves work on sent packets to hardware:
/// filling in checksums, cutting packets to the MTU, putting VLAN tags in.
const SENDING_WORK: [&str; 5] = ["checksum", "segmentation", "-gso-", "-udp-", "-vlan-"];

/// Asks about network devices of the caller's network namespace.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

/// A driver and where its device sits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    pub name: String,
    /// Such as 0000:00:03.0; empty for a virtual device.
    pub bus: String,
}

/// One feature of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    pub name: String,
    pub is_on: bool,
    /// Whether somebody has asked for it, or the driver at its start. It is off nevertheless while
    /// something that it needs is off, and comes on with that.
    pub is_wanted: bool,
    pub can_change: bool,
}

impl Feature {
    fn leaves_sending_work(&self) -> bool {
        let mut parts = SENDING_WORK.iter();
        self.is_on && self.name.starts_with("tx-") && parts.any(|part| self.name.contains(part))
    }
}

impl Ethtool {
    /// Opens the socket through which devices are asked.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn open() -> io::Result<Self> {
        let socket = socket::control()?;
        Ok(Self { socket })
    }

    /// Returns the driver of a device.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for a device whose driver does not answer, `ENODEV` when it is gone.
    pub fn driver(&self, device: &str) -> io::Result<Driver> {
        // cmd, driver[32], version[32], fw_version[32], bus_info[32], and the rest.
        let mut answer = [0_u32; 49];
        self.ask(device, GET_DRIVER, &mut answer)?;
        let bytes = bytes(&answer[1..]);
        Ok(Driver {
            name: string(&bytes[..NAME_BYTES]),
            bus: string(&bytes[3 * NAME_BYTES..4 * NAME_BYTES]),
        })
    }

    /// The features of a device, in the kernel's order and by the kernel's names.
    ///
    /// # Errors
    /// As [`Self::driver`].
    pub fn features(&self, device: &str) -> io::Result<Vec<Feature>> {
        let numbered = self.numbered_features(device)?.into_iter();
        Ok(numbered.map(|(_, feature)| feature).collect())
    }

    /// Has a device leave none of its sending work to hardware. Packets then come out of it as they
    /// would be on a wire, for programs that receive them from a virtual device.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`; as [`Self::driver`]; `ErrorKind::Unsupported` with the
    /// names of the features that stay on.
    pub fn finish_packets_in_software(&self, device: &str) -> io::Result<()> {
        let working = |features: Vec<(usize, Feature)>| {
            let working = features
                .into_iter()
                .filter(|(_, feature)| feature.leaves_sending_work());
            working.collect::<Vec<_>>()
        };
        let bits: Vec<usize> = working(self.numbered_features(device)?)
            .into_iter()
            .map(|(bit, _)| bit)
            .collect();
        self.switch(device, &bits, false)?;
        let still = working(self.numbered_features(device)?);
        if still.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = still.into_iter().map(|(_, feature)| feature.name).collect();
        let what = format!("{device} goes on with {}", names.join(", "));
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    /// The features of a device, each with the bit by which the kernel knows it.
    fn numbered_features(&self, device: &str) -> io::Result<Vec<(usize, Feature)>> {
        let names = self.feature_names(device)?;
        let blocks = names.len().div_ceil(BLOCK_BITS);
        // cmd, number of blocks, and for each: available, requested, active, never changed.
        let mut answer = vec![0_u32; 2 + 4 * blocks];
        answer[1] = u32::try_from(blocks).unwrap_or(0);
        self.ask(device, GET_FEATURES, &mut answer)?;
        let bit = |at: usize, field: usize| {
            let block = answer[2 + 4 * (at / BLOCK_BITS) + field];
            block >> (at % BLOCK_BITS) & 1 == 1
        };
        let features = names.into_iter().enumerate();
        let present = features.filter(|(_, name)| !name.is_empty());
        let feature = |(at, name)| {
            let can_change = bit(at, 0) && !bit(at, 3);
            (
                at,
                Feature {
                    name,
                    is_on: bit(at, 2),
                    is_wanted: bit(at, 1),
                    can_change,
                },
            )
        };
        Ok(present.map(feature).collect())
    }

    /// Switches the feature of that name. [`Self::features`] tells whether that took effect:
    /// something that the feature needs may be off.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`; as [`Self::driver`]; `ErrorKind::NotFound` where the kernel
    /// knows no feature of that name.
    pub fn switch_feature(&self, device: &str, name: &str, on: bool) -> io::Result<()> {
        let mut features = self.numbered_features(device)?.into_iter();
        let found = features.find(|(_, feature)| feature.name == name);
        let (bit, _) = found.ok_or(io::ErrorKind::NotFound)?;
        self.switch(device, &[bit], on)
    }

    fn switch(&self, device: &str, bits: &[usize], on: bool) -> io::Result<()> {
        // The kernel takes as many blocks as it has, and no fewer.
        let blocks = self.feature_names(device)?.len().div_ceil(BLOCK_BITS);
        // cmd, number of blocks, and for each: which features change, and what each is to be.
        let mut order = vec![0_u32; 2 + 2 * blocks];
        order[1] = u32::try_from(blocks).unwrap_or(0);
        for bit in bits {
            let (block, mask) = (2 + 2 * (bit / BLOCK_BITS), 1 << (bit % BLOCK_BITS));
            order[block] |= mask;
            order[block + 1] |= if on { mask } else { 0 };
        }
        self.ask(device, SET_FEATURES, &mut order)
    }

    /// The table by which the hash of a packet chooses its receive queue (RSS): the queue of each
    /// entry.
    ///
    /// # Errors
    /// As [`Self::driver`]: `EOPNOTSUPP` is [`ErrorKind::Unsupported`](io::ErrorKind).
    pub fn receive_hash_table(&self, device: &str) -> io::Result<Vec<u32>> {
        // cmd, size; asked for no entries, the kernel returns how many there are.
        let mut counted = [0; 2];
        self.ask(device, GET_HASH_TABLE, &mut counted)?;
        let count = usize::try_from(counted[1]).map_err(io::Error::other)?;
        if count > MOST_ENTRIES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0_u32; 2 + count];
        answer[1] = counted[1];
        self.ask(device, GET_HASH_TABLE, &mut answer)?;
        Ok(answer.split_off(2))
    }

    fn feature_names(&self, device: &str) -> io::Result<Vec<String>> {
        // cmd, reserved, mask of 64 bits, and the size of the one set asked for.
        let mut sizes = [0; 5];
        let (mask_low, mask_high) = if cfg!(target_endian = "little") {
            (2, 3)
        } else {
            (3, 2)
        };
        (sizes[mask_low], sizes[mask_high]) = (1 << FEATURE_NAMES, 0);
        self.ask(device, GET_SET_SIZES, &mut sizes)?;
        let count = usize::try_from(sizes[4]).map_err(io::Error::other)?;
        if count > MOST_FEATURES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // cmd, set, number of strings, strings.
        let mut answer = vec![0_u32; 3 + count * NAME_BYTES / 4];
        answer[1] = FEATURE_NAMES;
        self.ask(device, GET_STRINGS, &mut answer)?;
        let bytes = bytes(&answer[3..]);
        Ok(bytes.chunks_exact(NAME_BYTES).map(string).collect())
    }

    /// Asks one question. The kernel writes its answer over `answer`, which must be as long as the
    /// answer to this question.
    fn ask(&self, device: &str, question: u32, answer: &mut [u32]) -> io::Result<()> {
        answer[0] = question;
        let mut request = crate::interface::request(device);
        request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
        // SAFETY: `request` lives through the call, and the answer it points at is writable for
        // what the kernel writes for this question: each caller gives the length of its structure.
        // The kernel writes as many names as it has just counted, which is constant while it runs,
        // and as many blocks and entries as the question says.
        check(unsafe {
            libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request)
        })?;
        Ok(())
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Returns the text up to the first zero.
fn string(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loopback_segments_in_the_kernel_and_has_no_rings() {
        let ethtool = Ethtool::open().unwrap();
        let features = ethtool.features("lo").unwrap();
        let feature = |name| features.iter().find(|feature| feature.name == name);
        assert!(feature("tx-tcp-segmentation").is_some(), "{features:?}");
        let fixed = feature("loopback").unwrap();
        assert!(fixed.is_on && !fixed.can_change, "{fixed:?}");
        let error = ethtool.setting("lo", Setting::ReceiveRing).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
        let error = ethtool.receive_hash_table("lo").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let error = Ethtool::open().unwrap().driver("nowhere0").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
