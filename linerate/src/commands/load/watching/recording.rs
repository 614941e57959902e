//! What is written of each interval of a load under way.

use std::io;

use super::csv::Csv;
use super::hdr_log::{HdrFile, HdrLog};
use super::interval::Cutter;
use super::sight::{Opened, Sight};
use crate::console::Console;

/// Whether the window has opened is looked after so often.
const PEEK_NS: u64 = 10_000_000;

/// Where to write, and how often.
pub(super) struct Outputs<'a> {
    pub(super) interval_ns: u64,
    /// As long as the window is to be.
    pub(super) window_ns: u64,
    pub(super) csv: Option<Csv<'a>>,
    pub(super) hlog: Option<HdrFile>,
    pub(super) console: &'a Console,
}

/// The writing of it.
pub(super) struct Recording<'o, 'a> {
    outputs: Option<&'o mut Outputs<'a>>,
    begun: Option<Begun<'o, 'a>>,
    now_ns: u64,
    is_closed: bool,
}

/// What is known from the opening of the window on.
struct Begun<'o, 'a> {
    opened: Opened,
    cutter: Cutter,
    csv: Option<&'o mut Csv<'a>>,
    hlog: Option<HdrLog<'o>>,
    console: &'a Console,
}

impl<'o, 'a> Recording<'o, 'a> {
    pub(super) fn new(outputs: &'o mut Outputs<'a>) -> Self {
        Self {
            outputs: Some(outputs),
            begun: None,
            now_ns: 0,
            is_closed: false,
        }
    }

    /// When there is something to do next, on the monotonic clock.
    pub(super) fn next_ns(&self) -> u64 {
        match &self.begun {
            None => self.now_ns + PEEK_NS,
            // What is left is written when all threads have closed their windows.
            Some(_) if self.is_closed => u64::MAX,
            Some(begun) => begun.next_ns(),
        }
    }

    /// Writes what is due: the intervals that are over and, when the load `is_over`, the last.
    pub(super) fn look(&mut self, sight: &Sight, now_ns: u64, is_over: bool) {
        self.now_ns = now_ns;
        self.is_closed = sight.closed_ns.get().is_some();
        if let Some(opened) = sight.opened.get()
            && let Some(outputs) = self.outputs.take()
        {
            self.begun = Some(Begun::new(outputs, opened.clone()));
        }
        if let Some(begun) = &mut self.begun
            && (is_over || (!self.is_closed && begun.next_ns() <= now_ns))
        {
            begun.cut(sight, now_ns, is_over);
        }
    }
}

impl<'o, 'a> Begun<'o, 'a> {
    fn new(outputs: &'o mut Outputs<'a>, opened: Opened) -> Self {
        let Outputs {
            interval_ns,
            window_ns,
            csv,
            hlog,
            console,
        } = outputs;
        let mut csv = csv.as_mut();
        let console = *console;
        let named = csv.as_mut().map(|csv| csv.begin());
        kept(named.transpose(), console);
        let hlog = hlog.as_mut().map(|hlog| hlog.begin(opened.wall_ns));
        Self {
            cutter: Cutter::new(*interval_ns, *window_ns, opened.before.clone()),
            opened,
            csv,
            hlog: kept(hlog.transpose(), console).flatten(),
            console,
        }
    }

    fn next_ns(&self) -> u64 {
        let next_ns = self.cutter.next_ns();
        next_ns.map_or(u64::MAX, |next_ns| self.opened.at_ns + next_ns)
    }

    fn cut(&mut self, sight: &Sight, now_ns: u64, is_over: bool) {
        let Some(live) = sight.live.get() else {
            return;
        };
        let closed_ns = sight.closed_ns.get().filter(|_| is_over);
        let until_ns = closed_ns.copied().unwrap_or(now_ns) - self.opened.at_ns;
        let interval = self.cutter.cut(until_ns, live.so_far());
        let wall_ns = self.opened.wall_ns;
        let csv = self.csv.as_mut().map(|csv| csv.write(wall_ns, &interval));
        if kept(csv.transpose(), self.console).is_none() {
            self.csv = None;
        }
        let hlog = self.hlog.as_mut().map(|hlog| hlog.write(&interval));
        if kept(hlog.transpose(), self.console).is_none() {
            self.hlog = None;
        }
    }
}

/// What could not be written is told once, and the load goes on.
fn kept<T>(written: io::Result<T>, console: &Console) -> Option<T> {
    written.map_err(|error| console.could_not_write(error)).ok()
}
