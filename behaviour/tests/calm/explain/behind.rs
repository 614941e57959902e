//! A server that waits for a program behind it leads `explain` to that program, and on to the next.

use serde_json::Value;

use crate::common::planted::{Planted, explained, share};
use crate::common::{Folder, answer, assert_says, linerate};

/// The number of programs behind the explained one, and the name of what holds the last one back.
fn last(explanation: &Value) -> (usize, &Value) {
    match &explanation["behind"] {
        Value::Null => (0, &explanation["limiter"]["name"]),
        behind => {
            let (depth, name) = last(behind);
            (depth + 1, name)
        }
    }
}

fn port(server: &Planted) -> &str {
    server.url.trim_end_matches('/').rsplit(':').next().unwrap()
}

#[test]
fn a_server_that_waits_for_another_leads_to_what_holds_the_last_one_back() {
    let folder = Folder::new("behind");
    let last_one = Planted::new("timer");
    let middle = Planted::with("behind", &[port(&last_one)]);
    let first = Planted::with("behind", &[port(&middle)]);
    let found = explained(&folder, &[&first.url, "--no-touch", "--out", "run"]);
    assert!(share(&found, "elsewhere") > 0.5, "{found:#}");
    let (depth, name) = last(&found["explanation"]);
    assert_eq!((depth, name.as_str()), (2, Some("sleep")), "{found:#}");
    let said = answer(&mut linerate(&folder, &["explain", "--from", "run"]));
    for server in [&middle, &last_one] {
        assert_says(&said, &format!("(pid {})", server.child.id()));
        assert_says(&said, &format!("127.0.0.1:{}", port(server)));
    }
    assert_says(&folder.text("run/report.html"), "The program behind it");
}

#[test]
fn a_server_that_waits_for_nobody_leads_nowhere() {
    let folder = Folder::new("nobody");
    let server = Planted::new("timer");
    let found = explained(&folder, &[&server.url, "--no-touch", "--out", "run"]);
    assert_eq!(last(&found["explanation"]).0, 0);
    assert!(
        found["looked"]["observation"]["behind"].is_null(),
        "{found:#}"
    );
}
