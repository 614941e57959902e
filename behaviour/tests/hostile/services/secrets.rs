//! What must stay secret: the environment of whoever starts a service, and the service's password.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::lab::{Lab, Started};
use crate::common::{answer, assert_says, refusal_of, words};

/// A program that writes its environment to a file, and then runs.
const NOSY: &str = r#"#!/bin/sh
env > "${0%/*}/tmp/seen.$$"
echo nosy/1.0
[ "$1" = -v ] || { echo it is up; exec sleep 600; }
"#;

const SERVICE: &str = r#"
format = 1
name = "nosy"
title = "Nosy"
protocol = "redis"
[find]
programs = ["nosy"]
version_arguments = ["-v"]
version_pattern = "nosy/{version}"
home = "https://example.org/"
[find.install]
[environment]
GIVEN = "by the file"
[[prepare]]
command = ["nosy", "-v"]
within_ms = 20000
[start]
arguments = []
[ready]
when = { line = "it is up" }
within_ms = 20000
[stop]
signal = "SIGTERM"
grace_ms = 1000
"#;

/// A lab with the nosy program under this name, and a PATH on which it comes first.
fn lab(test: &str, program: &str) -> (Lab, String) {
    let lab = Lab::with_service(test, "nosy", SERVICE);
    let folder = lab.0.path().to_owned();
    let path = folder.join(program);
    fs::write(&path, NOSY).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let usual = std::env::var("PATH").unwrap();
    (lab, format!("{}:{usual}", folder.display()))
}

/// The environments that the program has seen, of all its runs.
fn seen(lab: &Lab) -> String {
    let names = lab.0.names("tmp").into_iter();
    let seen = names.filter(|name| name.starts_with("seen."));
    seen.map(|name| lab.0.text(&format!("tmp/{name}")))
        .collect()
}

/// The names in the output of `env`, without those that a shell adds.
fn names(seen: &str) -> Vec<&str> {
    let names = seen
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0));
    let mut names: Vec<&str> = names
        .filter(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn a_program_that_is_asked_for_its_version_sees_nothing_of_our_secrets() {
    let (lab, path) = lab("nosy-version", "nginx");
    let mut list = lab.linerate(&["service", "list"]);
    answer(list.env("PATH", path).env("SECRET", "hunter2"));
    let seen = seen(&lab);
    assert!(seen.contains("PATH="), "it was not asked: {seen}");
    assert!(!seen.contains("hunter2"), "{seen}");
    let allowed = ["HOME", "PATH", "TMPDIR"];
    assert!(
        names(&seen).iter().all(|name| allowed.contains(name)),
        "{seen}"
    );
}

#[test]
fn a_service_finds_only_path_home_tmpdir_and_what_its_file_sets_and_its_keeper_has_no_secret() {
    let (lab, path) = lab("nosy-start", "nosy");
    let mut start = lab.linerate(&["service", "start", "nosy", "--trust", "--detach", "--json"]);
    let said = answer(start.env("PATH", path).env("SECRET", "hunter2"));
    let ready: serde_json::Value = serde_json::from_str(&said).unwrap();
    let keeper = {
        let pid = &ready["pid"];
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        fs::read(format!("/proc/{}/environ", children.trim())).unwrap()
    };
    answer(&mut lab.linerate(&["service", "stop", "nosy"]));
    let (seen, keeper) = (seen(&lab), String::from_utf8(keeper).unwrap());
    assert_says(&seen, "GIVEN=by the file");
    assert!(!seen.contains("hunter2"), "{seen}");
    assert!(!keeper.contains("hunter2"), "{keeper}");
    assert_eq!(names(&seen), ["GIVEN", "HOME", "PATH", "TMPDIR"], "{seen}");
}

/// A client that reads the environment of every process instead of asking for the file.
const CURIOUS: &str = r#"#!/bin/sh
cat /proc/[0-9]*/environ > "${0%/*}/tmp/seen.$$" 2>/dev/null
"#;

/// If we are root, all that is measured runs as one user, `nobody`: each such process can read the
/// environment of the others.
#[test]
fn a_client_of_a_download_finds_no_secret_in_any_process_that_it_may_look_at() {
    crate::common::needs_root!();
    let lab = Lab::new("curious");
    let here = lab.0.path();
    let client = here.join("client");
    fs::write(&client, CURIOUS).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(here.join("file"), vec![7; 1 << 20]).unwrap();
    let words = words("download file --settle 20ms --duration 1s --client");
    let mut download = lab.linerate(&words);
    let _measured = download
        .arg(format!("{} {{url}}", client.display()))
        .env("SECRET", "a curious word")
        .output()
        .unwrap();
    let seen = seen(&lab);
    assert!(seen.contains("PATH="), "it has seen nothing: {seen}");
    assert!(!seen.contains("a curious word"), "{seen}");
}

/// The arguments of every process of the machine.
fn all_arguments() -> String {
    let all = fs::read_dir("/proc").unwrap();
    let arguments = all.filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    let texts = arguments.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    texts.collect::<Vec<_>>().join("\n")
}

/// Asserts that the password is in its file, and in nothing that others see.
pub(super) fn assert_password_is_private(lab: &Lab, started: &Started<'_>) {
    let (password, file) = (started.password(), started.text("password_file").unwrap());
    assert_eq!(password.len(), 32);
    let lists = [&["service", "list"][..], &["service", "list", "--json"]];
    let mut seen = lists.map(|list| answer(&mut lab.linerate(list))).to_vec();
    assert!(seen.iter().all(|list| list.contains(file)), "{seen:?}");
    seen.extend([started.ready.to_string(), all_arguments()]);
    seen.push(fs::read_to_string(started.folder().join("output.log")).unwrap());
    for text in seen {
        assert!(!text.contains(&password), "{text}");
    }
    let modes = [Path::new(file), started.folder()]
        .map(|path| fs::metadata(path).unwrap().permissions().mode() & 0o777);
    assert_eq!(modes, [0o600, 0o700]);
}

#[test]
fn a_file_that_would_put_the_password_into_the_list_of_processes_is_refused() {
    let shown = SERVICE.replace("arguments = []", "arguments = [\"--password={password}\"]");
    let lab = Lab::with_service("password-shown", "nosy", &shown);
    let words = refusal_of(&mut lab.linerate(&["service", "start", "nosy", "--trust"]));
    for said in ["nosy.toml:", "`{password_file}`"] {
        assert_says(&words, said);
    }
}
