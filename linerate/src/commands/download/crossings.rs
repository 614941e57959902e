//! How often each byte of a file crosses between CPU and memory on its way out of our own server:
//! not measured, but added up along the path that it takes.
//!
//! The method is that of D. Gallatin's "Serving Netflix Video at 400Gb/s on FreeBSD" (EuroBSDCon
//! 2021), from the page cache on, so without the disk's write into it. What stays in a CPU's caches
//! between two steps does not reach the memory; a buffer of the size of a record mostly stays
//! there.

use schemars::JsonSchema;
use serde::Serialize;

/// How often each byte of the file crosses between CPU and memory on its way out of our own
/// server; null for another server, whose path is not known.
#[derive(Serialize, JsonSchema)]
pub(super) struct Crossings {
    /// Where the figures come from: added up along the path that is taken, not measured.
    source: &'static str,
    /// The path, in words.
    path: &'static str,
    /// Crossings of all steps per byte, from the page cache on; what stays in a CPU's caches
    /// between two steps does not reach the memory.
    per_byte: u32,
    /// Those of them that reach the memory if reused buffers stay in the caches: bytes of DRAM
    /// traffic for each byte that is served.
    dram_per_byte: u32,
    /// Steps of the path, in order.
    steps: &'static [CrossingStep],
}

#[derive(Serialize, JsonSchema)]
pub(super) struct CrossingStep {
    /// What is done to a byte, in words.
    what: &'static str,
    /// How often the byte is read or written in this step.
    crossings: u32,
    /// How many of these crossings are not from or to a reused buffer.
    to_memory: u32,
}

/// A path in words, and its steps.
pub(super) type Path = (&'static str, &'static [CrossingStep]);

/// sendfile(2) without TLS.
pub(super) const SENDFILE: Path = ("sendfile", &[OUT]);
/// Copied into the socket from a memory mapping of the file.
pub(super) const COPY: Path = (
    "from memory, copied",
    &[step("copied into the socket", 2, 2), OUT],
);
/// sendfile(2) under kTLS.
pub(super) const KERNEL_RECORDS: Path = (
    "sendfile, records made by the kernel",
    &[
        step("the kernel encrypts it into pages of its own", 2, 2),
        OUT,
    ],
);
/// Read, encrypted and sent by the server itself: `write_plaintext` of rustls takes a copy, encrypts that in
/// place, and copies it out.
pub(super) const OWN_RECORDS: Path = (
    "read, records made by the server",
    &[
        step("read into a buffer", 2, 1),
        step("copied for encryption", 2, 0),
        step("encrypted in place", 2, 0),
        step("copied to where it is sent from", 2, 0),
        step("copied into the socket", 2, 1),
        OUT,
    ],
);
const OUT: CrossingStep = step("a card (on loopback the client) reads it", 1, 1);

impl Crossings {
    /// Crossings along the path of this name, whichever end reports it; `None` for an unknown name.
    pub(super) fn of(name: &str) -> Option<Self> {
        let paths = [SENDFILE, COPY, KERNEL_RECORDS, OWN_RECORDS];
        let path = paths.into_iter().find(|(path, _)| *path == name);
        path.map(Self::along)
    }

    fn along((path, steps): Path) -> Self {
        Self {
            source: "computed",
            path,
            per_byte: steps.iter().map(|step| step.crossings).sum(),
            dram_per_byte: steps.iter().map(|step| step.to_memory).sum(),
            steps,
        }
    }
}

const fn step(what: &'static str, crossings: u32, to_memory: u32) -> CrossingStep {
    CrossingStep {
        what,
        crossings,
        to_memory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_less_is_a_crossing_less() {
        let paths = [SENDFILE, COPY, KERNEL_RECORDS, OWN_RECORDS].map(Crossings::along);
        let told = paths.map(|path| (path.per_byte, path.dram_per_byte));
        assert_eq!(told, [(1, 1), (3, 3), (3, 3), (11, 3)]);
    }
}
