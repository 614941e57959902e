//! Watches a load while it goes on: a line for a person, lines of figures and a log of histograms
//! for programs.
//!
//! The load threads count in memory that others may read (`traffic::load::Live`) and do no more for
//! it. A separate thread reads, draws and writes. It has its own table of open files, so that for
//! the kernel the load is still the single thread that it is without the watching.

mod csv;
mod drawing;
pub(super) mod flags;
mod hdr_log;
mod interval;
mod named_file;
mod recording;
mod sight;
mod words;

use std::sync::mpsc::{self, Sender};
use std::thread::{self, Thread};
use std::time::Duration;

use sys::clock;
use traffic::load::{LoadError, LoadOutcome, LoadPlan, Observer};

use super::Arguments;
use crate::console::Console;
use crate::progress_line::ProgressLine;
use csv::Csv;
use drawing::Drawing;
use flags::CsvTo;
use hdr_log::HdrFile;
use named_file::NamedFile;
use recording::{Outputs, Recording};
use sight::{Showing, Sight};

/// A shorter load is not shown: it is over before a person wonders.
const WORTH_SHOWING_NS: u64 = 2_000_000_000;
/// Plain lines that are printed where no changing line can be drawn.
const PLAIN_LINES: usize = 10;

/// What watches one load.
pub(super) struct Watching<'a> {
    drawing: Option<Drawing<'a>>,
    outputs: Option<Outputs<'a>>,
}

impl<'a> Watching<'a> {
    /// Prepares what the flags ask for, and opens the files to write.
    pub(super) fn prepare(
        arguments: &'a Arguments,
        plan: &LoadPlan,
        console: &'a Console,
    ) -> anyhow::Result<Self> {
        let flags = &arguments.watching;
        let is_long = plan.settle_ns + plan.score_ns > WORTH_SHOWING_NS;
        let is_for_programs = arguments.json || flags.takes_standard_output();
        let drawing = (is_long && console.may_note() && !is_for_programs).then(|| {
            let line = ProgressLine::new(console, PLAIN_LINES);
            Drawing::new(line, clock::monotonic_ns(), plan)
        });
        let outputs = flags.writes().then(|| {
            let csv = flags.csv().map(|to| open_csv(&to, console));
            let hlog = flags.hlog.as_deref().map(NamedFile::create);
            anyhow::Ok(Outputs {
                interval_ns: flags.interval_ns(),
                window_ns: plan.score_ns,
                csv: csv.transpose()?,
                hlog: hlog.transpose()?.map(HdrFile::new),
                console,
            })
        });
        Ok(Self {
            drawing,
            outputs: outputs.transpose()?,
        })
    }

    /// Puts the load on, and watches it if there is anything to draw or to write.
    pub(super) fn over(
        self,
        observer: &mut dyn Observer,
        load: impl FnOnce(&mut dyn Observer) -> Result<LoadOutcome, LoadError>,
    ) -> Result<LoadOutcome, LoadError> {
        if self.drawing.is_none() && self.outputs.is_none() {
            return load(observer);
        }
        let sight = Sight::default();
        let (tell, is_ready) = mpsc::channel();
        thread::scope(|scope| {
            let sight = &sight;
            let watcher = scope.spawn(move || self.watch(sight, &tell));
            let end = EndOfLoad {
                sight,
                watcher: watcher.thread().clone(),
            };
            // Files that the load opened earlier would stay open in the watcher's table too.
            let _ = is_ready.recv();
            let outcome = load(&mut Showing { observer, sight });
            drop(end);
            if let Err(panic) = watcher.join() {
                std::panic::resume_unwind(panic);
            }
            outcome
        })
    }

    /// Looks as often as there is something to draw or to write, until the load is over.
    fn watch(mut self, sight: &Sight, ready: &Sender<()>) {
        // Where it is refused, the load costs a little more.
        let _ = sys::process::own_file_table();
        let _ = ready.send(());
        let mut recording = self.outputs.as_mut().map(Recording::new);
        loop {
            // Read before the look, so that the last look sees everything.
            let is_over = sight.is_over();
            let now_ns = clock::monotonic_ns();
            if let Some(recording) = &mut recording {
                recording.look(sight, now_ns, is_over);
            }
            if let Some(drawing) = &mut self.drawing {
                drawing.look(sight, now_ns);
            }
            if is_over {
                break;
            }
            let drawn_ns = self.drawing.as_ref().map(Drawing::next_ns);
            let written_ns = recording.as_ref().map(Recording::next_ns);
            let next_ns = drawn_ns.into_iter().chain(written_ns).min();
            wait_until(next_ns.unwrap_or(0));
        }
        if let Some(drawing) = &self.drawing {
            drawing.end();
        }
    }
}

/// Ends the watching when the load ends, even by a panic.
struct EndOfLoad<'a> {
    sight: &'a Sight,
    watcher: Thread,
}

impl Drop for EndOfLoad<'_> {
    fn drop(&mut self) {
        self.sight.end();
        self.watcher.unpark();
    }
}

/// Waits until a moment of the monotonic clock, or until the load is over.
fn wait_until(moment_ns: u64) {
    let left_ns = moment_ns.saturating_sub(clock::monotonic_ns());
    thread::park_timeout(Duration::from_nanos(left_ns));
}

fn open_csv<'a>(to: &CsvTo<'_>, console: &'a Console) -> anyhow::Result<Csv<'a>> {
    Ok(match to {
        CsvTo::StandardOutput => Csv::Console(console),
        CsvTo::File(file) => Csv::File(NamedFile::create(file)?),
    })
}
