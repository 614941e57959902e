//! The owner of a service, the process that ordered it, as the keeper sees it: requests on standard
//! input, words on standard output. When the owner ends in any way, the line breaks.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};

use sys::epoll::{Epoll, Events, Interest};
use sys::stop::{Again, StopSignal};

use super::super::order::{Order, Request, Word};

const LINE: u64 = 0;
const STOP: u64 = 1;
const ENDED: u64 = 2;

/// How long nothing may happen before the keeper looks for orphans that have ended, ns.
const LONGEST_REST_NS: u64 = 10_000_000_000;

/// The line to the owner, and the signals that ask us to stop.
pub(super) struct Owner {
    line: File,
    epoll: Epoll,
    _stop: StopSignal,
    /// Bytes that were read and not yet handled.
    unread: Vec<u8>,
}

/// Why a wait returned.
pub(super) enum Woken {
    Asked(Request),
    /// The service has ended.
    Ended,
    /// The owner has gone, or a signal asks to stop.
    Left,
    /// Nothing has happened for a while.
    Rested,
}

impl Owner {
    pub(super) fn listen() -> io::Result<Self> {
        let stop = StopSignal::listen(Again::Waits)?;
        let line = File::from(sys::standard_input::take()?);
        let epoll = Epoll::new()?;
        epoll.add(line.as_fd(), LINE, Interest::READ)?;
        epoll.add(stop.as_fd(), STOP, Interest::READ)?;
        Ok(Self {
            line,
            epoll,
            _stop: stop,
            unread: Vec::new(),
        })
    }

    /// Whether the owner has gone, or a signal asks us to stop.
    pub(super) fn wants_an_end(&self) -> bool {
        let mut events = Events::with_capacity(2);
        let looked = self.epoll.wait(&mut events, Some(0));
        let gone = |token, hung_up| token == STOP || (token == LINE && hung_up);
        looked.is_err() || events.iter().any(|event| gone(event.token, event.hung_up))
    }

    /// Waits for the order; `None` when the owner went without giving one.
    pub(super) fn order(&mut self) -> io::Result<Option<Order>> {
        loop {
            match self.next()? {
                Woken::Asked(Request::Start(order)) => return Ok(Some(*order)),
                Woken::Rested => {}
                Woken::Asked(_) | Woken::Ended | Woken::Left => return Ok(None),
            }
        }
    }

    /// Waits for a request, for the end of the service by its descriptor, or for our own end.
    pub(super) fn wait(&mut self, service: &OwnedFd) -> io::Result<Woken> {
        self.epoll.add(service.as_fd(), ENDED, Interest::READ)?;
        let woken = self.next();
        self.epoll.remove(service.as_fd())?;
        woken
    }

    fn next(&mut self) -> io::Result<Woken> {
        let mut events = Events::with_capacity(3);
        loop {
            if let Some(woken) = self.line() {
                return Ok(woken);
            }
            self.epoll.wait(&mut events, Some(LONGEST_REST_NS))?;
            let happened = |token| events.iter().any(|event| event.token == token);
            if happened(STOP) {
                return Ok(Woken::Left);
            }
            if happened(ENDED) {
                return Ok(Woken::Ended);
            }
            if !happened(LINE) {
                return Ok(Woken::Rested);
            }
            if self.read()? == 0 {
                return Ok(Woken::Left);
            }
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 65_536];
        let read = self.line.read(&mut buffer)?;
        if self.unread.len() + read > foreign::line::MOST_BYTES {
            return Ok(0);
        }
        self.unread.extend_from_slice(&buffer[..read]);
        Ok(read)
    }

    /// The request in a whole line that was read. A line that is no request counts as the owner's
    /// end.
    fn line(&mut self) -> Option<Woken> {
        let end = self.unread.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.unread.drain(..=end).collect();
        let request = serde_json::from_slice(&line).ok();
        Some(request.map_or(Woken::Left, Woken::Asked))
    }

    /// Sends a word to the owner. An owner that has gone is noticed by the end of the line, not
    /// here.
    pub(super) fn tell(&self, word: &Word) {
        let text = serde_json::to_string(word).unwrap_or_default();
        let mut output = io::stdout().lock();
        let _ = writeln!(output, "{text}").and_then(|()| output.flush());
    }
}
