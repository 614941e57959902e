//! The workers: one thread for each stream, which sends or receives until the test is over.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use model::random::SplitMix64;
use sys::bulk::{self, InPlace, Passage};
use sys::{clock, kernel_file, memory_file, socket, usage};

use super::flow::{Flow, FlowSocket};
use super::manner::Manner;
use super::{Carrier, ReceiveBy, SendBy, StreamError, datagrams};

/// Most bytes that a receiver reads with one call.
const RECEIVE_BYTES: usize = 1 << 20;
/// The kernel's notes about sends in place are read after this many sends.
const NOTES_EVERY: u64 = 16;
/// `ENOBUFS`: too many notes about sends in place were not read yet.
const NO_ROOM: i32 = 105;

/// What all workers of an end share.
#[derive(Debug)]
pub(super) struct Carrying<'a> {
    pub(super) manner: &'a Manner,
    pub(super) begun_ns: u64,
    over: AtomicBool,
    /// Bytes that may still be sent, if the test ends after a number of bytes.
    left: Option<AtomicU64>,
    /// Error of the first stream that broke before the test was over.
    broken: Mutex<Option<StreamError>>,
}

/// The time that a worker's thread used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worked {
    pub(super) cpu_ns: u64,
    /// Part of it in its own code; `system_ns` is the part in the kernel.
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    /// Time in which it was ready to run and had no CPU.
    pub(super) waited_ns: u64,
}

impl<'a> Carrying<'a> {
    pub(super) fn new(manner: &'a Manner, most_bytes: Option<u64>) -> Self {
        Self {
            manner,
            begun_ns: clock::monotonic_ns(),
            over: AtomicBool::new(false),
            left: most_bytes.map(AtomicU64::new),
            broken: Mutex::default(),
        }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Takes the error of the first stream that broke before the test was over.
    pub(super) fn broke(&self) -> Option<StreamError> {
        let broken = self.broken.lock();
        broken.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Claims up to `bytes` for a worker, and returns how many it may send.
    pub(super) fn claim(&self, bytes: usize) -> usize {
        let Some(left) = &self.left else {
            return bytes;
        };
        let take = |left: u64| Some(left - left.min(bytes as u64));
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        let before = before.unwrap_or(0);
        usize::try_from(before).map_or(bytes, |before| before.min(bytes))
    }

    /// Gives back claimed bytes that were not sent.
    pub(super) fn give_back(&self, bytes: usize) {
        if let Some(left) = &self.left {
            left.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Runs a worker for each flow, and `meanwhile` beside them; the workers end after it.
    pub(super) fn carry<T>(
        &self,
        flows: &[Flow],
        meanwhile: impl FnOnce() -> Result<T, StreamError>,
    ) -> Result<(T, Vec<Worked>), StreamError> {
        thread::scope(|scope| {
            let start = |flow| {
                let worker = thread::Builder::new().stack_size(256 * 1024);
                worker.spawn_scoped(scope, move || self.work(flow))
            };
            let workers: io::Result<Vec<_>> = flows.iter().map(start).collect();
            let outcome = match &workers {
                Ok(_) => meanwhile(),
                Err(_) => Err(StreamError::Ended),
            };
            self.end();
            // iperf3 counts its time until it hears of the end, which it does once all workers have
            // ended: wake those that wait.
            let carrier = self.manner.carrier;
            for flow in flows {
                flow.take_no_more(carrier);
            }
            let workers = workers.map_err(StreamError::Thread)?;
            let ended = workers.into_iter().map(|worker| {
                let died = |_| StreamError::Thread(io::ErrorKind::BrokenPipe.into());
                worker.join().map_err(died)
            });
            let worked: Result<Vec<Worked>, StreamError> = ended.collect();
            // What the other end said explains more than what became of a worker, so it comes
            // first.
            Ok((outcome?, worked?))
        })
    }

    fn work(&self, flow: &Flow) -> Worked {
        let went = match (&flow.socket, flow.sends) {
            (FlowSocket::Tcp(socket), true) => self.send(flow, socket),
            (FlowSocket::Tcp(socket), false) => self.receive(flow, socket),
            (FlowSocket::Udp(socket), true) => datagrams::send(self, flow, socket),
            (FlowSocket::Udp(socket), false) => datagrams::receive(self, flow, socket),
        };
        // After the end an error means nothing: the end that stops first closes its streams.
        if let (Err(source), false) = (went, self.is_over()) {
            let number = flow.id;
            let broken = self.broken.lock();
            let mut broken = broken.unwrap_or_else(PoisonError::into_inner);
            broken.get_or_insert(StreamError::Stream { number, source });
        }
        worked()
    }

    fn send(&self, flow: &Flow, socket: &TcpStream) -> io::Result<()> {
        let mut sender = Sender::new(self.manner)?;
        let mut pace = Pace::new(self);
        while !self.is_over() {
            let most = self.claim(self.manner.write_bytes);
            if most == 0 {
                return Ok(());
            }
            if !pace.wait(self) {
                self.give_back(most);
                return Ok(());
            }
            let sent = or_nothing(sender.send(socket, most));
            let count = sent.as_ref().copied().unwrap_or(0);
            self.give_back(most - count.min(most));
            sent?;
            pace.sent(count);
            flow.count.add(count);
            sender.note(flow);
        }
        Ok(())
    }

    fn receive(&self, flow: &Flow, mut socket: &TcpStream) -> io::Result<()> {
        let by_copy = self.manner.receive == ReceiveBy::Copy;
        let mut buffer = if by_copy {
            vec![0; RECEIVE_BYTES]
        } else {
            Vec::new()
        };
        while !self.is_over() {
            let came = match by_copy {
                true => socket.read(&mut buffer),
                false => bulk::discard(socket.as_fd(), RECEIVE_BYTES),
            };
            match came {
                Ok(0) => return Err(closed()),
                came => flow.count.add(or_nothing(came)?),
            }
        }
        Ok(())
    }
}

/// Turns an error that only asks for another try into 0 bytes.
pub(super) fn or_nothing(done: io::Result<usize>) -> io::Result<usize> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    match done {
        Err(error) if [Interrupted, WouldBlock].contains(&error.kind()) => Ok(0),
        done => done,
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the other end has closed it")
}

/// Bytes of our own memory that a worker holds.
pub(super) fn memory_bytes(manner: &Manner, sends: bool) -> u64 {
    let bytes = match (manner.carrier, sends) {
        (Carrier::Udp, _) => datagrams::BUFFER_BYTES,
        // A pipe holds the bytes a second time.
        (_, true) if manner.send == SendBy::Splice => 2 * manner.write_bytes,
        (_, true) => manner.write_bytes,
        (_, false) if manner.receive == ReceiveBy::Copy => RECEIVE_BYTES,
        (_, false) => 0,
    };
    bytes as u64
}

/// Reads the time that this thread used. The wait for a CPU is from the scheduler's account
/// (`proc_schedstat` of Documentation/scheduler/sched-stats.rst).
fn worked() -> Worked {
    let account = kernel_file::text("/proc/thread-self/schedstat").unwrap_or_default();
    let mut numbers = account
        .split_whitespace()
        .map(|word| word.parse().unwrap_or(0));
    let _cpu = numbers.next();
    let [user_ns, system_ns] = usage::of_thread().unwrap_or_default();
    Worked {
        cpu_ns: clock::thread_cpu_ns(),
        user_ns,
        system_ns,
        waited_ns: numbers.next().unwrap_or(0),
    }
}

/// Holds a worker to its rate.
pub(super) struct Pace {
    bits_per_s: u64,
    begun_ns: u64,
    sent_bytes: u64,
}

impl Pace {
    pub(super) fn new(carrying: &Carrying<'_>) -> Self {
        Self {
            bits_per_s: carrying.manner.rate_bits,
            begun_ns: clock::monotonic_ns(),
            sent_bytes: 0,
        }
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes as u64;
    }

    /// Waits until what was sent so far is due at the rate; false if the test is over before that.
    pub(super) fn wait(&self, carrying: &Carrying<'_>) -> bool {
        const TURN_NS: u64 = 50_000_000;
        if self.bits_per_s == 0 {
            return true;
        }
        let needed_ns = u128::from(self.sent_bytes) * 8_000_000_000 / u128::from(self.bits_per_s);
        let due_ns = self.begun_ns + u64::try_from(needed_ns).unwrap_or(u64::MAX / 2);
        loop {
            let now_ns = clock::monotonic_ns();
            if now_ns >= due_ns {
                return true;
            }
            if carrying.is_over() {
                return false;
            }
            clock::sleep_until_ns(due_ns.min(now_ns + TURN_NS));
        }
    }
}

/// How a worker gives bytes to the kernel.
enum Sender {
    Copy(Vec<u8>),
    Sendfile(OwnedFd),
    Splice(OwnedFd, Passage),
    InPlace {
        content: Vec<u8>,
        calls: u64,
        done: InPlace,
    },
}

impl Sender {
    fn new(manner: &Manner) -> io::Result<Self> {
        let bytes = manner.write_bytes;
        // Bytes that a tunnel cannot compress on the way.
        let mut random = SplitMix64::new(0);
        let content: Vec<u8> = (0..bytes).map(|_| random.bits().to_le_bytes()[0]).collect();
        Ok(match manner.send {
            SendBy::Copy => Self::Copy(content),
            SendBy::Zerocopy => Self::InPlace {
                content,
                calls: 0,
                done: InPlace::default(),
            },
            SendBy::Sendfile => Self::Sendfile(file(&content)?),
            SendBy::Splice => Self::Splice(file(&content)?, Passage::open(bytes)?),
        })
    }

    fn send(&mut self, socket: &TcpStream, most: usize) -> io::Result<usize> {
        match self {
            Self::Copy(content) => {
                let mut socket = socket;
                socket.write(&content[..most])
            }
            Self::Sendfile(file) => {
                let sent = socket::send_file(socket.as_fd(), file.as_fd(), 0, most);
                sent.map(|sent| sent.unwrap_or(0))
            }
            Self::Splice(file, passage) => passage.send(file.as_fd(), socket.as_fd(), most),
            Self::InPlace {
                content,
                calls,
                done,
            } => {
                *calls += 1;
                let sent = bulk::send_in_place(socket.as_fd(), &content[..most]);
                let is_full = sent
                    .as_ref()
                    .is_err_and(|error| error.raw_os_error() == Some(NO_ROOM));
                if is_full || calls.is_multiple_of(NOTES_EVERY) {
                    let patience_ms = if is_full { 100 } else { 0 };
                    done.take_notes(socket.as_fd(), patience_ms)?;
                }
                if is_full { Ok(0) } else { sent }
            }
        }
    }

    /// Stores what became of the sends in place.
    fn note(&self, flow: &Flow) {
        if let Self::InPlace { done, .. } = self {
            flow.count.copied.store(done.copied, Ordering::Relaxed);
            flow.count.in_place.store(done.sends, Ordering::Relaxed);
        }
    }
}

fn file(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = memory_file::empty()?;
    file.write_all(content)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use wire::iperf3::Parameters;

    use super::*;
    use crate::stream::Way;

    #[test]
    fn a_worker_that_waits_for_more_ends_with_the_test() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _far = listener.accept().unwrap();
        let long = Duration::from_secs(60);
        bulk::set_patience(near.as_fd(), long).unwrap();
        let flows = [Flow::new(1, Way::Down, false, FlowSocket::Tcp(near))];
        let manner = Manner::of(&Parameters::default(), SendBy::Copy, ReceiveBy::Discard);
        let begun = clock::now();
        Carrying::new(&manner, None)
            .carry(&flows, || Ok(()))
            .unwrap();
        assert!(begun.elapsed() < long / 2);
    }
}
