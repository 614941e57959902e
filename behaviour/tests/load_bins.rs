//! Every request ends in exactly one bin, whatever the server does.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Pace;
use model::workload::Arrivals;
use traffic::load::http::HttpProtocol;
use traffic::load::{Engine, LoadError, LoadOutcome, LoadPlan, Loads as _, NoObserver};

use crate::common::load_server::{OK, answer_each, answer_with, read_request, serve};

fn plan(address: SocketAddr) -> LoadPlan {
    LoadPlan {
        address: address.into(),
        connections: 5,
        threads: 2,
        cpus: Vec::new(),
        pace: Pace::Closed,
        settle_ns: 50_000_000,
        score_ns: 250_000_000,
        requests: None,
        timeout_ns: 5_000_000_000,
        record_latency: true,
        engine: Engine::Auto,
        bulk: false,
        tls: None,
        streams: None,
        pipeline: 1,
    }
}

fn get() -> HttpProtocol {
    HttpProtocol::new("GET", "test", "/", &[], b"").unwrap()
}

/// A plan for servers that are given up: several of its timeouts fit into its window.
fn impatient(address: SocketAddr) -> LoadPlan {
    LoadPlan {
        timeout_ns: 100_000_000,
        score_ns: 1_000_000_000,
        ..plan(address)
    }
}

/// Loads a server in closed and in open loop on each engine; the bins always add up.
fn load_all_ways(address: SocketAddr) -> [LoadOutcome; 4] {
    load_by(&plan(address))
}

fn load_by(plan: &LoadPlan) -> [LoadOutcome; 4] {
    let open = Pace::Open {
        rate_rps: 500.0,
        arrivals: Arrivals::Poisson,
        seed: 3,
    };
    let ways = [
        (Pace::Closed, Engine::Epoll),
        (open, Engine::Epoll),
        (Pace::Closed, Engine::Uring),
        (open, Engine::Uring),
    ];
    ways.map(|(pace, engine)| {
        let outcome = get()
            .load(
                &LoadPlan {
                    pace,
                    engine,
                    ..plan.clone()
                },
                &mut NoObserver,
            )
            .unwrap();
        let ledger = outcome.ledger;
        assert!(ledger.balances() && ledger.sent > 0, "{pace:?}: {ledger:?}");
        outcome
    })
}

/// Ends a connection before its answer is whole.
type Ends = fn(TcpStream);

#[test]
fn a_connection_that_ends_before_its_answer_is_whole_is_in_the_bin_closed() {
    const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let ways: [(&str, Ends); 4] = [
        ("at once", drop),
        ("a reset after the request", |mut stream| {
            read_request(&mut stream);
            sys::socket::reset_on_close(stream.as_fd()).unwrap();
        }),
        ("a body cut short", |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(HALF);
        }),
        ("a reset in the midst of a body", |mut stream| {
            read_request(&mut stream);
            let _ = stream.write_all(HALF);
            sys::socket::reset_on_close(stream.as_fd()).unwrap();
        }),
    ];
    for (how, end) in ways {
        for outcome in load_all_ways(serve(move |stream, _| end(stream))) {
            let errors = outcome.ledger.errors;
            let all_closed = errors.closed > 0 && errors.failed() == errors.closed;
            assert!(all_closed && outcome.answered == 0, "{how}: {errors:?}");
            assert!(outcome.connections.reopened > 0, "{how}");
        }
    }
}

#[test]
fn garbage_too_much_and_endless_headers_are_in_the_bin_malformed() {
    let endless = [
        b"HTTP/1.1 200 OK\r\n".as_slice(),
        &b"A: b\r\n".repeat(20_000),
    ]
    .concat();
    let too_much = [OK, b"!"].concat();
    for bytes in [b"220 smtp ready\r\n".to_vec(), endless, too_much] {
        for outcome in load_all_ways(answer_with(bytes)) {
            let errors = outcome.ledger.errors;
            assert!(errors.malformed > 0 && outcome.answered == 0, "{errors:?}");
        }
    }
}

#[test]
fn a_server_that_stalls_is_in_the_bin_timeout_and_its_waiting_is_counted() {
    let address = answer_each(|_| {});
    for outcome in load_by(&impatient(address)) {
        let errors = outcome.ledger.errors;
        assert!(errors.timeout > 0 && outcome.answered == 0, "{errors:?}");
        let latency = outcome.latency.unwrap();
        let waited = [&latency.service, &latency.response].map(|waits| waits.quantile(1.0));
        assert!(
            waited.iter().flatten().any(|ns| *ns >= 50_000_000),
            "{latency:?}"
        );
    }
}

#[test]
fn chunks_and_lengths_of_no_size_are_in_the_bin_malformed() {
    let chunked =
        |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    let lengths = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok".to_owned();
    for bytes in [
        chunked("zz\r\nok\r\n0\r\n\r\n"),
        chunked("-2\r\nok\r\n0\r\n\r\n"),
        chunked("2\r\nokay\r\n0\r\n\r\n"),
        chunked("ffffffffffffffffff\r\nok"),
        lengths,
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_owned(),
    ] {
        for outcome in load_all_ways(answer_with(bytes.clone())) {
            let errors = outcome.ledger.errors;
            assert!(
                errors.malformed > 0 && outcome.answered == 0,
                "{bytes}: {errors:?}"
            );
        }
    }
}

#[test]
fn an_answer_that_comes_unasked_is_taken_once_for_a_connection_at_most() {
    let unasked = serve(|mut stream, _| {
        let _ = stream.write_all(OK);
        while read_request(&mut stream).is_some() {}
    });
    // Once a request is out, nobody can tell whether an answer was written before or after.
    for outcome in load_by(&impatient(unasked)) {
        let connections = outcome.connections.opened + outcome.connections.reopened;
        assert!(outcome.ledger.answered <= connections, "{outcome:?}");
        assert!(outcome.ledger.errors.failed() > 0, "{outcome:?}");
    }
}

#[test]
fn a_body_that_never_comes_whole_and_endless_hints_are_given_up_in_time() {
    let long = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\nshort".as_slice();
    let address = answer_with(long);
    for outcome in load_by(&impatient(address)) {
        let errors = outcome.ledger.errors;
        assert!(
            errors.timeout > 0 && errors.failed() == errors.timeout,
            "{errors:?}"
        );
    }
    // Interim answers without end, and a body byte by byte: both go on as long as the client reads.
    let endless: [&[u8]; 2] = [b"HTTP/1.1 100 Continue\r\n\r\n", b"x"];
    for piece in endless {
        let address = serve(move |mut stream, _| {
            read_request(&mut stream);
            let head: &[u8] = if piece == b"x" { long } else { b"" };
            let _ = stream.write_all(head);
            while stream.write_all(piece).is_ok() {
                std::thread::yield_now();
            }
        });
        for outcome in load_by(&impatient(address)) {
            let errors = outcome.ledger.errors;
            assert!(outcome.answered == 0 && errors.failed() > 0, "{errors:?}");
        }
    }
}

#[test]
fn an_error_status_and_another_body_have_their_bins() {
    let busy = answer_with(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".as_slice());
    for outcome in load_all_ways(busy) {
        assert_eq!(
            outcome.ledger.errors.status,
            outcome.ledger.sent - outcome.ledger.errors.unfinished
        );
        assert_eq!(outcome.first_status, 503);
    }
    let count = AtomicU64::new(0);
    let changing = answer_each(move |stream| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let _ = stream.write_all(
            format!("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{number:020}").as_bytes(),
        );
    });
    let [closed, ..] = load_all_ways(changing);
    assert!(
        closed.ledger.errors.body > 0 && closed.ledger.answered > 0,
        "{:?}",
        closed.ledger
    );
}

#[test]
fn right_answers_in_every_framing_are_answered() {
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1_000_000);
    let long = [long.as_bytes(), &vec![b'x'; 1_000_000]].concat();
    let framings: [&[u8]; 4] = [
        b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nDigest: x\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        &long,
    ];
    for bytes in framings {
        for outcome in load_all_ways(answer_with(bytes)) {
            assert!(
                outcome.answered > 0 && outcome.ledger.errors.failed() == 0,
                "{outcome:?}"
            );
            assert_eq!(outcome.connections.reopened, 0);
        }
    }
}

#[test]
fn an_answer_in_drips_is_answered() {
    let address = answer_each(|stream| {
        for byte in OK {
            let _ = stream.write_all(&[*byte]);
        }
    });
    for outcome in load_all_ways(address) {
        assert!(
            outcome.answered > 0 && outcome.ledger.errors.failed() == 0,
            "{outcome:?}"
        );
    }
}

#[test]
fn a_server_that_closes_after_each_answer_loses_none() {
    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let until_close = b"HTTP/1.0 200 OK\r\n\r\nok";
    for bytes in [closing.as_slice(), until_close] {
        let address = serve(move |mut stream, _| {
            read_request(&mut stream);
            let _ = stream.write_all(bytes);
        });
        for outcome in load_all_ways(address) {
            assert!(
                outcome.answered > 0 && outcome.ledger.errors.failed() == 0,
                "{outcome:?}"
            );
            assert!(outcome.connections.reopened > 0);
        }
    }
}

#[test]
fn a_body_larger_than_the_socket_takes_at_once_arrives_whole() {
    let body: Vec<u8> = (0..16_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    let wrong = Arc::new(AtomicU64::new(0));
    let (expected, seen_wrong) = (body.clone(), Arc::clone(&wrong));
    let address = serve(move |mut stream, _| {
        while let Some(body) = read_request(&mut stream) {
            seen_wrong.fetch_add(u64::from(body != expected), Ordering::Relaxed);
            let _ = stream.write_all(OK);
        }
    });
    let post = HttpProtocol::new("POST", "test", "/", &[], &body).unwrap();
    // Far beyond what both sockets hold, so that sending stops and goes on.
    let plan = LoadPlan {
        connections: 2,
        score_ns: 3_000_000_000,
        ..plan(address)
    };
    let outcome = post.load(&plan, &mut NoObserver).unwrap();
    assert!(
        outcome.ledger.answered > 0 && outcome.ledger.errors.failed() == 0,
        "{outcome:?}"
    );
    assert_eq!(wrong.load(Ordering::Relaxed), 0);
}

#[test]
fn a_target_that_accepts_nobody_is_an_error_with_advice() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = get().load(&plan(address), &mut NoObserver).unwrap_err();
    assert!(matches!(error, LoadError::NobodyAccepted { .. }), "{error}");
    assert!(
        error.to_string().contains("is the server running"),
        "{error}"
    );
}
