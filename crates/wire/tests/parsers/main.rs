//! Compares our request parser with `httparse` and Node's own, on heads that servers are attacked
//! with.
//!
//! `corpus.txt` records what each parser makes of each head. Where a proxy and a server read one
//! head in two ways, a request can be smuggled past the proxy. So our parser must not accept what
//! both others refuse, and must frame a head as Node does if both accept it.

mod corpus;
mod node;

use corpus::{Case, Outcome};
use wire::request::{self, Body, Limits, Request};

/// The release of Node whose outcomes the corpus records.
const RECORDED_NODE: &str = "v20.";

fn ours(head: &[u8]) -> Outcome {
    match request::parse(head, Limits::default()) {
        Ok(Some(_)) => Outcome::Take,
        Ok(None) => Outcome::More,
        Err(_) => Outcome::Refuse,
    }
}

fn httparse(head: &[u8]) -> Outcome {
    let mut fields = [httparse::EMPTY_HEADER; 100];
    match httparse::Request::new(&mut fields).parse(head) {
        Ok(httparse::Status::Complete(_)) => Outcome::Take,
        Ok(httparse::Status::Partial) => Outcome::More,
        Err(_) => Outcome::Refuse,
    }
}

fn heads(cases: &[Case]) -> Vec<&[u8]> {
    cases.iter().map(|case| case.head.as_slice()).collect()
}

#[test]
fn nothing_is_taken_that_both_others_refuse() {
    let cases = corpus::cases();
    let heads = heads(&cases).into_iter().flat_map(with_each_byte_changed);
    let suspects: Vec<Vec<u8>> = heads
        .filter(|head| ours(head) == Outcome::Take && httparse(head) == Outcome::Refuse)
        .collect();
    let node = node::run(&suspects);
    for (head, theirs) in suspects.iter().zip(&node.answers) {
        let refused = theirs.outcome() == Outcome::Refuse;
        assert!(
            !refused,
            "{}: Node {}: {theirs:?}",
            head.escape_ascii(),
            node.version
        );
    }
}

/// A head, and every head that differs from it in one byte.
fn with_each_byte_changed(head: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let changed = (0..head.len()).flat_map(move |at| {
        (0..=u8::MAX).map(move |byte| [&head[..at], &[byte], &head[at + 1..]].concat())
    });
    std::iter::once(head.to_vec()).chain(changed)
}

#[test]
fn what_node_takes_as_well_is_framed_alike() {
    let cases = corpus::cases();
    let node = node::run(&heads(&cases));
    let mut compared = 0;
    for (case, theirs) in cases.iter().zip(&node.answers) {
        if let (Ok(Some((request, _))), Some(theirs)) = (
            request::parse(&case.head, Limits::default()),
            theirs.taken(),
        ) {
            // Node leaves the absolute form as it is; an empty path in it is `/`.
            let target = String::from_utf8_lossy(request.target);
            let same = theirs.target.ends_with(target.trim_end_matches('/'));
            assert!(same, "{}", case.name);
            let keep = theirs.keep_alive.unwrap_or(request.keep_alive);
            assert_eq!(
                (framing(&request), request.keep_alive),
                (theirs.framing.clone(), keep),
                "{}",
                case.name
            );
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared} heads were taken by both");
}

fn framing(request: &Request<'_>) -> String {
    match request.body {
        Body::None => "none".to_owned(),
        Body::Length(bytes) => format!("length={bytes}"),
        Body::Chunked => "chunked".to_owned(),
    }
}

#[test]
fn the_recorded_outcomes_are_those_of_the_parsers() {
    let cases = corpus::cases();
    let node = node::run(&heads(&cases));
    let recorded_node = node.version.starts_with(RECORDED_NODE);
    println!(
        "Node {}: {}",
        node.version,
        if recorded_node {
            "held to the record"
        } else {
            "not the recorded release"
        }
    );
    let mut seen = String::new();
    for (case, theirs) in cases.iter().zip(&node.answers) {
        let node_now = if recorded_node {
            theirs.outcome()
        } else {
            case.node
        };
        let now = [ours(&case.head), httparse(&case.head), node_now];
        if now != [case.ours, case.httparse, case.node] {
            seen += &format!("{now:?}: {}\n", case.name);
        }
    }
    assert!(seen.is_empty(), "ours, httparse, Node now:\n{seen}");
}
