//! A load of requests of several kinds, from a file or from several URLs.

mod kinds;
pub(crate) mod recording;
mod refused;
mod sequence;

use std::process::Output;

use serde_json::Value;

use crate::common::load_program::{load, parse};
use crate::common::{Folder, errors};

const SHORT: [&str; 4] = ["-d", "200ms", "--settle", "20ms"];

/// Runs a load of the requests in a file, which is written first.
fn mixed(folder: &Folder, url: &str, requests: &str, arguments: &[&str]) -> Output {
    let file = folder.path().join("requests.toml");
    std::fs::write(&file, requests).unwrap();
    let mix = ["--mix", file.to_str().unwrap()];
    load(url, &[&mix[..], arguments].concat())
}

/// The JSON of a load by a mix, which must succeed.
fn mixed_json(folder: &Folder, url: &str, requests: &str, arguments: &[&str]) -> Value {
    let unsaid = SHORT.chunks(2).filter(|flag| !arguments.contains(&flag[0]));
    let unsaid: Vec<&str> = unsaid.flatten().copied().collect();
    let output = mixed(
        folder,
        url,
        requests,
        &[arguments, &unsaid, &["--json"]].concat(),
    );
    assert!(output.status.success(), "{}", errors(&output));
    parse(&output)
}

/// A count of a kind of request.
fn count(report: &Value, kind: usize, of: &str) -> u64 {
    let kind = &report["mix"]["kinds"][kind];
    let found = kind[of].as_u64().or_else(|| kind["errors"][of].as_u64());
    found.unwrap_or_else(|| panic!("no {of} in {kind:#}"))
}
