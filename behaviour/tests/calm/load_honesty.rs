//! A load says when its own figures cannot be trusted, and only then.

use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use model::Pace;
use model::workload::Arrivals;
use traffic::load::http::HttpProtocol;
use traffic::load::{Engine, LoadPlan, Loads as _, NoObserver};

use crate::common::load_program::{doubts, load_json};
use crate::common::load_server::{OK, answer_each};

/// A server that takes `answer_ms` for each answer.
#[expect(clippy::disallowed_methods, reason = "the server is to be slow")]
fn slow_server(answer_ms: u64) -> std::net::SocketAddr {
    answer_each(move |stream| {
        thread::sleep(Duration::from_millis(answer_ms));
        let _ = stream.write_all(OK);
    })
}

/// Asserts that in two of three runs the client is not the limit. In one it may really be, on a
/// machine that is busy with other things.
fn assert_is_mostly_not_the_limit(measure: impl Fn() -> serde_json::Value) {
    let is_not = || !doubts(&measure()).contains(&"client_is_limit");
    let first = [is_not(), is_not()];
    let mostly = if first[0] == first[1] {
        first[0]
    } else {
        is_not()
    };
    assert!(mostly, "two times of three it was");
}

#[test]
fn a_slow_server_does_not_make_the_client_the_limit() {
    let server = slow_server(5);
    assert_is_mostly_not_the_limit(|| {
        let load = load_json(server, &["-c", "16", "-d", "1s", "--settle", "100ms"]);
        assert!(load["answered"].as_u64().unwrap() > 0);
        load
    });
}

#[test]
fn an_open_loop_beyond_capacity_says_that_the_rate_was_not_reached_and_requests_left_late() {
    // Four connections at 5 ms each carry 800 requests/s at most.
    let server = slow_server(5);
    assert_is_mostly_not_the_limit(|| {
        let load = load_json(server, &["-c", "4", "--rate", "3000", "-d", "2s"]);
        let doubts = doubts(&load);
        assert!(doubts.contains(&"rate_not_reached"), "{load:#}");
        assert!(doubts.contains(&"late_sends"), "{load:#}");
        load
    });
}

#[test]
fn a_rate_that_a_server_keeps_up_with_is_reached_however_long_an_answer_takes() {
    let server = slow_server(200);
    let load = load_json(server, &["-c", "64", "--rate", "100", "-d", "2s"]);
    // Requests sent in the last 150 ms have no answer before the end.
    let errors = &load["errors"];
    assert!(errors["unfinished"].as_u64() > Some(0), "{load:#}");
    assert!(!doubts(&load).contains(&"rate_not_reached"), "{load:#}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the server is to stall")]
fn one_stall_is_seen_in_the_response_times_of_all_requests_due_in_it() {
    const STALL: Duration = Duration::from_millis(200);
    const BEFORE_THE_STALL: Duration = Duration::from_millis(500);
    let (begun, has_stalled) = (OnceLock::new(), AtomicBool::new(false));
    let address = answer_each(move |stream| {
        let begun = begun.get_or_init(sys::clock::now);
        if begun.elapsed() > BEFORE_THE_STALL && !has_stalled.swap(true, Ordering::Relaxed) {
            thread::sleep(STALL);
        }
        let _ = stream.write_all(OK);
    });
    let pace = Pace::Open {
        rate_rps: 500.0,
        arrivals: Arrivals::Uniform,
        seed: 1,
    };
    let plan = LoadPlan {
        address: address.into(),
        connections: 1,
        threads: 1,
        cpus: Vec::new(),
        pace,
        settle_ns: 100_000_000,
        score_ns: 1_500_000_000,
        requests: None,
        timeout_ns: 5_000_000_000,
        record_latency: true,
        engine: Engine::Auto,
        bulk: false,
        tls: None,
        streams: None,
        pipeline: 1,
    };
    let protocol = HttpProtocol::new("GET", "test", "/", &[], b"").unwrap();
    let latency = protocol
        .load(&plan, &mut NoObserver)
        .unwrap()
        .latency
        .unwrap();
    let slow = |histogram: &model::Histogram| {
        let slow = histogram.buckets().filter(|(ns, _)| *ns >= 100_000_000);
        slow.map(|(_, count)| count).sum::<u64>()
    };
    // In the first 100 ms of the stall 50 requests were due; each waited 100 ms or more.
    let (service, response) = (slow(&latency.service), slow(&latency.response));
    assert!(response >= 30, "{:?}", latency.response);
    // One request, and one more each time that a busy machine stops either end.
    assert!(
        service >= 1 && 5 * service < response,
        "{:?}",
        latency.service
    );
    // Requests that were due but not sent before the end have a response time and no service time.
    assert!(latency.response.total() >= latency.service.total());
}
