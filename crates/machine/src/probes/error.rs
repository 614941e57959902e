//! Why a probe has no figure.

use std::io;

use thiserror::Error;

/// Why a probe has no figure.
#[derive(Debug, Error)]
pub enum ProbeError {
    #[error("a thread could not be held on CPU {cpu}")]
    Pin { cpu: usize, source: io::Error },
    #[error("no thread could be started for it")]
    Thread(#[source] io::Error),
    #[error("no memory could be obtained for it")]
    Memory(#[source] io::Error),
    #[error("what a byte goes through there and back could not be made, or failed")]
    Line(#[source] io::Error),
    #[error("a file of ours in that folder could not be made, or failed")]
    File(#[source] io::Error),
    #[error("the cryptography that TLS uses here refused a key or a record")]
    Crypto,
    #[error("it takes two CPUs, and there is one")]
    OneCpu,
    #[error("{0}")]
    Missing(String),
    #[error(
        "CPU {} did not answer CPU {} within {} s: something else keeps one of them; stop that, or leave it out with --cpus",
        cpus[1],
        cpus[0],
        within_s
    )]
    NoAnswer { cpus: [usize; 2], within_s: u64 },
}
