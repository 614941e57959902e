//! How long a cache line takes from one CPU to another. Two threads, each held on its own CPU, hand
//! it back and forth.
//!
//! The exchange is what locks do, and the method of core-to-core-latency: both threads compare and
//! exchange the number on one line. The handover is what rings do: each thread writes a line of its
//! own and reads the other's.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use model::random::SplitMix64;
use sys::cache_lines::CacheLines;
use sys::clock;

use super::ProbeError;
use super::threads::{hold, joined, start};

/// Cache lines that are measured per pair, each in a page of its own. The address of a line decides
/// to which slice of a shared cache, and to which memory node, it belongs.
pub const LINES: u32 = 8;
/// Samples per line. One per cent of the samples of all lines is then more than ten.
const SAMPLES: usize = 150;
/// Target duration of a sample, which has as many round trips as fit: hundreds of times a reading
/// of the clock.
const SAMPLE_NS: f64 = 12_000.0;
/// Least and most round trips per sample. Fewer would not do even if each is slow, and more are not
/// needed even if each is fast.
const ROUND_TRIPS: (f64, f64) = (10.0, 10_000.0);
/// Longest time to sample a line by one method. All lines by both methods, and the start, then take
/// at most 50 ms.
const LINE_NS: u64 = 2_500_000;
/// Warm-up before the first line, so that both CPUs are awake and at full speed.
const WARM_UP_NS: u64 = 2_000_000;
/// Round trips of a trial, which finds out how many make a sample.
const TRIAL: u32 = 100;
/// A thread that has waited longer than this concludes that the other one does not answer.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Number of vain tries between two readings of the clock.
const TRIES: u32 = 1 << 20;

/// The numbers on a line that is handed back and forth, and the one that ends the exchange.
const PING: u32 = 0;
const PONG: u32 = 1;
const END: u32 = u32::MAX;

/// One-way times between one pair of CPUs, ns: the samples of each line, in the order in which they
/// were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairSamples {
    /// Samples by compare and exchange on one line.
    pub exchange_ns: Vec<Vec<f64>>,
    /// Samples by handover: each thread writes a line of its own.
    pub handover_ns: Vec<Vec<f64>>,
}

/// Measures each pair of these CPUs, in an order that `seed` draws, and hands over the samples of
/// each pair. It ends early, without an error, once this process is asked to stop.
///
/// # Errors
/// The error of [`measure`] for the first pair that has one.
pub fn each_pair(
    cpus: &[usize],
    seed: u64,
    mut take: impl FnMut([usize; 2], &PairSamples),
) -> Result<(), ProbeError> {
    for pair in shuffled(cpus, seed) {
        if sys::stop::heard().is_some() {
            break;
        }
        take(pair, &measure(pair)?);
    }
    Ok(())
}

/// All pairs of the CPUs in random order, each with the later CPU first. A drift over time is then
/// not mistaken for an effect of a CPU's position.
fn shuffled(cpus: &[usize], seed: u64) -> Vec<[usize; 2]> {
    let two =
        (0..cpus.len()).flat_map(|one| cpus[..one].iter().map(move |other| [cpus[one], *other]));
    let mut pairs: Vec<[usize; 2]> = two.collect();
    SplitMix64::new(seed).shuffle(&mut pairs);
    pairs
}

/// Measures a pair of CPUs. It keeps both busy for at most 50 ms, unless other programs occupy
/// them.
///
/// # Errors
/// If a thread cannot be started or held on its CPU, there is no memory, or one of the threads does
/// not answer, as beside a program of real-time priority.
pub fn measure(cpus: [usize; 2]) -> Result<PairSamples, ProbeError> {
    let lines = CacheLines::new(LINES as usize).map_err(ProbeError::Memory)?;
    // A thread of its own, so that the caller may still run on all its CPUs.
    thread::scope(|scope| joined(start(scope, || ping(cpus, &lines))?))
}

/// The end that measures the time, once the other end is in its place.
fn ping(cpus: [usize; 2], lines: &CacheLines) -> Result<PairSamples, ProbeError> {
    take_place(cpus[0], lines, 0)?;
    thread::scope(|scope| {
        let (says, is_there) = sync_channel(1);
        start(scope, move || pong(cpus[1], lines, &says))?;
        // The other thread sends one message before it ends.
        is_there.recv().unwrap_or(Ok(()))?;
        let played = play(lines);
        (0..lines.pages()).for_each(|page| Games::of(lines, page).end());
        played.ok_or(ProbeError::NoAnswer {
            cpus,
            within_s: PATIENCE_NS / 1_000_000_000,
        })
    })
}

/// The end that answers, line by line, as long as the other end asks.
fn pong(cpu: usize, lines: &CacheLines, says: &SyncSender<Result<(), ProbeError>>) {
    let placed = take_place(cpu, lines, 1);
    let is_there = placed.is_ok();
    // The other end waits for this message.
    let _ = says.send(placed);
    let mut pages = (0..lines.pages()).take_while(|_| is_there);
    let _ = pages.try_for_each(|page| {
        let games = Games::of(lines, page);
        games.exchange.answer()?;
        games.handover.answer()
    });
}

/// Holds this thread on a CPU, and touches every other page first, so that its memory is near the
/// CPU.
fn take_place(cpu: usize, lines: &CacheLines, first: usize) -> Result<(), ProbeError> {
    hold(cpu)?;
    let pages = (first..lines.pages()).step_by(2);
    pages.for_each(|page| lines.line(page, 0).store(PING, Ordering::Relaxed));
    Ok(())
}

fn play(lines: &CacheLines) -> Option<PairSamples> {
    let mut samples = PairSamples::default();
    let first = Games::of(lines, 0);
    let warm_at_ns = clock::monotonic_ns() + WARM_UP_NS;
    while clock::monotonic_ns() < warm_at_ns {
        one_way_ns(&first.exchange, TRIAL)?;
    }
    for page in 0..lines.pages() {
        let games = Games::of(lines, page);
        samples.exchange_ns.push(sampled(&games.exchange)?);
        games.exchange.end();
        samples.handover_ns.push(sampled(&games.handover)?);
        games.handover.end();
    }
    Some(samples)
}

/// Takes the samples of one line.
fn sampled(game: &impl Game) -> Option<Vec<f64>> {
    let until_ns = clock::monotonic_ns() + LINE_NS;
    let trials = [(); 3].map(|()| one_way_ns(game, TRIAL));
    // The shortest trial counts: an interrupted one does not show how many round trips fit.
    let shortest = trials.into_iter().collect::<Option<Vec<f64>>>()?;
    let shortest = shortest.into_iter().fold(f64::INFINITY, f64::min);
    #[expect(clippy::cast_possible_truncation, reason = "within its bounds")]
    let round_trips = (SAMPLE_NS / (2.0 * shortest)).clamp(ROUND_TRIPS.0, ROUND_TRIPS.1) as u32;
    let mut samples = Vec::with_capacity(SAMPLES);
    while samples.len() < SAMPLES && clock::monotonic_ns() < until_ns || samples.is_empty() {
        samples.push(one_way_ns(game, round_trips)?);
    }
    Some(samples)
}

/// Returns the one-way time of a line, averaged over these round trips, ns.
fn one_way_ns(game: &impl Game, round_trips: u32) -> Option<f64> {
    let begun_ns = clock::monotonic_ns();
    for _ in 0..round_trips {
        game.ask()?;
    }
    let passed_ns = clock::monotonic_ns() - begun_ns;
    Some(passed_ns as f64 / f64::from(round_trips) / 2.0)
}

/// A way to hand lines back and forth. One end asks, and the other answers until the first one ends
/// it.
trait Game {
    /// Makes a round trip; `None` if the other end does not answer.
    fn ask(&self) -> Option<()>;
    /// Answers until the asking end is done; `None` if that end is lost.
    fn answer(&self) -> Option<()>;
    /// Tells the answering end that it is over.
    fn end(&self);
}

/// Both games on the lines of one page.
struct Games<'a> {
    exchange: Exchange<'a>,
    handover: Handover<'a>,
}

impl<'a> Games<'a> {
    fn of(lines: &'a CacheLines, page: usize) -> Self {
        let [shared, asked, answered] = [0, 1, 2].map(|line| lines.line(page, line));
        Self {
            exchange: Exchange(shared),
            handover: Handover {
                asked,
                answered,
                number: Cell::new(0),
            },
        }
    }

    fn end(&self) {
        self.exchange.end();
        self.handover.end();
    }
}

/// One line on which both threads compare and exchange.
struct Exchange<'a>(&'a AtomicU32);

impl Exchange<'_> {
    #[inline]
    fn turn(&self, from: u32, to: u32) -> Result<u32, u32> {
        self.0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl Game for Exchange<'_> {
    #[inline]
    fn ask(&self) -> Option<()> {
        spin_until(|| self.turn(PONG, PING).is_ok())
    }

    fn answer(&self) -> Option<()> {
        loop {
            let mut found = PING;
            spin_until(|| match self.turn(PING, PONG) {
                Ok(_) => true,
                Err(other) => {
                    found = other;
                    other == END
                }
            })?;
            if found == END {
                return Some(());
            }
        }
    }

    fn end(&self) {
        self.0.store(END, Ordering::Relaxed);
    }
}

/// A line that one thread writes and the other reads, and a line for the opposite direction. They
/// carry the number of the round trip.
struct Handover<'a> {
    asked: &'a AtomicU32,
    answered: &'a AtomicU32,
    /// The last number that was asked. It is stored apart: on its line it would be read while the
    /// other end reads that line.
    number: Cell<u32>,
}

impl Game for Handover<'_> {
    #[inline]
    fn ask(&self) -> Option<()> {
        let number = self.number.get() + 1;
        self.number.set(number);
        self.asked.store(number, Ordering::Release);
        spin_until(|| self.answered.load(Ordering::Acquire) == number)
    }

    fn answer(&self) -> Option<()> {
        let mut last = 0;
        while last != END {
            let before = last;
            spin_until(|| {
                last = self.asked.load(Ordering::Acquire);
                last != before
            })?;
            self.answered.store(last, Ordering::Release);
        }
        Some(())
    }

    fn end(&self) {
        self.asked.store(END, Ordering::Release);
    }
}

/// Tries without a pause until it succeeds; `None` if it does not for far too long.
#[inline]
fn spin_until(mut done: impl FnMut() -> bool) -> Option<()> {
    let mut until_ns = None;
    loop {
        for _ in 0..TRIES {
            if done() {
                return Some(());
            }
        }
        let now_ns = clock::monotonic_ns();
        if now_ns > *until_ns.get_or_insert(now_ns + PATIENCE_NS) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_pair_has_samples_by_both_methods() {
        let cpus = sys::cpu::allowed().unwrap();
        let [first, second, ..] = cpus[..] else {
            return;
        };
        let samples = measure([first, second]).unwrap();
        for lines in [&samples.exchange_ns, &samples.handover_ns] {
            assert_eq!(lines.len(), LINES as usize);
            let all = lines.iter().flatten();
            assert!(all.clone().all(|ns| *ns > 0.0), "{lines:?}");
            assert!(lines.iter().all(|line| !line.is_empty()));
        }
    }

    #[test]
    fn each_two_cpus_come_once_in_an_order_that_is_drawn() {
        let cpus = [0, 3, 4, 9, 10];
        let (mut pairs, other) = (shuffled(&cpus, 1), shuffled(&cpus, 2));
        assert_ne!(pairs, other);
        pairs.sort_unstable();
        pairs.dedup();
        assert!(
            pairs.len() == 10 && pairs.iter().all(|[one, other]| one > other),
            "{pairs:?}"
        );
    }

    #[test]
    fn a_cpu_that_there_is_not_is_named_whichever_of_the_two_it_is() {
        let here = sys::cpu::allowed().unwrap()[0];
        for cpus in [[here, 1023], [1023, here]] {
            let error = measure(cpus).unwrap_err();
            assert!(
                matches!(error, ProbeError::Pin { cpu: 1023, .. }),
                "{error}"
            );
        }
    }
}
