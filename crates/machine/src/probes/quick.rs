//! The probes that take a moment each. Each round takes one value of each probe, in random order,
//! so that passing disturbances of a machine affect all alike and show in the intervals.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::thread;

use model::random::SplitMix64;

use super::disk::Disk;
use super::handoff::{ByteEnd, bytes_per_second, pipes, round_trip_ns};
use super::memory::{self, UncachedMemory, Work};
use super::threads::{hold, joined, start};
use super::{ProbeError, calls, crypto};

/// Values per probe. The interval of their median goes from the fourth smallest to the fourth
/// largest (97.9 %).
pub const ROUNDS: u32 = 16;

/// Where to measure, and with what.
#[derive(Clone, Copy)]
pub struct ProbePlace<'a> {
    /// CPUs that may be used. Probes for one or two CPUs use the first.
    pub cpus: &'a [usize],
    /// The folder that a file without a name is written to.
    pub folder: &'a Path,
    pub wires: &'a dyn Wires,
    /// The address on another machine that the network probe connects to; without it that probe is
    /// left out.
    pub far: Option<SocketAddr>,
}

/// Makes connections to send over, with both ends in this process.
pub trait Wires: Sync {
    /// Makes the two ends of a TCP connection over loopback.
    ///
    /// # Errors
    /// Those of the kernel, for example if loopback is down.
    fn loopback(&self) -> io::Result<[ByteEnd; 2]>;

    /// Makes the two ends of a TCP connection between two namespaces that a pair of virtual devices
    /// joins.
    ///
    /// # Errors
    /// If these cannot be made, or a thread of this process cannot enter them.
    fn veth(&self) -> io::Result<[ByteEnd; 2]>;

    /// Makes a UDP socket over loopback, and the one that it sends to.
    ///
    /// # Errors
    /// Those of the kernel.
    fn datagrams(&self) -> io::Result<[UdpSocket; 2]>;
}

/// The values of a probe.
#[derive(Debug)]
pub struct Series {
    /// Its name, with the unit at the end.
    pub name: &'static str,
    /// What is measured, in words.
    pub what: &'static str,
    /// Its values, one per round.
    pub values: Vec<f64>,
    /// The error that ended the series, if one did.
    pub missing: Option<ProbeError>,
}

/// State that the probes share.
struct Bench<'a> {
    place: ProbePlace<'a>,
    /// Allocated once a probe needs it.
    memory: Option<Result<UncachedMemory, String>>,
    /// Written once a probe needs it.
    disk: Option<Result<Disk, String>>,
}

struct Probe {
    name: &'static str,
    what: &'static str,
    take: fn(&mut Bench<'_>) -> Result<f64, ProbeError>,
}

const fn probe(
    name: &'static str,
    what: &'static str,
    take: fn(&mut Bench<'_>) -> Result<f64, ProbeError>,
) -> Probe {
    Probe { name, what, take }
}

/// The probe that needs another machine.
const OF_FAR: &str = "tcp_connect_ns";

const PROBES: [Probe; 24] = [
    probe("syscall_ns", "a system call that does nothing", |_| {
        Ok(calls::call_ns())
    }),
    probe(
        "context_switch_ns",
        "a switch of threads on one CPU, by a byte through a pipe",
        |bench| bench.one_way_ns([0, 0]),
    ),
    probe(
        "wake_up_ns",
        "a thread woken on another CPU, by a byte through a pipe",
        |bench| bench.one_way_ns([0, 1]),
    ),
    probe("timer_overshoot_ns", "how late a timer is", |_| {
        calls::overshoot_ns()
    }),
    probe(
        "tcp_round_trip_ns",
        "a byte to another CPU and back, by TCP over loopback",
        |bench| round_trip_ns(bench.two(), bench.loopback()?),
    ),
    probe(
        "veth_round_trip_ns",
        "the same between two namespaces, by a pair of devices",
        |bench| {
            let ends = bench.place.wires.veth().map_err(ProbeError::Line)?;
            round_trip_ns(bench.two(), ends)
        },
    ),
    probe(
        OF_FAR,
        "a connection opened to the host of --to: one round trip",
        |bench| calls::connect_ns(bench.place.far),
    ),
    probe(
        "loopback_bytes_per_second",
        "sent by one CPU to another, by TCP over loopback",
        |bench| bytes_per_second(bench.two(), bench.loopback()?),
    ),
    probe(
        "datagram_ns",
        "64 bytes by UDP over loopback, both ends on one CPU",
        |bench| calls::datagram_ns(bench.place.wires.datagrams().map_err(ProbeError::Line)?),
    ),
    probe(
        "memory_latency_ns",
        "a memory read that nothing predicted",
        |bench| Ok(bench.memory()?.latency_ns()),
    ),
    probe(
        "memory_read_bytes_per_second",
        "memory read by one CPU",
        |bench| bench.one(memory::read),
    ),
    probe("memory_read_all_bytes_per_second", "by all CPUs", |bench| {
        bench.all(memory::read)
    }),
    probe(
        "memory_copy_bytes_per_second",
        "memory copied by one CPU",
        |bench| bench.one(memory::copy),
    ),
    probe("memory_copy_all_bytes_per_second", "by all CPUs", |bench| {
        bench.all(memory::copy)
    }),
    probe(
        "memory_store_bytes_per_second",
        "memory written past the caches by one CPU",
        |bench| bench.one(memory::store),
    ),
    probe(
        "memory_store_all_bytes_per_second",
        "by all CPUs",
        |bench| bench.all(memory::store),
    ),
    probe(
        "aes_128_gcm_bytes_per_second",
        "encrypted with AES-128-GCM by one CPU",
        |_| crypto::sealed_bytes_per_second(crypto::AES_128),
    ),
    probe(
        "chacha20_poly1305_bytes_per_second",
        "encrypted with ChaCha20-Poly1305 by one CPU",
        |_| crypto::sealed_bytes_per_second(crypto::CHACHA20),
    ),
    probe(
        "sha_256_bytes_per_second",
        "digested with SHA-256 by one CPU",
        |_| crypto::digested_bytes_per_second(),
    ),
    probe(
        "page_cache_read_bytes_per_second",
        "a file read from the page cache",
        |bench| bench.disk()?.cached_bytes_per_second(),
    ),
    probe(
        "disk_read_bytes_per_second",
        "a file read from its disk, in order",
        |bench| bench.disk()?.read_bytes_per_second(),
    ),
    probe(
        "disk_write_bytes_per_second",
        "a file written to its disk, in order",
        |bench| bench.disk()?.written_bytes_per_second(),
    ),
    probe("disk_block_ns", "4 KiB read from anywhere in it", |bench| {
        bench.disk()?.block_ns()
    }),
    probe(
        "disk_sync_ns",
        "4 KiB written and synced to it (fdatasync)",
        |bench| bench.disk()?.sync_ns(),
    ),
];

/// Measures all probes until this process is asked to stop. Hands over how many rounds are done.
///
/// # Errors
/// If no thread can be started or held on the first CPU. The error of a single probe is in its
/// series.
pub fn measure(
    place: ProbePlace<'_>,
    seed: u64,
    mut done: impl FnMut(u32) + Send,
) -> Result<Vec<Series>, ProbeError> {
    let has_what_it_takes = |probe: &&Probe| probe.name != OF_FAR || place.far.is_some();
    let all: Vec<&Probe> = PROBES.iter().filter(has_what_it_takes).collect();
    held(place, move |bench| {
        rounds(bench, &all, (seed, ROUNDS), &mut done)
    })
}

/// Measures only the probes of these names, in `count` rounds.
///
/// # Errors
/// As [`measure`].
pub fn measure_these(
    place: ProbePlace<'_>,
    seed: u64,
    names: &[&str],
    count: u32,
) -> Result<Vec<Series>, ProbeError> {
    let all = PROBES.iter().filter(|probe| names.contains(&probe.name));
    let all: Vec<&Probe> = all.collect();
    held(place, move |bench| {
        rounds(bench, &all, (seed, count), &mut |_| {})
    })
}

/// Does the work in a thread on the first CPU, so that the caller may still run on all its CPUs.
fn held<'a>(
    place: ProbePlace<'a>,
    work: impl FnOnce(&mut Bench<'a>) -> Vec<Series> + Send,
) -> Result<Vec<Series>, ProbeError> {
    thread::scope(|scope| {
        joined(start(scope, move || {
            hold(place.cpus[0])?;
            Ok(work(&mut Bench::of(place)))
        })?)
    })
}

fn rounds(
    bench: &mut Bench<'_>,
    probes: &[&Probe],
    (seed, count): (u64, u32),
    done: &mut dyn FnMut(u32),
) -> Vec<Series> {
    let series = probes.iter().map(|probe| Series {
        name: probe.name,
        what: probe.what,
        values: Vec::new(),
        missing: None,
    });
    let mut all: Vec<Series> = series.collect();
    let mut order: Vec<usize> = (0..probes.len()).collect();
    let mut random = SplitMix64::new(seed);
    for round in 1..=count {
        random.shuffle(&mut order);
        for place in &order {
            if sys::stop::heard().is_some() {
                return all;
            }
            all[*place].add(probes[*place].take, bench);
        }
        done(round);
    }
    all
}

impl Series {
    /// Adds a value. A probe that failed once is not tried again.
    fn add(&mut self, take: fn(&mut Bench<'_>) -> Result<f64, ProbeError>, bench: &mut Bench<'_>) {
        if self.missing.is_none() {
            match take(bench) {
                Ok(value) => self.values.push(value),
                Err(error) => self.missing = Some(error),
            }
        }
    }
}

impl<'a> Bench<'a> {
    fn of(place: ProbePlace<'a>) -> Self {
        Self {
            place,
            memory: None,
            disk: None,
        }
    }

    fn memory(&mut self) -> Result<&mut UncachedMemory, ProbeError> {
        let cpus = self.place.cpus;
        let take = || UncachedMemory::take(cpus).map_err(|error| error.to_string());
        let memory = self.memory.get_or_insert_with(take).as_mut();
        memory.map_err(|why| ProbeError::Missing(why.clone()))
    }

    fn disk(&mut self) -> Result<&mut Disk, ProbeError> {
        let folder = self.place.folder;
        let write = || Disk::write(folder).map_err(|error| with_cause(&error));
        let disk = self.disk.get_or_insert_with(write).as_mut();
        disk.map_err(|why| ProbeError::Missing(why.clone()))
    }

    fn one(&mut self, work: Work) -> Result<f64, ProbeError> {
        self.memory()?.bytes_per_second(1, work)
    }

    fn all(&mut self, work: Work) -> Result<f64, ProbeError> {
        self.memory()?.bytes_per_second(usize::MAX, work)
    }

    fn loopback(&self) -> Result<[ByteEnd; 2], ProbeError> {
        self.place.wires.loopback().map_err(ProbeError::Line)
    }

    /// The first two CPUs, or the only one twice.
    fn two(&self) -> [usize; 2] {
        let cpus = self.place.cpus;
        [cpus[0], *cpus.get(1).unwrap_or(&cpus[0])]
    }

    /// Measures a byte one way through a pipe, as half of a round trip, between two CPUs given by
    /// their positions in the list, ns.
    fn one_way_ns(&self, places: [usize; 2]) -> Result<f64, ProbeError> {
        let cpus = places.map(|place| self.place.cpus.get(place).copied());
        let [Some(one), Some(other)] = cpus else {
            return Err(ProbeError::OneCpu);
        };
        let ends = pipes().map_err(ProbeError::Line)?;
        Ok(round_trip_ns([one, other], ends)? / 2.0)
    }
}

/// The text of an error with its cause.
fn with_cause(error: &ProbeError) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
