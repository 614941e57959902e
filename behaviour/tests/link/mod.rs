//! `linerate link`, a command around an emulated link: the program is run as a user runs it.

use crate::common::as_nobody;
mod carried;
mod ended;
mod frames;
mod kernel;
mod packets;
mod refused;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Output};

use crate::common::{Folder, errors, linerate};
use serde_json::Value;

/// A folder with nothing but the program in it, open to the user that commands run as.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let program = folder.path().join("linerate");
    as_nobody::copy_program(&program);
    let for_all = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), for_all).unwrap();
    folder
}

/// Our own server at the other end, and our own load from this one.
const SERVER: &str = "exec ./linerate serve --listen 0.0.0.0:8080 --workers 1";
const LOAD: &str = "exec ./linerate load http://$LINERATE_SERVER:8080/json --mine \
                    $LINERATE_SERVER -c 1 --settle 0ms";

/// Runs `linerate link FLAGS --json`, with our server and a load of ours with more flags.
fn load_over(folder: &Folder, flags: &[&str], load_flags: &str) -> (Output, Value) {
    let load = format!("{LOAD} {load_flags}");
    let ends = ["--server", SERVER, "--", "sh", "-c", &load];
    let mut command = linerate(folder, &[&["link", "--json"], flags, &ends].concat());
    let output = command.output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", errors(&output)));
    (output, report)
}

/// The id of the process that carries the link of our running program: its child `linerate role`.
fn carrier(program: &Child) -> String {
    let parent = format!("PPid:\t{}\n", program.id());
    let is_carrier = |pid: &String| {
        let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        file("status").is_ok_and(|status| status.contains(&parent))
            && file("cmdline").is_ok_and(|words| words.ends_with("\0role\0"))
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    pids.find(is_carrier).unwrap()
}

fn count(report: &Value, place: &str) -> u64 {
    let found = report.pointer(place);
    found
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{place} in {report:#}"))
}
