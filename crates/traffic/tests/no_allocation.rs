//! The server allocates nothing per request once a connection is warm.
//!
//! One test in a program of its own: the allocations counted are those of the whole process.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use sys::alloc::{CountingAllocator, allocations};
use sys::tally_page::TallyPage;
use traffic::engine::life::Life;
use traffic::engine::{self, Engine, Settings, listeners};
use traffic::server::{Files, Http, Options, PlantedCost};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const REQUEST: &[u8] = b"GET /json HTTP/1.1\r\nHost: a\r\n\r\n";
/// A request for a file, with a path to resolve and conditions to check.
const FILE_REQUEST: &[u8] = b"GET /a/../%66ile HTTP/1.1\r\nHost: a\r\n\
    If-None-Match: \"x\"\r\nRange: bytes=1-\r\n\r\n";
const ROOT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-allocation");
/// Few enough that the test ends long before the harness warns of its length, which allocates.
const REQUESTS: usize = 2_000;

#[test]
fn a_request_is_answered_without_allocating() {
    std::fs::create_dir_all(ROOT).unwrap();
    std::fs::write(format!("{ROOT}/file"), "{}").unwrap();
    let usual = || Options {
        message: "Hello, World!".to_owned(),
        files: Some(Files::below(ROOT.as_ref(), |_| None).unwrap()),
        split_send: false,
        busy_work_rounds: 0,
        planted_cost: PlantedCost::default(),
    };
    let split = || Options {
        split_send: true,
        ..usual()
    };
    let cases: [(&[u8], &dyn Fn() -> Options); 3] =
        [(REQUEST, &usual), (REQUEST, &split), (FILE_REQUEST, &usual)];
    for (engine, (request, options)) in [Engine::Epoll, Engine::Uring]
        .into_iter()
        .flat_map(|engine| cases.map(|case| (engine, case)))
    {
        let (mut client, stop, server) = serve(engine, options());
        exchange(&mut client, request, 100);
        let before = allocations();
        exchange(&mut client, request, REQUESTS);
        let request = String::from_utf8_lossy(request);
        assert_eq!(allocations() - before, 0, "{engine:?} {request}");
        drop(stop);
        drop(client);
        server.join().unwrap();
    }
}

type Running = (TcpStream, UnixStream, std::thread::JoinHandle<()>);

/// A connection to a server, what stops the server when dropped, and the server's thread.
fn serve(engine: Engine, options: Options) -> Running {
    let mut listeners = listeners::open(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        1,
        listeners::BACKLOG,
    )
    .unwrap();
    let listener = listeners.remove(0);
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stop, stopped) = UnixStream::pair().unwrap();
    let settings = Settings {
        idle_timeout_s: 60,
        request_timeout_s: 10,
        drain_timeout_s: 5,
        max_connections: 10,
        least_rate_bytes_s: 1,
        memory_bytes: usize::MAX,
        rearm_oneshot: false,
        busy_poll: None,
    };
    let server = std::thread::spawn(move || {
        let http = Http::new(options);
        let life = Life {
            counts: Arc::new(TallyPage::new().unwrap()),
            listener: Box::new(|_| Ok(())),
        };
        let place = (listener, stopped.as_fd());
        engine::run(engine, place, http, (settings, life)).unwrap();
    });
    (client, stop, server)
}

/// Sends a request `count` times and reads each answer up to the end of its body. Lengths of
/// answers may differ: the tag of a file is weak while the file is young.
fn exchange(client: &mut TcpStream, request: &[u8], count: usize) {
    let mut answer = [0; 32 * 1024];
    for _ in 0..count {
        client.write_all(request).unwrap();
        let mut filled = 0;
        while !answer[..filled].ends_with(b"}") {
            let read = client.read(&mut answer[filled..]).unwrap();
            assert!(read > 0, "closed after {filled} bytes of an answer");
            filled += read;
        }
    }
}
