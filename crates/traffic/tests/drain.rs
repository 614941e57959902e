//! A stop that is heard before the engine has looked at what had arrived: all of it is answered.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use sys::tally_page::TallyPage;
use traffic::engine::life::Life;
use traffic::engine::{self, Engine, Next, Output, Service, Settings, Step, listeners};

const WORD: &[u8] = b"hello";
/// More clients than an engine attends to in one go.
const CLIENTS: usize = 150;
/// How many of them connect while the engine is busy.
const NEW: usize = 50;
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends each word back, but the first one only when the test lets it.
struct Slow {
    reports_start: Sender<()>,
    may_go_on: Option<Receiver<()>>,
    is_draining: bool,
}

impl Service for Slow {
    type Memory = ();

    fn step(&mut self, (): &mut (), input: &[u8], output: &mut Output) -> Step {
        if input.len() < WORD.len() {
            return Step::NeedMore;
        }
        if let Some(may_go_on) = self.may_go_on.take() {
            self.reports_start.send(()).unwrap();
            may_go_on.recv_timeout(PATIENCE).unwrap();
        }
        output.bytes().extend_from_slice(&input[..WORD.len()]);
        let next = match self.is_draining {
            true => Next::Close,
            false => Next::Continue,
        };
        Step::Took {
            bytes: WORD.len(),
            next,
        }
    }

    fn is_mid_request(&self, (): &()) -> bool {
        false
    }

    fn drain(&mut self) {
        self.is_draining = true;
    }
}

#[test]
fn what_had_arrived_when_a_stop_was_heard_is_answered() {
    for engine in [Engine::Epoll, Engine::Uring] {
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut listeners = listeners::open(any_port, 1, listeners::BACKLOG).unwrap();
        let listener = listeners.remove(0);
        let address = listener.local_addr().unwrap();
        let (mut stop, stopped) = UnixStream::pair().unwrap();
        let (reports_start, start) = channel();
        let (go_on, may_go_on) = channel();
        let service = Slow {
            reports_start,
            may_go_on: Some(may_go_on),
            is_draining: false,
        };
        let server = std::thread::spawn(move || {
            let life = Life {
                counts: Arc::new(TallyPage::new().unwrap()),
                listener: Box::new(|_| Ok(())),
            };
            let place = (listener, stopped.as_fd());
            engine::run(engine, place, service, (settings(), life)).unwrap();
        });
        let mut clients: Vec<TcpStream> = (NEW..CLIENTS).map(|_| connect(address)).collect();
        clients[CLIENTS - NEW - 1].write_all(WORD).unwrap();
        start.recv_timeout(PATIENCE).unwrap();
        // The stop comes first.
        stop.write_all(b"!").unwrap();
        clients.extend((0..NEW).map(|_| connect(address)));
        for (number, client) in clients.iter_mut().enumerate() {
            if number != CLIENTS - NEW - 1 {
                client.write_all(WORD).unwrap();
            }
        }
        go_on.send(()).unwrap();
        for (number, client) in clients.iter_mut().enumerate() {
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert_eq!(answer, WORD, "{engine:?} {number}");
        }
        server.join().unwrap();
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

fn settings() -> Settings {
    Settings {
        idle_timeout_s: 60,
        request_timeout_s: 10,
        drain_timeout_s: 20,
        max_connections: 1000,
        least_rate_bytes_s: 1,
        memory_bytes: usize::MAX,
        rearm_oneshot: false,
        busy_poll: None,
    }
}
