//! The numbers that a driver is set to: how interrupts are held back, rings, channels. The kernel
//! takes and gives each group of them whole.

use std::io;

use super::Ethtool;

/// One number of a driver's.
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

/// The numbers that one question asks for, the first of which is the question.
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
/// Of rings and channels, how far each number stands behind the most that it can be.
const BEHIND_MOST: usize = 4;

impl Setting {
    /// Its group, and its place in it.
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
    /// One number, and the most that it can be where the driver says so.
    ///
    /// # Errors
    /// As [`Self::driver`]. Of what a driver does not know in a group that it does, the number is 0.
    pub fn setting(&self, device: &str, setting: Setting) -> io::Result<(u32, Option<u32>)> {
        let (group, place) = setting.place();
        let answer = self.group(device, group)?;
        let most = (group.get != COALESCING.get).then(|| answer[place - BEHIND_MOST]);
        Ok((answer[place], most))
    }

    /// Sets one number, and leaves the others of its group as they are. A driver may take it as
    /// another that is near.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN`; `EOPNOTSUPP` where the driver cannot set it; `EINVAL` for
    /// more than it can be.
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
