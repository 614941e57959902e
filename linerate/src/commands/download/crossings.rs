//! How often each byte of a file crosses between CPU and memory on its way out of our own server:
//! not measured, but added up along the path that it takes.
//!
//! It is the account of D. Gallatin's "Serving Netflix Video at 400Gb/s on FreeBSD" (EuroBSDCon 2021),
//! from the page cache on, so without the disk's write into it. What stays in a CPU's caches between
//! two steps does not reach the memory; a buffer of the size of a record mostly does.

/// What the bytes of a file go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilePath {
    /// sendfile(2) in the clear.
    Sendfile,
    /// Sent from where it is mapped.
    Copy,
    /// Sent from where it is mapped, by MSG_ZEROCOPY.
    ZeroCopy,
    /// sendfile(2) under kTLS: the kernel encrypts.
    KernelRecords,
    /// Read, encrypted and sent by the server itself.
    OwnRecords,
}

/// One step, and how often it reads or writes a byte.
pub(super) struct Crossing {
    pub(super) what: &'static str,
    pub(super) crossings: u32,
}

const SENDFILE: &[Crossing] = &[OUT];
const COPY: &[Crossing] = &[step("copied into the socket", 2), OUT];
/// `skb_orphan_frags` in linux/skbuff.h.
const ZERO_COPY: &[Crossing] = &[
    step("copied all the same, as it does not leave by a card", 2),
    OUT,
];
const KERNEL_RECORDS: &[Crossing] = &[step("the kernel encrypts it into pages of its own", 2), OUT];
/// `write_plaintext` of rustls takes a copy, encrypts that in place, and copies it out.
const OWN_RECORDS: &[Crossing] = &[
    step("read into a buffer", 2),
    step("copied for encryption", 2),
    step("encrypted in place", 2),
    step("copied to where it is sent from", 2),
    step("copied into the socket", 2),
    OUT,
];
const OUT: Crossing = step("a card (on loopback the client) reads it", 1);

impl FilePath {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sendfile => "sendfile",
            Self::Copy => "from memory, copied",
            Self::ZeroCopy => "from memory, zero copy over loopback",
            Self::KernelRecords => "sendfile, records made by the kernel",
            Self::OwnRecords => "read, records made by the server",
        }
    }

    pub(super) fn steps(self) -> &'static [Crossing] {
        match self {
            Self::Sendfile => SENDFILE,
            Self::Copy => COPY,
            Self::ZeroCopy => ZERO_COPY,
            Self::KernelRecords => KERNEL_RECORDS,
            Self::OwnRecords => OWN_RECORDS,
        }
    }

    /// Of all steps.
    pub(super) fn crossings(self) -> u32 {
        self.steps().iter().map(|step| step.crossings).sum()
    }
}

const fn step(what: &'static str, crossings: u32) -> Crossing {
    Crossing { what, crossings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_less_is_a_crossing_less() {
        let paths = [
            FilePath::Sendfile,
            FilePath::Copy,
            FilePath::KernelRecords,
            FilePath::OwnRecords,
        ];
        assert_eq!(paths.map(FilePath::crossings), [1, 3, 3, 11]);
    }
}
