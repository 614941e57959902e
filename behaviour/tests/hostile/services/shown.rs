//! The file of a service or study may be somebody else's: all that it would run is shown first.

use std::fs;

use crate::common::{Folder, assert_says, linerate, refusal_of};

/// Each text that reaches a program has a word of its own.
const SERVICE: &str = r#"
format = 1
name = "veiled"
title = "Veiled"
protocol = "redis"
socket = "{dir}/s"
[find]
programs = ["found-first", "found-second"]
places = ["/found/place"]
version_arguments = ["--asked-version"]
version_pattern = "v{version}"
home = "https://example.org/"
[find.install]
[environment]
LD_PRELOAD = "/loaded/library.so"
[files]
"written.conf" = "text"
[[prepare]]
command = ["prepared", "--with"]
within_ms = 1000
[start]
program = "{dir}/started"
arguments = ["--always"]
on_socket = ["--by-socket"]
on_address = ["--by-address", "{port}"]
[ready]
when = { command = ["is-ready", "\u001b[2J"] }
within_ms = 1000
[stop]
signal = "SIGTERM"
grace_ms = 1000
"#;

const STUDY: &str = r#"
format = 1
name = "veiled"
title = "Veiled"
question = "Which?"
method = "By a run."
[design]
kind = "factorial"
rounds = 2
smallest_effect = 0.03
compare = "payload"
[workload]
kind = "command"
build = [["built", "--first"]]
prepare = [["prepared"]]
run = ["sh", "-c", "{payload}"]
cleanup = [["cleaned"]]
timeout_s = 5
[files]
"written.sh" = "text"
[[needs]]
name = "tool"
title = "Tool"
[needs.find]
programs = ["needed-first", "needed-second"]
places = ["/needed/place"]
version_arguments = ["--asked-version"]
version_pattern = "v{version}"
home = "https://example.org/"
[needs.find.install]
[[factor]]
name = "payload"
title = "Payload"
[[factor.level]]
name = "named-level"
title = "a"
[[factor.level]]
name = "text"
title = "b"
value = "of-one-text"
[[metric]]
name = "wall_ns"
title = "Time"
unit = "ns"
better = "lower"
from = "wall"
[[evidence]]
title = "Look"
run = ["looked", "at"]
"#;

/// What a command says to a user who did not vouch for a file.
fn refusal(folder: &str, text: &str, arguments: &[&str]) -> String {
    let lab = Folder::new(&format!("shown-{folder}"));
    let files = lab.path().join(folder);
    fs::create_dir(&files).unwrap();
    fs::write(files.join("veiled.toml"), text).unwrap();
    let said = refusal_of(&mut linerate(&lab, arguments));
    assert_says(&said, "--trust");
    said
}

fn assert_shows(said: &str, lines: &[&str]) {
    for line in lines {
        assert!(said.contains(&format!("\n  {line}\n")), "{line}: {said}");
    }
}

#[test]
fn a_service_is_refused_with_every_word_that_it_would_run_or_load() {
    let said = refusal("services", SERVICE, &["service", "start", "veiled"]);
    assert_shows(
        &said,
        &[
            "found-first|found-second --asked-version",
            "prepared --with",
            "{dir}/started --always --by-socket",
            "{dir}/started --always --by-address {port}",
            "is-ready \\u{1b}[2J",
            "programs also looked for in: /found/place",
            "environment: LD_PRELOAD=/loaded/library.so",
            "files: written.conf",
        ],
    );
}

#[test]
fn a_study_is_refused_with_every_word_that_it_would_run_or_load() {
    let said = refusal("studies", STUDY, &["study", "run", "veiled", "--yes"]);
    assert_shows(
        &said,
        &[
            "needed-first|needed-second --asked-version",
            "built --first",
            "prepared",
            "sh -c {payload}",
            "cleaned",
            "looked at",
            "{payload} is one of: named-level, of-one-text",
            "programs also looked for in: /needed/place",
            "files: written.sh",
        ],
    );
}
