//! How fast memory is read, copied and written, by one CPU and by all at once, and how long a read
//! takes that no prefetcher could foresee.

use std::hint::black_box;

use model::random::SplitMix64;
use sys::clock;
use sys::memory_speed::{store_past_caches, sum};

use super::ProbeError;
use super::threads::{at_once, hold};
use crate::tree::Tree;

/// How long each value is measured.
const VALUE_NS: u64 = 8_000_000;
/// All CPUs begin together, this long after the call.
const START_NS: u64 = 1_000_000;
/// Words between two readings of the clock: tens of µs.
const PIECE_WORDS: usize = 1 << 17;
/// The memory is this many times the largest cache, so that what is read again is no longer there.
const TIMES_THE_CACHE: u64 = 4;
/// Assumed size of the largest cache if the kernel reports none.
const USUAL_CACHE_BYTES: u64 = 32 << 20;
/// At most this part of the available memory is used, and at most so many bytes.
const PART: u64 = 8;
const MOST_BYTES: u64 = 1 << 30;
/// Size of a cache line, which a processor fetches as a whole.
const LINE_BYTES: usize = 64;
/// Reads per value, each of which waits for the one before.
const HOPS: u32 = 50_000;

/// The work on a piece of memory; returns the bytes that it counts for.
pub(super) type Work = fn(&mut [u64]) -> usize;

/// The memory of one CPU, near it, and the position of the probe in it.
#[derive(Debug)]
struct Share {
    cpu: usize,
    words: Vec<u64>,
    at: usize,
}

/// Memory that no cache can hold.
#[derive(Debug)]
pub(super) struct UncachedMemory {
    shares: Vec<Share>,
    chain: Vec<[u32; LINE_BYTES / 4]>,
    place: u32,
}

impl UncachedMemory {
    /// Allocates the memory, with a share near each CPU. The share of the first CPU is large enough
    /// to measure it alone.
    pub(super) fn take(cpus: &[usize]) -> Result<Self, ProbeError> {
        let [alone, share] = bytes_to_take(&Tree::of_this_machine(), cpus.len());
        let take = |(place, cpu): (usize, &usize)| {
            let (cpu, bytes) = (*cpu, if place == 0 { alone } else { share });
            let words = (bytes / 8).max(1).next_multiple_of(PIECE_WORDS);
            move || {
                hold(cpu)?;
                // Not 0: the kernel would map all pages of zeros to a single page.
                let words = vec![1; words];
                Ok(Share { cpu, words, at: 0 })
            }
        };
        let shares = at_once(cpus.iter().enumerate().map(take))?;
        Ok(Self {
            shares,
            chain: chain(alone / LINE_BYTES),
            place: 0,
        })
    }

    /// Bytes per second of the first `cpus` CPUs together, each on memory of its own.
    pub(super) fn bytes_per_second(&mut self, cpus: usize, work: Work) -> Result<f64, ProbeError> {
        let from_ns = clock::monotonic_ns() + START_NS;
        let shares = self.shares.iter_mut().take(cpus);
        let rates = at_once(shares.map(|share| move || share.bytes_per_second(from_ns, work)))?;
        Ok(rates.iter().sum())
    }

    /// Time of a read whose address comes from the read before it, ns.
    #[expect(clippy::indexing_slicing, reason = "a chain leads to lines of its own")]
    pub(super) fn latency_ns(&mut self) -> f64 {
        let begun_ns = clock::monotonic_ns();
        for _ in 0..HOPS {
            self.place = self.chain[self.place as usize][0];
        }
        (clock::monotonic_ns() - black_box(begun_ns)) as f64 / f64::from(HOPS)
    }
}

impl Share {
    fn bytes_per_second(&mut self, from_ns: u64, work: Work) -> Result<f64, ProbeError> {
        hold(self.cpu)?;
        while clock::monotonic_ns() < from_ns {}
        let begun_ns = clock::monotonic_ns();
        let (mut bytes, mut passed_ns) = (0, 0);
        while passed_ns < VALUE_NS {
            bytes += work(&mut self.words[self.at..][..PIECE_WORDS]);
            self.at = (self.at + PIECE_WORDS) % self.words.len();
            passed_ns = clock::monotonic_ns() - begun_ns;
        }
        Ok(bytes as f64 / (passed_ns as f64 / 1e9))
    }
}

/// Reads all words.
pub(super) fn read(words: &mut [u64]) -> usize {
    black_box(sum(words));
    size_of_val(words)
}

/// Copies one half over the other. Counts the bytes that are copied, each of which is read and
/// written.
pub(super) fn copy(words: &mut [u64]) -> usize {
    let (from, to) = words.split_at_mut(words.len() / 2);
    to.copy_from_slice(from);
    size_of_val(from)
}

/// Writes all words past the caches.
pub(super) fn store(words: &mut [u64]) -> usize {
    store_past_caches(words, 3);
    size_of_val(words)
}

/// Returns the bytes for one CPU alone, and those of each share if all CPUs work at once. The CPUs
/// that share a cache have together as much as one alone.
fn bytes_to_take(tree: &Tree, cpus: usize) -> [usize; 2] {
    let folder = "sys/devices/system/cpu/cpu0/cache";
    let caches = tree.names(folder).into_iter().filter_map(|index| {
        let size = tree.text(&format!("{folder}/{index}/size"))?;
        let kib = size.strip_suffix('K')?.parse::<u64>().ok()?;
        let sharing = tree.cpus(&format!("{folder}/{index}/shared_cpu_list"));
        Some((kib << 10, sharing.map_or(cpus, |sharing| sharing.len())))
    });
    let (cache_bytes, sharing) = caches.max().unwrap_or((USUAL_CACHE_BYTES, cpus));
    let available = tree.behind("proc/meminfo", "MemAvailable:");
    let available = available.and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok());
    let most = available.map_or(MOST_BYTES, |kib| MOST_BYTES.min((kib << 10) / PART));
    let bytes = TIMES_THE_CACHE * cache_bytes;
    let share = (bytes / sharing.clamp(1, cpus) as u64).min(most / cpus as u64);
    [bytes.min(most).max(1 << 20), share].map(|bytes| usize::try_from(bytes).unwrap_or(1 << 30))
}

/// Lines each of which holds the index of the next, through all of them in random order (Sattolo
/// 1986), so that no prefetcher can foresee it.
fn chain(lines: usize) -> Vec<[u32; LINE_BYTES / 4]> {
    let lines = u32::try_from(lines).unwrap_or(u32::MAX).max(2);
    let mut chain: Vec<[u32; LINE_BYTES / 4]> = (0..lines).map(|line| [line; _]).collect();
    let mut random = SplitMix64::new(1);
    for last in (1..chain.len()).rev() {
        chain.swap(last, random.below(last));
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    #[test]
    fn one_cpu_alone_has_four_times_the_largest_cache_and_so_have_those_that_share_one() {
        const CACHE: &str = "sys/devices/system/cpu/cpu0/cache";
        let files = [
            ("index2/size", "1024K"),
            ("index2/shared_cpu_list", "0"),
            ("index3/size", "16384K"),
            ("index3/shared_cpu_list", "0-7"),
        ];
        let files = files.map(|(file, text)| (format!("{CACHE}/{file}"), text));
        let files: Vec<_> = files.iter().map(|(file, text)| (&**file, *text)).collect();
        let planted = Planted::new("uncached-memory", &files);
        assert_eq!(bytes_to_take(&planted.tree, 16), [64 << 20, 8 << 20]);
        // If only four CPUs may be used, they share all of it.
        assert_eq!(bytes_to_take(&planted.tree, 4), [64 << 20, 16 << 20]);
        // At most 1 GiB for all.
        assert_eq!(bytes_to_take(&planted.tree, 256), [64 << 20, 4 << 20]);
    }
}
