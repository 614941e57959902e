//! What is sent: in an order that a seed repeats, with numbers that are drawn, and headers of both
//! the file and the command.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::common::Folder;
use crate::common::load_program::load;
use crate::load_mix::mixed_json;
use crate::load_mix::recording::{Recording, ok};

const REQUESTS: &str = r#"
    [[request]]
    path = "/items/{id:1..100000}?page={page:1..3}"
    weight = 3

    [[request]]
    path = "/orders"
    body = '{"item": {id:1..100000}, "lines": {}}'
    headers = { Content-Type = "application/json" }
"#;
/// A connection of a load sends more requests than this, on a busy machine too; a look sends one.
const COMPARED: usize = 8;

/// The first requests of each connection of a load; sorted, as connections have no order.
fn sequences(server: &Recording, arguments: &[&str]) -> Vec<Vec<String>> {
    let folder = Folder::new(&format!("mix-sequence-{}", arguments.join("")));
    let report = mixed_json(&folder, &server.url, REQUESTS, arguments);
    assert_eq!(report["errors"]["status"], 0, "{report:#}");
    let mut found = server.take();
    found.retain(|asked| asked.len() > 1);
    for asked in &mut found {
        assert!(asked.len() > COMPARED, "{}", asked.len());
        asked.truncate(COMPARED);
    }
    found.sort();
    found
}

#[test]
fn a_seed_has_every_connection_send_its_requests_again_and_another_seed_others() {
    let server = Recording::echo();
    for pace in [&["-c", "4", "-t", "2"][..], &["-c", "2", "--rate", "2000"]] {
        let with = |seed: &str| sequences(&server, &[pace, &["--seed", seed]].concat());
        let first = with("7");
        assert_eq!(first, with("7"), "{pace:?}");
        assert_ne!(first, with("8"), "{pace:?}");
        assert!(first.windows(2).all(|two| two[0] != two[1]), "{first:#?}");
    }
}

#[test]
fn a_number_is_drawn_for_each_request_and_a_name_is_one_number_within_it() {
    let server = Recording::echo();
    let url = format!("{}/a/{{id:10..12}}?again={{id}}", server.url);
    let output = load(
        &url,
        &[
            "-c",
            "1",
            "-d",
            "1s",
            "--settle",
            "0ms",
            "--body",
            "{\"id\": {id}}",
        ],
    );
    assert!(output.status.success(), "{output:?}");
    let asked: Vec<String> = server.take().into_iter().flatten().collect();
    let mut kinds = asked.clone();
    kinds.sort();
    kinds.dedup();
    let expected = [10, 11, 12].map(|id| format!("POST /a/{id}?again={id} {{\"id\": {id}}}"));
    assert_eq!(kinds, expected);
    assert!(asked.windows(2).any(|two| two[0] != two[1]));
}

#[test]
fn a_header_of_the_command_is_in_all_requests_in_place_of_those_of_its_name() {
    const TOLD: &str = r#"
        [[request]]
        path = "/told"
        headers = { host = "of.the.file", Accept = "text/plain", A = "b" }

        [[request]]
        path = "/plain"
    "#;
    let folder = Folder::new("mix-headers");
    let heads = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&heads);
    let server = Recording::start(move |request| {
        seen.lock().unwrap().insert(request.head.clone());
        ok("here")
    });
    let headers = ["-H", "Host: of.the.command", "-H", "accept: */*"];
    mixed_json(&folder, &server.url, TOLD, &headers);
    let expected = [
        "GET /plain HTTP/1.1\r\nHost: of.the.command\r\naccept: */*\r\n\r\n",
        "GET /told HTTP/1.1\r\nA: b\r\nHost: of.the.command\r\naccept: */*\r\n\r\n",
    ];
    assert!(heads.lock().unwrap().iter().eq(expected));
}
