//! `linerate page`: pages over an emulated link, through the program as a user has it.

use std::process::{Command, Output};

use crate::common::{assert_says, words};
use serde_json::{Value, json};

fn linerate(arguments: &[&str]) -> Output {
    Command::new(crate::common::program())
        .arg("page")
        .args(arguments)
        .output()
        .unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn pages(arguments: &[&str]) -> Value {
    let output = linerate(&[&["--json", "--samples", "2"], arguments].concat());
    assert!(output.status.success(), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn no_page_comes_sooner_than_its_window_lets_it() {
    let fetched = pages(&words(
        "--rtt 20ms --congestion reno --size 66,14480,14481,43441",
    ));
    assert_eq!(fetched["congestion_control"], "reno");
    // The MTU of 1500 less the headers and the timestamp option.
    assert_eq!(fetched["segment_bytes"], 1448);
    assert!(
        fetched["handshake_ms"].as_f64().unwrap() >= 20.0,
        "{fetched:#}"
    );
    assert!(fetched["late_ms_most"].is_number(), "{fetched:#}");
    let pages = fetched["pages"].as_array().unwrap();
    let predicted: Vec<u64> = pages
        .iter()
        .map(|page| page["predicted_round_trips"].as_u64().unwrap())
        .collect();
    assert_eq!(predicted, [1, 1, 2, 3]);
    for (page, round_trips) in pages.iter().zip(predicted) {
        let shortest_ms = page["response_ms_low"].as_f64().unwrap();
        assert!(shortest_ms >= round_trips as f64 * 20.0, "{page:#}");
    }
}

#[test]
fn an_initial_window_of_three_segments_takes_effect_on_the_wire() {
    let fetched = pages(&words(
        "--rtt 20ms --congestion reno --initcwnd 3 --size 14480",
    ));
    let page = &fetched["pages"][0];
    // The page has ten segments, and two round trips carry only 3 + 6.
    assert_eq!(page["predicted_round_trips"], 3);
    assert!(
        page["response_ms_low"].as_f64().unwrap() >= 60.0,
        "{page:#}"
    );
}

#[test]
fn values_that_are_impossible_or_unknown_are_refused_by_name() {
    for (arguments, reason) in [
        (&["--size", "65"][..], "from 66, which the head takes"),
        (&["--size", "14k"], "no size of a page"),
        (&["--size", "8388609"], "to 8388608"),
        (&["--rtt", "-1ms"], "no time such as"),
        (&["--initcwnd", "0"], "0 is not in 1..=10000"),
        (
            &["--congestion", "no-such"],
            "has no congestion control `no-such`; it has: ",
        ),
        (&["--rtt", "1h"], "more than the 600 s"),
        // More than the half of a receive buffer that windows may use, less what is not segment
        // data.
        (
            &["--size", "8388608", "--initcwnd", "10000"],
            "would send 8388608 bytes at once, and this kernel's client takes",
        ),
    ] {
        let output = linerate(arguments);
        let words = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {words}");
        assert!(words.contains(reason), "{arguments:?}: {words}");
    }
}

#[test]
fn a_page_server_or_client_that_is_started_outside_a_rig_changes_nothing() {
    let order = json!({ "pages": [], "samples": 1, "initial_window": 10, "congestion_control": null,
        "patience": { "secs": 1, "nanos": 0 } });
    let server = json!({ "address": "127.0.0.1", "client": "127.0.0.1", "order": order });
    let client = json!({ "server": "127.0.0.1:9", "order": order });
    for (role, order) in [("PageServer", server), ("PageClient", client)] {
        let order = json!({ role: order });
        // In a namespace that ends with it, so that nothing it does there lasts.
        let script = format!(
            "grep . /proc/sys/net/ipv4/tcp_*mem /proc/sys/net/ipv4/tcp_no_metrics_save > before\n\
             echo '{order}' | \"$0\" role\n\
             grep . /proc/sys/net/ipv4/tcp_*mem /proc/sys/net/ipv4/tcp_no_metrics_save | cmp - before"
        );
        let folder = std::env::temp_dir().join(format!("linerate-{role}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", "sh", "-c", &script])
            .arg(crate::common::program())
            .current_dir(&folder)
            .output()
            .unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", errors(&output));
        assert_says(&said, "this is no host of a rig");
    }
}
