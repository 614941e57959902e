//! `linerate load` as a person runs it.

use std::net::SocketAddr;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `linerate load` on a target with more arguments.
pub(crate) fn load(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::common::program());
    command
        .args(["load", url])
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs `linerate load --json` and reads what it printed.
pub(crate) fn load_json(address: SocketAddr, arguments: &[&str]) -> Value {
    let output = load(
        &format!("http://{address}/"),
        &[arguments, &["--json"]].concat(),
    );
    parse(&output)
}

/// The JSON that a load printed.
pub(crate) fn parse(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A number of a report.
pub(crate) fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// Requests that ended in any bin of errors but `unfinished`, those still under way at the end.
pub(crate) fn failed(report: &Value) -> u64 {
    let errors = report["errors"].as_object().unwrap();
    let failed = errors.iter().filter(|(bin, _)| *bin != "unfinished");
    failed.map(|(_, count)| number(count)).sum()
}

/// The names of the doubts of a load.
pub(crate) fn doubts(load: &Value) -> Vec<&str> {
    let doubts = load["doubts"].as_array().unwrap().iter();
    doubts.map(|it| it["doubt"].as_str().unwrap()).collect()
}
