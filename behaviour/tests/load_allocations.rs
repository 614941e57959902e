//! The load generator allocates nothing per request once its connections are warm; over TLS, only
//! what rustls allocates for each record.
//!
//! One test in a program of its own: the allocations counted are those of the whole process.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "common/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "a test uses what it needs of it"
)]
mod common;

use std::net::SocketAddr;

use common::server::Server;
use model::Pace;
use model::request::{Content, KindSpec, MixSpec};
use sys::alloc::{CountingAllocator, allocations};
use traffic::load::http::HttpProtocol;
use traffic::load::mix::Mix;
use traffic::load::{Engine, LoadPlan, Loads, Observer};
use traffic::tls::{Client, ClientOptions, Trust};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Allocations of rustls for a request and its short answer, one record each: the ciphertext of the
/// one that is sent, the content of the one that is received, and the queue of each until then.
const BY_RUSTLS: u64 = 4;

/// Allocations of the process when the scored window opens and when it closes.
#[derive(Default)]
struct Allocations {
    opened: u64,
    closed: u64,
}

impl Observer for Allocations {
    fn window_opens(&mut self) {
        self.opened = allocations();
    }

    fn window_closes(&mut self) {
        self.closed = allocations();
    }
}

/// Allocations, and requests that were answered, within a window.
fn load(
    server: &Server,
    request: &dyn Loads,
    (engine, pipeline): (Engine, u32),
    tls: Option<Client>,
) -> (u64, u64) {
    let plan = LoadPlan {
        address: server.address.parse::<SocketAddr>().unwrap().into(),
        connections: 8,
        threads: 1,
        cpus: Vec::new(),
        pace: Pace::Closed,
        settle_ns: 500_000_000,
        score_ns: 1_000_000_000,
        requests: None,
        timeout_ns: 5_000_000_000,
        record_latency: engine == Engine::Epoll,
        engine,
        bulk: false,
        tls,
        streams: None,
        pipeline,
    };
    let mut counted = Allocations::default();
    let outcome = request.load(&plan, &mut counted).unwrap();
    assert!(outcome.answered > 100, "{outcome:?}");
    (counted.closed - counted.opened, outcome.answered)
}

fn get() -> HttpProtocol {
    HttpProtocol::new("GET", "a", "/json", &[], b"").unwrap()
}

/// Requests that never change, and requests with numbers of all lengths in path and body.
fn mix() -> Mix {
    let kind = |method: &str, path: &str, body: &str| KindSpec {
        name: path.to_owned(),
        weight: 1,
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: Content::Text(body.to_owned()),
    };
    let kinds = vec![
        kind("GET", "/json", ""),
        kind("HEAD", "/plaintext", ""),
        kind("GET", "/plaintext?{id:0..9999999999}", "{\"id\": {id}}"),
    ];
    Mix::new("a", &MixSpec { seed: 7, kinds }).unwrap()
}

#[test]
fn a_request_is_sent_and_its_answer_read_without_allocating() {
    let clear = Server::start(&[]);
    for way in [(Engine::Epoll, 1), (Engine::Epoll, 16), (Engine::Uring, 1)] {
        let (allocated, answered) = load(&clear, &get(), way, None);
        // Reading the thread's usage at either edge is not part of a request.
        assert!(allocated < 20, "{way:?}: {allocated} for {answered}");
    }
    let (allocated, answered) = load(&clear, &mix(), (Engine::Epoll, 1), None);
    assert!(allocated < 20, "a mix: {allocated} for {answered}");
    let secured = Server::start(&["--tls-self-signed"]);
    let options = ClientOptions {
        trust: Trust::Anybody,
        version: None,
        resumption: true,
        http2: false,
    };
    let client = Client::new("127.0.0.1", &options).unwrap();
    let (allocated, answered) = load(&secured, &get(), (Engine::Epoll, 1), Some(client));
    let most = BY_RUSTLS * answered + 20;
    assert!(allocated <= most, "{allocated} for {answered}");
}
