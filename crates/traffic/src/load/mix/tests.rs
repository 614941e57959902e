//! Mixes as the load loop sees them.

use super::*;
use model::request::{Content, KindSpec};

fn spec(weight: u32, method: &str, path: &str) -> KindSpec {
    KindSpec {
        name: path.to_owned(),
        weight,
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: Content::Text(String::new()),
    }
}

fn mix(specs: &[KindSpec], seed: u64) -> Mix {
    made(specs, seed).unwrap()
}

fn made(specs: &[KindSpec], seed: u64) -> Result<Mix, (usize, MixError)> {
    let kinds = specs.to_vec();
    Mix::new("a", &MixSpec { seed, kinds })
}

/// The request lines of the first `count` requests of a connection.
fn sent(mix: &Mix, connection: u32, count: usize) -> Vec<String> {
    let (mut memory, mut exchange) = (mix.memory(), mix.exchange(connection));
    let next = |_| {
        mix.begin(&mut memory, &mut exchange);
        let request = String::from_utf8_lossy(mix.request(&exchange)).into_owned();
        request.lines().next().unwrap_or_default().to_owned()
    };
    (0..count).map(next).collect()
}

#[test]
fn a_seed_repeats_the_sequence_of_each_connection() {
    let specs = [spec(2, "GET", "/i/{id:1..1000000}"), spec(1, "GET", "/b")];
    let first = sent(&mix(&specs, 7), 0, 50);
    assert_eq!(first, sent(&mix(&specs, 7), 0, 50));
    assert_ne!(first, sent(&mix(&specs, 7), 1, 50));
    assert_ne!(first, sent(&mix(&specs, 8), 0, 50));
}

#[test]
fn kinds_come_by_their_weights() {
    let specs = [
        spec(1, "GET", "/a"),
        spec(0x7fff, "GET", "/b"),
        spec(1, "GET", "/c"),
    ];
    let of = |specs: &[KindSpec], path: &str| {
        let lines = sent(&mix(specs, 3), 0, 30_000);
        lines.iter().filter(|line| line.contains(path)).count()
    };
    assert!(of(&specs, "/b") > 29_980);
    let specs = [spec(3, "GET", "/a"), spec(1, "GET", "/b")];
    let share = of(&specs, "/a") as f64 / 30_000.0;
    // Within four standard deviations of a share of three in four.
    assert!((share - 0.75).abs() < 4.0 * 0.0025, "{share}");
}

/// Begins an exchange and reads `text` as its answer.
fn answer(mix: &Mix, memory: &mut MixMemory, exchange: &mut MixExchange, text: &str) -> Framing {
    mix.begin(memory, exchange);
    let framing = mix.read(memory, exchange, text.as_bytes());
    if let Framing::Whole { fate, .. } = framing {
        mix.ended(memory, exchange, fate);
    }
    framing
}

#[test]
fn a_body_is_compared_with_the_first_of_its_own_kind() {
    let mix = mix(&[spec(1, "GET", "/a"), spec(1, "GET", "/b")], 1);
    let (mut memory, mut exchange) = (mix.memory(), mix.exchange(0));
    for _ in 0..1000 {
        mix.begin(&mut memory, &mut exchange);
        let body = ["first", "other"][exchange.kind];
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}");
        let framing = mix.read(&mut memory, &mut exchange, text.as_bytes());
        let is_right = matches!(
            framing,
            Framing::Whole {
                fate: Fate::Answered,
                ..
            }
        );
        assert!(is_right, "{framing:?}");
    }
    let wrong = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong";
    for _ in 0..1000 {
        answer(&mix, &mut memory, &mut exchange, wrong);
    }
    for ledger in mix.kinds(&memory) {
        assert!(ledger.errors.body > 0, "{ledger:?}");
    }
}

#[test]
fn bodies_of_a_kind_with_a_template_may_differ() {
    let mix = mix(&[spec(1, "GET", "/{id:1..9}")], 1);
    assert!(!mix.is_constant(0));
    let (mut memory, mut exchange) = (mix.memory(), mix.exchange(0));
    for index in 100..400 {
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{index}");
        answer(&mix, &mut memory, &mut exchange, &text);
    }
    let ledger = mix.kinds(&memory)[0];
    assert_eq!((ledger.sent, ledger.answered), (300, 300));
}

#[test]
fn answers_to_head_have_no_body_beside_others_that_have_one() {
    let mix = mix(&[spec(1, "HEAD", "/"), spec(1, "GET", "/")], 1);
    let (mut memory, mut exchange) = (mix.memory(), mix.exchange(0));
    for _ in 0..100 {
        mix.begin(&mut memory, &mut exchange);
        let is_head = exchange.kind == 0;
        let body = if is_head { "" } else { "four" };
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{body}");
        let framing = mix.read(&mut memory, &mut exchange, text.as_bytes());
        assert!(matches!(framing, Framing::Whole { .. }), "{framing:?}");
    }
}

#[test]
fn each_fate_is_booked_under_its_kind() {
    let mix = mix(&[spec(1, "GET", "/a")], 1);
    let (mut memory, mut exchange) = (mix.memory(), mix.exchange(0));
    let fates = [
        Fate::Answered,
        Fate::Status,
        Fate::Malformed,
        Fate::Body,
        Fate::Closed,
        Fate::Timeout,
        Fate::Unfinished,
    ];
    for fate in fates {
        mix.begin(&mut memory, &mut exchange);
        mix.ended(&mut memory, &exchange, fate);
    }
    let ledger = mix.kinds(&memory)[0];
    assert!(ledger.balances() && ledger.sent == 7, "{ledger:?}");
    assert_eq!((ledger.answered, ledger.errors.failed()), (1, 5));
}

#[test]
fn what_cannot_be_mixed_is_refused_with_the_kind_that_it_is_about() {
    assert_eq!(made(&[], 1).unwrap_err(), (0, MixError::Empty));
    let weightless = [spec(1, "GET", "/"), spec(0, "GET", "/")];
    let error = made(&weightless, 1).unwrap_err();
    assert_eq!(error, (1, MixError::Weightless));
    let error = made(&[spec(1, "GET", "a")], 1).unwrap_err();
    assert!(matches!(error, (0, MixError::Request(_))), "{error:?}");
}
