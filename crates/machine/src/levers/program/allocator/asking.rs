//! Asks a program that is somebody else's something: it may neither take long nor say much, and is left nothing of.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use sys::descent::Descent;
use sys::group::Leader;
use sys::process::{ChildSetup, prepare_child};
use sys::{clock, memory_file};

/// What a program has said that has ended.
pub(super) struct Said {
    pub(super) status: ExitStatus,
    pub(super) output: String,
    pub(super) errors: String,
}

/// How much of each, and for how long.
pub(super) struct Bounds {
    pub(super) patience: Duration,
    pub(super) most_bytes: u64,
}

/// Starts it as that user and waits for its end. It writes into files, which nobody has to empty meanwhile.
///
/// # Errors
/// In words that follow the name of the program: that it cannot be started, or keeps no bounds.
pub(super) fn ask(command: &mut Command, descent: Descent, bounds: &Bounds) -> io::Result<Said> {
    let (output, errors) = (memory_file::empty()?, memory_file::empty()?);
    command
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?);
    let setup = ChildSetup {
        descent,
        file_limit_bytes: Some(bounds.most_bytes),
        ..ChildSetup::default()
    };
    prepare_child(command, setup);
    Ok(Said {
        status: end_of(command, bounds)?,
        output: text(output, bounds)?,
        errors: text(errors, bounds)?,
    })
}

fn end_of(command: &mut Command, bounds: &Bounds) -> io::Result<ExitStatus> {
    let mut leader = Leader::start(command).map_err(|error| {
        let why = crate::findings::errno(&error);
        io::Error::other(format!("cannot be started: {why}"))
    })?;
    let has_ended = || !matches!(leader.try_wait(), Ok(None));
    let in_time = clock::wait_until(bounds.patience, has_ended);
    let status = leader.end()?;
    if in_time {
        return Ok(status);
    }
    let seconds = bounds.patience.as_secs();
    Err(io::Error::other(format!("did not end within {seconds} s")))
}

/// A file that is full may lack what was written after.
fn text(mut file: File, bounds: &Bounds) -> io::Result<String> {
    let most_bytes = bounds.most_bytes;
    let mut bytes = Vec::new();
    file.rewind()?;
    let read = file.take(most_bytes).read_to_end(&mut bytes)?;
    if u64::try_from(read).unwrap_or(u64::MAX) >= most_bytes {
        let kibibytes = most_bytes >> 10;
        return Err(io::Error::other(format!("says more than {kibibytes} KiB")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str, patience: Duration) -> io::Result<Said> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let bounds = Bounds {
            patience,
            most_bytes: 4 << 10,
        };
        ask(&mut command, Descent::default(), &bounds)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_a_program_says_is_told_apart_and_with_how_it_ended() {
        let said = said("echo it; echo why >&2; exit 3", LONG).unwrap();
        assert_eq!((&*said.output, &*said.errors), ("it\n", "why\n"));
        assert_eq!(said.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_with_all_that_it_has_started() {
        let why = said("sleep 600 & wait", Duration::ZERO).err().unwrap();
        assert_eq!(why.to_string(), "did not end within 0 s");
    }

    #[test]
    fn a_program_without_end_of_words_is_refused_on_either_way_of_saying_them() {
        for way in [
            "yes",
            "yes >&2",
            "trap '' XFSZ; while echo word; do :; done",
        ] {
            let why = said(way, LONG).err().unwrap();
            assert_eq!(why.to_string(), "says more than 4 KiB", "{way}");
        }
    }

    #[test]
    fn what_a_program_has_started_and_left_is_not_waited_for() {
        let said = said("sleep 600 & echo ended", LONG).unwrap();
        assert_eq!(said.output, "ended\n");
    }
}
