//! Small datagrams that go to the server and back beside the streams: what anybody else on the path would
//! wait for. Each has its number and when it left, by the client's clock alone.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::Histogram;
use sys::clock;

use super::StreamEchoes;
use super::carrying::or_nothing;

/// As many a second are what a call or a game has, and no load.
const EVERY_NS: u64 = 10_000_000;
const BYTES: usize = 64;
/// What has not come back so long after the last is lost.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Whether the streams run, and whether it is over.
#[derive(Debug, Default)]
pub(super) struct EchoState {
    is_loaded: AtomicBool,
    is_over: AtomicBool,
    /// When it was over, ns.
    over_ns: AtomicU64,
    sent: AtomicU64,
}

impl EchoState {
    pub(super) fn load(&self) {
        self.is_loaded.store(true, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.over_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Sends them and takes them back until it is over. Those of before the load, and of the load.
pub(super) fn measure(socket: &UdpSocket, state: &EchoState) -> io::Result<StreamEchoes> {
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    thread::scope(|scope| {
        let sent = scope.spawn(|| send(socket, state));
        let [idle, loaded] = take(socket, state)?;
        let [idle_sent, loaded_sent] = sent.join().unwrap_or_default();
        Ok(StreamEchoes {
            idle,
            loaded,
            idle_sent,
            loaded_sent,
        })
    })
}

/// How many left before the load, and under it. One that the kernel does not take is lost.
fn send(socket: &UdpSocket, state: &EchoState) -> [u64; 2] {
    let mut sent = [0; 2];
    let mut due_ns = clock::monotonic_ns();
    while !state.is_over() {
        let is_loaded = state.is_loaded.load(Ordering::Relaxed);
        let mut datagram = [0; BYTES];
        datagram[..8].copy_from_slice(&clock::monotonic_ns().to_ne_bytes());
        datagram[8] = u8::from(is_loaded);
        let _ = socket.send(&datagram);
        sent[usize::from(is_loaded)] += 1;
        state.sent.fetch_add(1, Ordering::Relaxed);
        // It shall not beat with what else goes by a clock.
        due_ns += EVERY_NS * 3 / 4 + clock::monotonic_ns() % (EVERY_NS / 2);
        clock::sleep_until_ns(due_ns);
    }
    sent
}

fn take(socket: &UdpSocket, state: &EchoState) -> io::Result<[Histogram; 2]> {
    let mut round_trips = [Histogram::default(), Histogram::default()];
    let mut datagram = [0; BYTES];
    loop {
        let bytes = or_refused(socket.recv(&mut datagram))?;
        let now_ns = clock::monotonic_ns();
        if let ([sent_ns, ..], BYTES) = (datagram.as_chunks::<8>().0, bytes) {
            let of_load = &mut round_trips[usize::from(datagram[8] & 1)];
            of_load.record(now_ns.saturating_sub(u64::from_ne_bytes(*sent_ns)));
        }
        let came = round_trips.iter().map(Histogram::total).sum::<u64>();
        let are_all = came >= state.sent.load(Ordering::Relaxed);
        let until_ns = state.over_ns.load(Ordering::Relaxed) + PATIENCE_NS;
        if state.is_over() && (are_all || now_ns > until_ns) {
            return Ok(round_trips);
        }
    }
}

/// Sends back what comes, as it came, until it is dropped.
#[derive(Debug)]
pub(super) struct Answering {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Answering {
    pub(super) fn begin(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let thread = thread::Builder::new().spawn(move || answer(&socket, &told))?;
        let thread = Some(thread);
        Ok(Self { is_over, thread })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(socket: &UdpSocket, is_over: &AtomicBool) {
    let mut datagram = [0; BYTES];
    while !is_over.load(Ordering::Relaxed) {
        match or_refused(socket.recv(&mut datagram)) {
            Ok(0) => {}
            Ok(bytes) => drop(socket.send(&datagram[..bytes])),
            Err(_) => return,
        }
    }
}

/// An end that has gone is told by the line between both.
fn or_refused(received: io::Result<usize>) -> io::Result<usize> {
    match or_nothing(received) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(0),
        received => received,
    }
}
