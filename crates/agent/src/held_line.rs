//! A line to another machine. A line that falls silent counts as ended, since the end of a
//! connection that was cut never arrives.

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use sys::epoll::{Epoll, Events, Interest};
use sys::stop::StopSignal;

/// An input that ends when nothing has arrived for a time.
#[derive(Debug)]
pub struct HeldLine<R> {
    input: R,
    ready: Epoll,
    limit: Duration,
    ends_at_stop: bool,
}

impl<R: Read + AsFd> HeldLine<R> {
    /// # Errors
    /// `EPERM` for a plain file, which is never silent.
    pub fn new(input: R, limit: Duration) -> io::Result<Self> {
        let ready = Epoll::new()?;
        ready.add(input.as_fd(), 0, Interest::READ)?;
        Ok(Self {
            input,
            ready,
            limit,
            ends_at_stop: true,
        })
    }

    /// Makes a line that is still read after a signal asks to stop, because more is expected from
    /// it.
    #[must_use]
    pub fn past_stops(self) -> Self {
        Self {
            ends_at_stop: false,
            ..self
        }
    }

    /// Waits until something comes or we are asked to stop.
    ///
    /// # Errors
    /// `UnexpectedEof` when it falls silent, `EMFILE` at the limit of open files.
    pub(crate) fn wait_or_stop(&self, stop: &StopSignal) -> io::Result<()> {
        let ready = Epoll::new()?;
        ready.add(self.input.as_fd(), 0, Interest::READ)?;
        ready.add(stop.as_fd(), 1, Interest::READ)?;
        let limit_ns = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = sys::clock::monotonic_ns().saturating_add(limit_ns);
        let mut events = Events::with_capacity(2);
        loop {
            let left_ns = deadline_ns.saturating_sub(sys::clock::monotonic_ns());
            ready.wait(&mut events, Some(left_ns))?;
            if events.iter().next().is_some() {
                return Ok(());
            }
            if left_ns == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: Read> Read for HeldLine<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit_ns = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = sys::clock::monotonic_ns().saturating_add(limit_ns);
        let mut events = Events::with_capacity(1);
        loop {
            let left_ns = deadline_ns.saturating_sub(sys::clock::monotonic_ns());
            self.ready.wait(&mut events, Some(left_ns))?;
            if events.iter().next().is_some() {
                return self.input.read(buffer);
            }
            if left_ns == 0 || (self.ends_at_stop && sys::stop::heard().is_some()) {
                return Ok(0);
            }
        }
    }
}

/// Copies a line in a thread and returns the copy. When the line ends, the thread asks this process
/// to stop, so that running work ends at once and not only when somebody reads next.
///
/// # Errors
/// `EMFILE` at the limit of open files, `EAGAIN` at the limit of threads.
pub fn heard_to_its_end(mut line: impl Read + Send + 'static) -> io::Result<PipeReader> {
    let (input, mut copy) = io::pipe()?;
    thread::Builder::new().spawn(move || {
        // A line that fails has ended as well.
        let _ = copy_all_but_beats(&mut line, &mut copy);
        sys::stop::hang_up();
    })?;
    Ok(input)
}

/// Copies everything but empty lines, which say only that the connection holds. They would fill the
/// pipe of a reader that has stopped reading, and the end of the input would go unnoticed.
fn copy_all_but_beats(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; 4096];
    let mut is_begun = false;
    loop {
        let came = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            came => came?,
        };
        let mut kept = Vec::with_capacity(came);
        for byte in &buffer[..came] {
            if is_begun || *byte != b'\n' {
                kept.push(*byte);
            }
            is_begun = *byte != b'\n';
        }
        to.write_all(&kept)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_comes_and_has_ended_when_it_falls_silent() {
        let (input, mut output) = io::pipe().unwrap();
        let mut line = HeldLine::new(input, Duration::from_millis(30)).unwrap();
        output.write_all(b"a word").unwrap();
        let mut buffer = [0; 16];
        assert_eq!(line.read(&mut buffer).unwrap(), 6);
        // The other end is open all the while.
        assert_eq!(line.read(&mut buffer).unwrap(), 0);
        drop(output);
    }

    #[test]
    fn beats_are_left_out_wherever_a_read_cuts_them() {
        let mut said = Vec::new();
        let mut line = (&b"\n\n{1}"[..]).chain(&b"\n\n"[..]).chain(&b"\n{2}\n"[..]);
        copy_all_but_beats(&mut line, &mut said).unwrap();
        assert_eq!(said, b"{1}\n{2}\n");
    }

    #[test]
    fn the_end_of_the_input_is_not_waited_for() {
        let (input, output) = io::pipe().unwrap();
        let mut line = HeldLine::new(input, Duration::from_secs(3600)).unwrap();
        drop(output);
        assert_eq!(line.read(&mut [0; 16]).unwrap(), 0);
    }
}
