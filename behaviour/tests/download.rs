//! `linerate download`: files from servers to clients, through the program as a user has it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::processes::offspring;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of, words};

const FILE_BYTES: usize = 1 << 20;
pub(crate) const SHORT: [&str; 4] = ["--settle", "20ms", "--duration", "100ms"];
pub(crate) const CURL: &str =
    "curl --silent --insecure --http1.1 --output /dev/null {url}?[1-1000000]";

/// A folder with a file that every user may read.
pub(crate) fn folder(name: &str) -> Folder {
    let folder = Folder::new(&format!("download-{name}"));
    std::fs::write(folder.path().join("file"), vec![7; FILE_BYTES]).unwrap();
    folder
}

/// The JSON report of a short download.
fn download(folder: &Folder, flags: &[&str]) -> Value {
    download_for(folder, &SHORT, flags)
}

/// The JSON report of a download; `time` holds the flags for how long it lasts.
fn download_for(folder: &Folder, time: &[&str], flags: &[&str]) -> Value {
    let words = [&["download", "file", "--json"], time, flags].concat();
    serde_json::from_str(&answer(&mut linerate(folder, &words))).unwrap()
}

/// What is said of a download that must be refused.
pub(crate) fn refused(folder: &Folder, words: &[&str]) -> String {
    let words = [&["download"], words].concat();
    refusal_of(&mut linerate(folder, &words))
}

pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn our_own_server_and_client_give_figures_that_hold_together() {
    let folder = folder("own");
    let begun = sys::clock::now();
    let time = ["--settle", "20ms", "--duration", "2s"];
    let said = download_for(&folder, &time, &["--connections", "2"]);
    assert_took_what_its_cpus_have(&said, begun.elapsed());
    let window_seconds = number(&said["window_seconds"]);
    assert!(window_seconds >= 0.1, "{said:#}");
    assert_eq!(said["file_bytes"], FILE_BYTES);
    assert_eq!(said["tls"], Value::Null);
    let gigabytes = number(&said["acknowledged_bytes"]) / 1e9;
    let gbit = number(&said["throughput_gbit_per_second"]);
    assert!(
        (gbit * window_seconds / 8.0 / gigabytes - 1.0).abs() < 1e-6,
        "{said:#}"
    );
}

/// Asserts that each side used some CPU time, and no more than its CPUs have from the beginning of
/// the command to its end. The reader of a side's time and of the clock may be stopped between the
/// two, but not for longer than that.
fn assert_took_what_its_cpus_have(said: &Value, whole: Duration) {
    let gigabytes = number(&said["acknowledged_bytes"]) / 1e9;
    for side in ["server", "client"] {
        let side = &said[side];
        let cpus = sys::cpu::parse_list(side["cpus"].as_str().unwrap()).unwrap();
        // At either end, the kernel's count for a running thread is a tick old at most.
        let most_seconds = whole.as_secs_f64() * cpus.len() as f64 + 0.02;
        let seconds = number(&side["cpu_seconds_per_gb"]) * gigabytes;
        assert!(
            0.0 < seconds && seconds < most_seconds,
            "{whole:?}: {said:#}"
        );
    }
}

#[test]
fn each_service_with_files_sends_them_to_curl_by_both_schemes() {
    let folder = folder("services");
    for service in ["nginx", "caddy", "h2o", "go-http"] {
        for tls in [&[][..], &["--tls"]] {
            let flags = [&["--server", service, "--client", CURL], tls].concat();
            let said = download(&folder, &flags);
            let scheme = if tls.is_empty() { "http" } else { "https" };
            assert_eq!(said["scheme"], scheme);
            assert!(said["server"]["version"].is_string(), "{said:#}");
            assert_eq!(said["client"]["command"], CURL);
            let cipher = said["tls"]["cipher"].as_str().unwrap_or_default();
            assert_eq!(cipher.contains("AES_128_GCM"), !tls.is_empty(), "{said:#}");
        }
    }
}

#[test]
fn our_own_client_goes_on_with_its_session_at_each_service() {
    let folder = folder("sessions");
    for service in ["nginx", "caddy", "h2o", "go-http"] {
        let said = download(&folder, &["--server", service, "--tls"]);
        assert!(number(&said["acknowledged_bytes"]) > 0.0, "{said:#}");
    }
}

#[test]
fn a_person_is_told_the_rate_the_limit_and_the_cost_of_either_side() {
    let folder = folder("words");
    let words = [
        &["download", "file", "--tls", "--record-size", "4096"],
        &SHORT[..],
    ]
    .concat();
    let said = answer(&mut linerate(&folder, &words));
    for piece in [
        "Gbit/s over 1 connection; the client was busy",
        "file          1,048,576 bytes, over and over",
        "TLS 1.3, TLS_AES_128_GCM_SHA256",
        "server CPU",
        "CPU-s per GB",
    ] {
        assert!(said.contains(piece), "{piece} is not in\n{said}");
    }
}

#[test]
fn a_client_that_ends_is_named_with_what_it_said() {
    let folder = folder("ends");
    let said = refused(&folder, &["file", "--client", "ls --no-such-flag {url}"]);
    assert_says(&said, "ended unexpectedly: exit status: 2");
    assert_says(&said, "unrecognized option");
    let said = refused(&folder, &["file", "--client", "no-such-program {url}"]);
    assert_says(&said, "`no-such-program` could not be started");
}

/// A client of several commands; `{url}` is its first argument.
fn client(folder: &Folder, script: &str) -> String {
    std::fs::write(folder.path().join("client.sh"), script).unwrap();
    format!("sh {} {{url}}", folder.path().join("client.sh").display())
}

#[test]
fn a_client_that_connects_anew_is_refused_since_what_it_got_cannot_be_counted() {
    let folder = folder("anew");
    // Large enough for a connection to be seen while it carries the file.
    std::fs::write(folder.path().join("file"), vec![7; 32 * FILE_BYTES]).unwrap();
    let again = "while curl --silent --output /dev/null \"$1\"; do :; done";
    let client = client(&folder, again);
    let words = [
        "file",
        "--client",
        &client,
        "--settle",
        "20ms",
        "--duration",
        "1s",
    ];
    let said = refused(&folder, &words);
    // At the very end there may be no connection at all.
    let ways = [
        "came or went within the window",
        "no connection to the server",
    ];
    assert!(ways.iter().any(|way| said.contains(way)), "{said}");
    assert_says(&said, "over one connection that stays");
}

#[test]
fn a_client_may_say_as_much_as_it_likes() {
    let folder = folder("talks");
    let talks = "head -c 300000 /dev/zero | tr '\\0' x >&2\n\
                 exec curl --silent --output /dev/null \"$1?[1-1000000]\"";
    let client = client(&folder, talks);
    let said = download(&folder, &["--client", &client]);
    assert!(number(&said["acknowledged_bytes"]) > 0.0, "{said:#}");
}

#[test]
fn each_client_process_is_told_its_number_and_how_many_connections_are_its() {
    let folder = folder("each");
    let told = folder.path().join("told");
    let pulls = format!(
        "echo $2 $3 >>{}; exec wrk --threads 1 --connections $3 --duration 1h \"$1\"",
        told.display()
    );
    std::fs::write(&told, "").unwrap();
    std::fs::set_permissions(&told, Permissions::from_mode(0o666)).unwrap();
    let client = format!("{} {{number}} {{connections}}", client(&folder, &pulls));
    let flags = ["--client", &client, "-c", "6", "--each", "3"];
    let said = download(&folder, &flags);
    assert_eq!(said["connections"], 6);
    let mut lines: Vec<String> = folder.text("told").lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 3", "1 3"]);
}

#[test]
fn neither_server_nor_client_is_root() {
    let folder = folder("users");
    let told = folder.path().join("told");
    // The kernel says which user owns the listening socket at the port of the client's URL.
    let script = format!(
        "port=${{1##*:}}; port=$(printf %04X \"${{port%%/*}}\")\n\
         awk -v port=\":$port\" -v me=\"$(id -u)\" \
         '$4 == \"0A\" && $2 ~ port {{ print $8, me }}' /proc/net/tcp >{}\n\
         exec curl --silent --output /dev/null \"$1?[1-1000000]\"",
        told.display()
    );
    let client = client(&folder, &script);
    for flags in [&[][..], &["--server", "nginx"]] {
        std::fs::write(&told, "").unwrap();
        std::fs::set_permissions(&told, Permissions::from_mode(0o666)).unwrap();
        download(&folder, &[flags, &["--client", &client]].concat());
        let users = folder.text("told");
        let mut users = users.split_whitespace().peekable();
        assert!(users.peek().is_some(), "no socket listens");
        assert!(users.all(|user| user != "0"), "{}", folder.text("told"));
    }
}

#[test]
fn our_own_server_says_how_often_a_byte_crosses_the_memory_and_another_is_not_guessed_at() {
    let folder = folder("crossings");
    let per_byte =
        |flags: &[&str]| download(&folder, flags)["memory_crossings"]["per_byte"].clone();
    assert_eq!(per_byte(&[]), 1);
    assert_eq!(per_byte(&["--files-by", "copy"]), 3);
    assert_eq!(per_byte(&["--tls"]), 11);
    assert_eq!(per_byte(&["--server", "nginx"]), Value::Null);
    let reach_memory = &download(&folder, &["--tls"])["memory_crossings"]["dram_per_byte"];
    assert_eq!(*reach_memory, 3);
}

#[test]
fn what_cannot_be_downloaded_is_refused_with_what_to_do() {
    crate::common::needs_root!();
    let folder = folder("refused");
    let path = folder.path();
    std::fs::write(path.join("a file"), "").unwrap();
    std::fs::write(path.join("mine"), "text").unwrap();
    std::fs::set_permissions(path.join("mine"), Permissions::from_mode(0o000)).unwrap();
    let two = "for i in 1 2; do curl --silent --output /dev/null \"$1?[1-1000000]\" & done; wait";
    let two = client(&folder, two);
    for (words, pieces) in [
        (
            &["absent"][..],
            ["absent: No such file", "give a file that is there"],
        ),
        (
            &["a file"],
            ["cannot be asked for by its name", "name it with letters"],
        ),
        (&["mine"], ["with status 403", "readable for every user"]),
        (&["."], ["is no file", "give a file"]),
        (
            &["file", "--duration", "1s", "--client", &two],
            ["2 connections instead of our 1", "--each"],
        ),
        (
            &["file", "--client", "curl"],
            ["--client has no `{url}`", "download"],
        ),
        (
            &["file", "--server", "redis"],
            ["Redis cannot serve files", "`{root}`"],
        ),
        (&["file", "--duration", "0s"], ["--duration 0", "nothing"]),
        (
            &["file", "-c", "6", "--each", "4"],
            ["--connections 6 cannot", "--each 4"],
        ),
    ] {
        let said = refused(&folder, words);
        for piece in pieces {
            assert!(said.contains(piece), "{piece} is not in {said}");
        }
    }
}

#[test]
fn one_that_is_stopped_leaves_neither_server_nor_client() {
    let folder = folder("stopped");
    let words = words("download file --server nginx --duration 300s");
    let mut command = linerate(&folder, &words);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The keeper of the server, the server and its worker, and the client.
    let mut processes = Vec::new();
    let all_there = || {
        processes = offspring(child.id());
        processes.len() >= 4
    };
    assert!(sys::clock::wait_until(Duration::from_secs(60), all_there));
    sys::process::terminate(&child).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    processes.retain(|pid| std::fs::exists(format!("/proc/{pid}")).unwrap());
    assert!(processes.is_empty(), "{processes:?}");
}
