//! The numbers that a driver is set to: interrupt coalescing, rings, channels. The kernel reads and
//! writes each group of them as a whole.

use std::io;

use super::Ethtool;

/// One number that a driver is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    ReceiveUs,
    ReceiveFrames,
    TransmitUs,
    TransmitFrames,
    /// 1 where the driver chooses by itself, else 0.
    AdaptiveReceive,
    /// As [`Self::AdaptiveReceive`].
    AdaptiveTransmit,
    ReceiveRing,
    TransmitRing,
    ReceiveChannels,
    TransmitChannels,
    CombinedChannels,
}

/// A group of numbers that one request reads or writes; its first word is the command.
struct Question {
    get: u32,
    set: u32,
    words: usize,
}

// linux/ethtool.h: `struct ethtool_coalesce`, `_ringparam` and `_channels`.
const COALESCING: Question = Question {
    get: 0x0e,
    set: 0x0f,
    words: 23,
};
const RINGS: Question = Question {
    get: 0x10,
    set: 0x11,
    words: 9,
};
const CHANNELS: Question = Question {
    get: 0x3c,
    set: 0x3d,
    words: 9,
};
/// In rings and channels, how many words each number stands behind its maximum.
const BEHIND_MOST: usize = 4;

impl Setting {
    /// The setting's group, and the index of its word in the group.
    fn place(self) -> (&'static Question, usize) {
        match self {
            Self::ReceiveUs => (&COALESCING, 1),
            Self::ReceiveFrames => (&COALESCING, 2),
            Self::TransmitUs => (&COALESCING, 5),
            Self::TransmitFrames => (&COALESCING, 6),
            Self::AdaptiveReceive => (&COALESCING, 10),
            Self::AdaptiveTransmit => (&COALESCING, 11),
            Self::ReceiveRing => (&RINGS, 5),
            Self::TransmitRing => (&RINGS, 8),
            Self::ReceiveChannels => (&CHANNELS, 5),
            Self::TransmitChannels => (&CHANNELS, 6),
            Self::CombinedChannels => (&CHANNELS, 8),
        }
    }
}

impl Ethtool {
    /// Returns one number, and its maximum where the driver reports it.
    ///
    /// # Errors
    /// As [`Self::driver`]. A number that the driver does not know, in a group that it knows, is 0.
    pub fn setting(&self, device: &str, setting: Setting) -> io::Result<(u32, Option<u32>)> {
        let (group, place) = setting.place();
        let answer = self.group(device, group)?;
        let most = (group.get != COALESCING.get).then(|| answer[place - BEHIND_MOST]);
        Ok((answer[place], most))
    }

    /// Sets one number, and leaves the others of its group as they are. A driver may set a nearby
    /// number instead.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`; `EOPNOTSUPP` where the driver cannot set it; `EINVAL` for
    /// more than its maximum.
    pub fn set(&self, device: &str, setting: Setting, number: u32) -> io::Result<()> {
        let (group, place) = setting.place();
        let mut order = self.group(device, group)?;
        order[place] = number;
        self.ask(device, group.set, &mut order)
    }

    fn group(&self, device: &str, group: &Question) -> io::Result<Vec<u32>> {
        let mut answer = vec![0; group.words];
        self.ask(device, group.get, &mut answer)?;
        Ok(answer)
    }
}
