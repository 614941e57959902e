//! A line of bytes between two threads. A byte there and back measures a switch of threads, a
//! wake-up or a round trip; a stream one way measures how much the line carries.

use std::io::{self, Read, Write};
use std::thread;

use sys::clock;

use super::ProbeError;
use super::threads::{hold, joined, start};

/// How long each value is measured: hundreds of round trips, or a few if each takes a millisecond.
const VALUE_NS: u64 = 6_000_000;
/// Round trips before the measurement, so that both threads have run.
const WARM_UP: u32 = 20;

/// Bytes per write of a stream.
const PIECE: usize = 1 << 16;
/// How long a stream runs before it is measured, so that the buffers between both ends are full.
const FILL_NS: u64 = 4_000_000;

/// One end of a line of bytes, which both reads and writes.
pub struct ByteEnd {
    pub reads: Box<dyn Read + Send>,
    pub writes: Box<dyn Write + Send>,
}

impl ByteEnd {
    fn send(&mut self) -> io::Result<()> {
        self.writes.write_all(&[7])
    }

    fn receive(&mut self) -> io::Result<()> {
        self.reads.read_exact(&mut [0])
    }
}

/// Makes the two ends of a line of two pipes.
///
/// # Errors
/// `EMFILE` at the limit of open files.
pub(super) fn pipes() -> io::Result<[ByteEnd; 2]> {
    let (there, back) = (io::pipe()?, io::pipe()?);
    let end = |reads, writes| ByteEnd {
        reads: Box::new(reads),
        writes: Box::new(writes),
    };
    Ok([end(back.0, there.1), end(there.0, back.1)])
}

/// Measures the round trip of a byte between threads that are held on these CPUs, ns.
///
/// # Errors
/// If a thread cannot be started or held there; and the errors of the line.
pub fn round_trip_ns(cpus: [usize; 2], ends: [ByteEnd; 2]) -> Result<f64, ProbeError> {
    let [near, far] = ends;
    thread::scope(|scope| {
        let far = start(scope, move || answer(cpus[1], far))?;
        let near = start(scope, move || ask(cpus[0], near));
        let asked = near.map(joined);
        // The error of the far end comes first: it says why that end is gone, while the near end
        // only sees that it is.
        joined(far)?;
        asked?
    })
}

/// Measures how fast a thread held on the first CPU sends to one on the second, bytes/s.
///
/// # Errors
/// If a thread cannot be started or held there; and the errors of the line.
pub(super) fn bytes_per_second(cpus: [usize; 2], ends: [ByteEnd; 2]) -> Result<f64, ProbeError> {
    let [near, far] = ends;
    thread::scope(|scope| {
        let far = start(scope, move || drain(cpus[1], far))?;
        let near = start(scope, move || pour(cpus[0], near));
        let poured = near.map(joined);
        joined(far)?;
        poured?
    })
}

fn pour(cpu: usize, mut end: ByteEnd) -> Result<f64, ProbeError> {
    hold(cpu)?;
    let piece = vec![7; PIECE];
    let mut pour_for = |duration_ns: u64| {
        let begun_ns = clock::monotonic_ns();
        let (mut pieces, mut passed_ns) = (0_u32, 0);
        while passed_ns < duration_ns {
            end.writes.write_all(&piece).map_err(ProbeError::Line)?;
            pieces += 1;
            passed_ns = clock::monotonic_ns() - begun_ns;
        }
        Ok(f64::from(pieces) * PIECE as f64 / (passed_ns as f64 / 1e9))
    };
    pour_for(FILL_NS)?;
    pour_for(VALUE_NS)
}

/// Reads until the other end is gone.
fn drain(cpu: usize, mut end: ByteEnd) -> Result<(), ProbeError> {
    hold(cpu)?;
    let mut piece = vec![0; PIECE];
    loop {
        match end.reads.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if is_an_end(&error) => return Ok(()),
            Err(error) => return Err(ProbeError::Line(error)),
        }
    }
}

fn ask(cpu: usize, mut end: ByteEnd) -> Result<f64, ProbeError> {
    hold(cpu)?;
    let mut round_trip = || {
        end.send()
            .and_then(|()| end.receive())
            .map_err(ProbeError::Line)
    };
    for _ in 0..WARM_UP {
        round_trip()?;
    }
    let begun_ns = clock::monotonic_ns();
    let (mut round_trips, mut passed_ns) = (0_u32, 0);
    while passed_ns < VALUE_NS {
        round_trip()?;
        round_trips += 1;
        passed_ns = clock::monotonic_ns() - begun_ns;
    }
    Ok(passed_ns as f64 / f64::from(round_trips))
}

/// Answers until the other end is gone.
fn answer(cpu: usize, mut end: ByteEnd) -> Result<(), ProbeError> {
    hold(cpu)?;
    loop {
        match end.receive().and_then(|()| end.send()) {
            Ok(()) => {}
            Err(error) if is_an_end(&error) => return Ok(()),
            Err(error) => return Err(ProbeError::Line(error)),
        }
    }
}

fn is_an_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | BrokenPipe | ConnectionReset)
}
