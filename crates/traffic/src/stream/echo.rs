//! Small datagrams that go to the server and back beside the streams: they show how long anybody
//! else on the path would wait. Each has a number. Only this end knows when it left, so an answer
//! counts for one datagram, once.

use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::Histogram;
use sys::clock;
use wire::iperf3::{UDP_ANSWER, is_udp_hello};

use super::StreamEchoes;
use super::carrying::or_nothing;

/// Mean interval between two datagrams, ns: as many a second as a call or a game sends, and no
/// load.
const EVERY_NS: u64 = 10_000_000;
const BYTES: usize = 64;
/// A datagram that is not back this long after the end is lost, ns.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Most datagrams on the way, a minute of them: one after which so many others have left is lost.
const MOST_ON_THE_WAY: usize = 6_000;

/// States of the load. 0 is before the streams; `LOADED` is beside them; in `RESTING`, between the
/// two and after the streams, no datagram leaves.
const LOADED: u8 = 1;
const RESTING: u8 = 2;

/// What the path carries at the moment, and whether the measurement is over.
#[derive(Debug, Default)]
pub(super) struct EchoState {
    load: AtomicU8,
    is_over: AtomicBool,
    /// When the measurement was over, ns.
    over_ns: AtomicU64,
    on_the_way: Mutex<BTreeMap<u64, Left>>,
}

/// A datagram that has left and is not back: when it left, and whether the path was loaded then.
#[derive(Clone, Copy, Debug)]
struct Left {
    at_ns: u64,
    load: u8,
}

impl EchoState {
    /// Says that the streams begin.
    pub(super) fn load(&self) {
        self.load.store(LOADED, Ordering::Relaxed);
    }

    /// Says that the streams are about to begin, or have ended: no datagram leaves.
    pub(super) fn rest(&self) {
        self.load.store(RESTING, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.over_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn on_the_way(&self) -> MutexGuard<'_, BTreeMap<u64, Left>> {
        self.on_the_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the datagrams and receives their answers until the measurement is over. Returns the round
/// trips before the load and under it.
pub(super) fn measure(socket: &UdpSocket, state: &EchoState) -> io::Result<StreamEchoes> {
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    thread::scope(|scope| {
        let send = || send(socket, state);
        let leaving = thread::Builder::new().spawn_scoped(scope, send)?;
        let [idle, loaded] = take(socket, state)?;
        let [idle_sent, loaded_sent] = leaving.join().unwrap_or_default();
        Ok(StreamEchoes {
            idle,
            loaded,
            idle_sent,
            loaded_sent,
        })
    })
}

/// Sends the datagrams, and returns how many left before the load and under it. One that the kernel
/// does not accept is lost.
fn send(socket: &UdpSocket, state: &EchoState) -> [u64; 2] {
    let mut sent = [0; 2];
    let mut number = 0_u64;
    let mut due_ns = clock::monotonic_ns();
    while !state.is_over() {
        let load = state.load.load(Ordering::Relaxed);
        if let Some(sent) = sent.get_mut(usize::from(load)) {
            *sent += 1;
            number += 1;
            let mut datagram = [0; BYTES];
            datagram[..8].copy_from_slice(&number.to_ne_bytes());
            let at_ns = clock::monotonic_ns();
            let mut on_the_way = state.on_the_way();
            on_the_way.insert(number, Left { at_ns, load });
            if on_the_way.len() > MOST_ON_THE_WAY {
                on_the_way.pop_first();
            }
            drop(on_the_way);
            let _ = socket.send(&datagram);
        }
        // The interval varies, so that it does not fall into step with other periodic events.
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
        if let ([number, ..], BYTES) = (datagram.as_chunks::<8>().0, bytes) {
            let left = state.on_the_way().remove(&u64::from_ne_bytes(*number));
            if let Some(Left { at_ns, load }) = left {
                round_trips[usize::from(load)].record(now_ns.saturating_sub(at_ns));
            }
        }
        let until_ns = state.over_ns.load(Ordering::Relaxed) + PATIENCE_NS;
        let are_all = state.on_the_way().is_empty();
        if state.is_over() && (are_all || now_ns > until_ns) {
            return Ok(round_trips);
        }
    }
}

/// Sends every datagram back as it came, until it is dropped.
#[derive(Debug)]
pub(super) struct Answering {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Answering {
    pub(super) fn begin(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let thread = thread::Builder::new().spawn(move || answer(&socket, &flag))?;
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
            // The client has not heard that its socket is known here.
            Ok(bytes) if is_udp_hello(&datagram[..bytes]) => drop(socket.send(&UDP_ANSWER)),
            Ok(bytes) => drop(socket.send(&datagram[..bytes])),
            Err(_) => return,
        }
    }
}

/// Counts a refused datagram as 0 bytes: the control line tells whether the other end has gone.
fn or_refused(received: io::Result<usize>) -> io::Result<usize> {
    match or_nothing(received) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(0),
        received => received,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_that_to_one_datagram_whatever_else_comes_and_none_leaves_between_idle_and_load()
    {
        let [near, far] = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        near.connect(far.local_addr().unwrap()).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let state = EchoState::default();
        let answered = |count: usize| {
            let mut datagram = [0; BYTES];
            for _ in 0..count {
                let (_, from) = far.recv_from(&mut datagram).unwrap();
                // Twice, and once of a number that is none, which the older ones would have taken for a time.
                far.send_to(&datagram, from).unwrap();
                far.send_to(&datagram, from).unwrap();
                far.send_to(&[0xff; BYTES], from).unwrap();
            }
        };
        let echoes = thread::scope(|scope| {
            let measured = scope.spawn(|| measure(&near, &state));
            answered(20);
            state.rest();
            let mut datagram = [0; BYTES];
            far.set_read_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            // At most one was leaving just then.
            let resting = (0..9).map_while(|_| far.recv(&mut datagram).ok()).count();
            assert!(resting <= 1, "{resting} left while it rested");
            far.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            state.load();
            answered(10);
            state.end();
            measured.join().unwrap().unwrap()
        });
        let came = [&echoes.idle, &echoes.loaded].map(Histogram::total);
        let sent = [echoes.idle_sent, echoes.loaded_sent];
        assert!(came[0] == 20 && came[1] == 10, "{came:?} of {sent:?}");
        assert!(sent[0] <= 21 && sent[1] <= 11, "{sent:?}");
    }
}
