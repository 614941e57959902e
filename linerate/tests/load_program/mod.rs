//! `linerate load` as a person runs it.

use std::net::SocketAddr;
use std::process::{Command, Output};

/// Runs `linerate load` on a target with more arguments.
pub(crate) fn load(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command
        .args(["load", url])
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs `linerate load --json` and reads what it printed.
pub(crate) fn load_json(address: SocketAddr, arguments: &[&str]) -> serde_json::Value {
    let output = load(
        &format!("http://{address}/"),
        &[arguments, &["--json"]].concat(),
    );
    parse(&output)
}

/// The JSON that a load printed.
pub(crate) fn parse(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}
