//! A program on another machine is looked at there.

use std::process::Stdio;

use crate::common::processes::{Ours, line_of};
use crate::common::{answer, assert_says, refusal_of};
use crate::hosts::site::{Host, Site};

/// A server on the server's machine, and its port.
fn server(site: &Site) -> (Ours, String) {
    let words = ["python3", "-u", "-m", "http.server", "-b", "127.0.0.1", "0"];
    let child = site.on("server", &words).stdout(Stdio::piped()).spawn();
    let mut child = Ours(child.unwrap());
    let line = line_of(child.stdout.take());
    let port = line.split(' ').skip_while(|word| *word != "port").nth(1);
    (child, port.unwrap().to_owned())
}

#[test]
fn a_program_on_a_machine_of_the_hosts_file_is_looked_at_there_by_either_name_of_the_machine() {
    crate::common::needs_root!();
    let site = Site::new("explain", Host::Usual);
    let (server, port) = server(&site);
    let pid = server.id().to_string();
    for (name, whose) in [
        ("server", ["--port", &port]),
        ("bench-server", ["--pid", &pid]),
    ] {
        let words = [
            &["explain", "--for", "1s", "--out", name, "--on", name],
            &whose[..],
        ]
        .concat();
        let said = answer(&mut site.linerate(&words));
        assert_says(&said, "Its clients ask for no more");
        assert_says(
            &site.folder.text(&format!("{name}/run.json")),
            &format!("of {name}"),
        );
    }
    assert!(site.at_work("server").is_empty(), "an agent is left");
}

#[test]
fn what_cannot_be_looked_at_there_is_refused_with_the_machines_name() {
    crate::common::needs_root!();
    let site = Site::new("unexplained", Host::Usual);
    let table: [(&[&str], &str); 6] = [
        (
            &["--on", "db9", "--port", "1"],
            "`db9` is no machine of the hosts file, which names bench-client (client) and bench-server (server)",
        ),
        (
            &["--on", "http://db1/", "--pid", "1"],
            "is no machine of the hosts file",
        ),
        (&["--on", "server"], "give --pid or --port of that machine"),
        (
            &["--on", "server", "--port", "1"],
            "on server: nothing listens on 0.0.0.0:1",
        ),
        (
            &["--on", "server", "http://127.0.0.1/"],
            "cannot be used with",
        ),
        (
            &["--hosts", "h.toml", "--pid", "1"],
            "--on says which of them",
        ),
    ];
    for (words, expected) in table {
        let words = [&["explain"], words].concat();
        assert_says(&refusal_of(&mut site.linerate(&words)), expected);
    }
    site.know(&[]);
    let words = ["explain", "--on", "server", "--pid", "1"];
    assert_says(&refusal_of(&mut site.linerate(&words)), "no connection");
}
