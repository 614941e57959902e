//! Writes the figures of each interval of a load under way.

use std::io;

use super::csv::Csv;
use super::hdr_log::{HdrFile, HdrLog};
use super::interval::Cutter;
use super::sight::{Opened, Sight};
use crate::console::Console;

/// Time between two checks whether the window has opened.
const PEEK_NS: u64 = 10_000_000;

/// Where to write, and how often.
pub(super) struct Outputs<'a> {
    pub(super) interval_ns: u64,
    /// Planned length of the window.
    pub(super) window_ns: u64,
    pub(super) csv: Option<Csv<'a>>,
    pub(super) hlog: Option<HdrFile>,
    pub(super) console: &'a Console,
}

/// Writes the outputs of one load.
pub(super) struct Recording<'o, 'a> {
    outputs: Option<&'o mut Outputs<'a>>,
    begun: Option<Begun<'o, 'a>>,
    now_ns: u64,
    is_closed: bool,
}

/// The state from the opening of the window on.
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
            // The rest is written when all threads have closed their windows.
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
        or_report(named.transpose(), console);
        let hlog = hlog.as_mut().map(|hlog| hlog.begin(opened.wall_ns));
        Self {
            cutter: Cutter::new(*interval_ns, *window_ns, opened.before.clone()),
            opened,
            csv,
            hlog: or_report(hlog.transpose(), console).flatten(),
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
        if or_report(csv.transpose(), self.console).is_none() {
            self.csv = None;
        }
        let hlog = self.hlog.as_mut().map(|hlog| hlog.write(&interval));
        if or_report(hlog.transpose(), self.console).is_none() {
            self.hlog = None;
        }
    }
}

/// Reports a write error and returns `None`; the load goes on.
fn or_report<T>(written: io::Result<T>, console: &Console) -> Option<T> {
    written.map_err(|error| console.could_not_write(error)).ok()
}
