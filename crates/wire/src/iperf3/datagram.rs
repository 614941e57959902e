//! The head of each datagram.

/// The head of a datagram: when it was sent, and its number from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    pub sent_us: u64,
    pub number: u64,
}

impl DatagramHead {
    /// Writes the head at the beginning of a datagram, which must have room for it; the number has
    /// 64 bits if `is_wide`, otherwise 32.
    pub fn write(self, datagram: &mut [u8], is_wide: bool) {
        let [seconds, micros] = [self.sent_us / 1_000_000, self.sent_us % 1_000_000];
        let short = |value: u64| (value & 0xffff_ffff).to_be_bytes();
        datagram[..4].copy_from_slice(&short(seconds)[4..]);
        datagram[4..8].copy_from_slice(&short(micros)[4..]);
        match is_wide {
            true => datagram[8..16].copy_from_slice(&self.number.to_be_bytes()),
            false => datagram[8..12].copy_from_slice(&short(self.number)[4..]),
        }
    }

    /// Reads the head; `None` for a datagram that is too short.
    pub fn read(datagram: &[u8], is_wide: bool) -> Option<Self> {
        let short = |at: usize| {
            let bytes = datagram.get(at..at + 4)?.try_into().ok()?;
            Some(u64::from(u32::from_be_bytes(bytes)))
        };
        let number = match is_wide {
            true => u64::from_be_bytes(datagram.get(8..16)?.try_into().ok()?),
            false => short(8)?,
        };
        let sent_us = short(0)? * 1_000_000 + short(4)?;
        Some(Self { sent_us, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagrams_head_is_read_as_it_was_written() {
        let head = DatagramHead {
            sent_us: 1_700_000_000_123_456,
            number: 77,
        };
        for is_wide in [false, true] {
            let mut datagram = [0; 16];
            head.write(&mut datagram, is_wide);
            assert_eq!(DatagramHead::read(&datagram, is_wide), Some(head));
            assert_eq!(DatagramHead::read(&datagram[..11], is_wide), None);
        }
    }
}
