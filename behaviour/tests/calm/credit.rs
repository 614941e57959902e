//! The credit of a path, found by streams over a link that Linerate makes with one.

use serde_json::Value;

use crate::common::as_nobody::copy_program;
use crate::common::{Folder, answer, linerate};

#[test]
fn a_credit_is_found_by_a_test_that_ends_when_its_base_rate_is_known() {
    crate::common::needs_root!();
    let folder = Folder::new("credit");
    // Commands over a link run as an ordinary user, from whom the folder of the build may be
    // hidden.
    let us = folder.path().join("linerate");
    copy_program(&us);
    let us = us.display();
    let server = format!("{us} stream --listen 0.0.0.0:5201");
    let client = format!(
        "{us} stream $LINERATE_SERVER --mine $LINERATE_SERVER --for 60s --interval 100ms --until-sure \
         --json --quiet"
    );
    let credit = "burst=100Mbit/s,bucket=20MB,base=20Mbit/s";
    let words = [
        "link", "--credit", credit, "--server", &server, "--", "sh", "-c", &client,
    ];
    let report: Value = serde_json::from_str(&answer(&mut linerate(&folder, &words))).unwrap();
    let path = &report["ways"][0];
    let number = |value: &Value| value.as_f64().unwrap();
    let near = |value: &Value, truth: f64| {
        let ratio = number(&value["value"]) / truth;
        assert!((0.6..1.4).contains(&ratio), "{value} and {truth}");
        assert!(number(&value["low"]) <= number(&value["high"]), "{value}");
    };
    near(&path["credit"]["credit_bytes"], 20e6);
    near(&path["credit"]["base_bits_per_second"], 20e6);
    near(&path["credit"]["burst_bits_per_second"], 100e6);
    assert!(path["plateaus"].as_array().unwrap().len() >= 2, "{path}");
    assert_eq!(report["ended_sure"], true, "{report}");
    assert!(number(&report["window_seconds"]) < 50.0, "{report}");
}
