//! The agent of one host. On request it starts targets, sets levers, drives load and reads
//! instruments; each request and each answer is one line of JSON. It undoes everything when its
//! input ends.
//!
//! It plans nothing and judges nothing.

mod block;
mod bursts;
mod children;
pub mod command;
mod cost;
mod counting;
mod desk;
pub mod download;
mod environment;
pub mod gate;
pub mod held_line;
mod held_server;
pub mod link;
mod live;
mod observing;
mod own_command;
pub mod packets;
pub mod page;
mod probing;
pub mod request;
mod role;
mod running;
pub mod service;
mod speaks;
mod starting;
pub mod stream;
mod target;
mod watched;
pub mod wires;
mod workshop;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use model::failure::Failure;
use model::run::Rig;
use model::{Ask, Saved as _, Tell};

pub use block::{Window, reading};
use desk::Desk;
pub use role::{PLAY, play};

/// How an agent is set up by the program that starts it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The path of the Linerate program, which is started again for servers.
    pub program: PathBuf,
    pub place: Place,
}

/// Where an agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where it was started.
    Here,
    /// In a network namespace of its own, where the kernel allows it.
    PrivateNamespace,
    /// Where it was started, on a host of this rig.
    Host(Rig),
}

/// Answers asks until the input ends or, in a process that listens for it, a signal asks to stop;
/// then stops the servers and takes the levers back. It ends in the same way, without an error,
/// when nobody reads its answers any more: the other end may have ended first.
///
/// # Errors
/// When the line itself fails in another way. What cannot be done is answered, not returned.
pub fn answer(setup: Setup, input: impl BufRead, output: impl Write) -> io::Result<()> {
    unless_gone(answer_all(Desk::new(setup), input, output))
}

fn answer_all(mut desk: Desk, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    while let Some(line) = next_line(&mut input)? {
        if line.trim_ascii().is_empty() {
            // An empty line says only that the connection holds.
            continue;
        }
        let tell = match Ask::from_json(&line) {
            Ok(ask) => desk.handle(ask).unwrap_or_else(Tell::Failed),
            Err(error) => Tell::Failed(Failure {
                what: format!("not a request: {error}"),
                advice: "both ends must be of one version".to_owned(),
            }),
        };
        serde_json::to_writer(&mut output, &tell)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

/// Drops the error of a broken pipe: where the other end has gone, nobody is left to answer.
fn unless_gone(line: io::Result<()>) -> io::Result<()> {
    line.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// The next line; `None` at the end of the input, or when a signal asks to stop.
///
/// # Errors
/// Those of reading the input.
pub fn next_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    foreign::line::next(input, || sys::stop::heard().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output on which every write fails.
    struct Fails(io::ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    fn answered_into(output: Fails) -> io::Result<()> {
        let setup = Setup {
            program: PathBuf::from("/proc/self/exe"),
            place: Place::Here,
        };
        answer(setup, &b"no ask\n"[..], output)
    }

    #[test]
    fn where_the_asker_has_gone_the_end_is_no_error_and_where_the_line_fails_it_is() {
        answered_into(Fails(io::ErrorKind::BrokenPipe)).unwrap();
        let failed = answered_into(Fails(io::ErrorKind::StorageFull)).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
    }
}
