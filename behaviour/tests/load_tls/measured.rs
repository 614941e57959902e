//! What a load by TLS measures, on our own server.

use serde_json::Value;

use crate::common::assert_says;
use crate::common::load_program::{failed, load, number, parse};
use crate::common::server::Server;

const SHORT: [&str; 7] = ["-c", "4", "-d", "300ms", "--settle", "0ms", "--insecure"];

fn measure(server: &Server, path: &str, arguments: &[&str]) -> Value {
    let url = format!("https://{}{path}", server.address);
    let output = load(&url, &[&SHORT[..], arguments, &["--json"]].concat());
    let report = parse(&output);
    assert_eq!(failed(&report), 0, "{report:#}");
    report
}

#[test]
fn connections_are_kept_in_both_versions_and_in_every_mode() {
    let server = Server::start(&["--tls-self-signed"]);
    for version in ["1.2", "1.3"] {
        for mode in [&["--rate", "300"][..], &["--throughput"], &["-t", "2"]] {
            let report = measure(&server, "/json", &[mode, &["--tls", version]].concat());
            assert_eq!(report["tls"]["version"], *version);
            assert_eq!(report["engine"], "epoll");
            // Tickets that come when nothing was asked end no connection.
            assert_eq!(report["tls"]["handshakes"], 4, "{report:#}");
            assert_eq!(report["connections_reopened"], 0, "{report:#}");
            assert!(number(&report["answered"]) > 10, "{report:#}");
        }
    }
}

#[test]
fn sessions_are_resumed_unless_that_is_off_and_each_handshake_is_timed() {
    let server = Server::start(&["--tls-self-signed"]);
    for version in ["1.2", "1.3"] {
        for resume in ["on", "off"] {
            // A connection for each request.
            let arguments = [
                "-H",
                "Connection: close",
                "--tls",
                version,
                "--resume",
                resume,
            ];
            let report = measure(&server, "/json", &arguments);
            let tls = &report["tls"];
            let [all, resumed] = ["handshakes", "resumed"].map(|name| number(&tls[name]));
            assert_eq!(number(&tls["handshake_us"]["count"]), all);
            assert!(all > 8, "{report:#}");
            match resume {
                "on" => assert!(resumed > all / 2, "{version}: {tls}"),
                _ => assert_eq!(resumed, 0, "{version}: {tls}"),
            }
        }
    }
}

#[test]
fn long_answers_and_long_requests_go_through_many_records() {
    let folder = crate::common::Folder::new("load-tls-long");
    let text = "0123456789".repeat(20_000);
    std::fs::write(folder.path().join("long"), text).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    let server = Server::start(&["--tls-self-signed", "--root", &root]);
    let report = measure(&server, "/long", &[]);
    assert!(number(&report["answered"]) > 0, "{report:#}");
    let header = format!("X-Long: {}", "x".repeat(6000));
    let report = measure(&server, "/json", &["-H", &header]);
    assert!(number(&report["answered"]) > 0, "{report:#}");
}

#[test]
fn the_page_says_what_was_agreed_on_and_how_many_handshakes_there_were() {
    let server = Server::start(&[
        "--tls-self-signed",
        "--tls-ciphers",
        "TLS_AES_128_GCM_SHA256",
    ]);
    let url = format!("https://{}/json", server.address);
    let output = load(&url, &SHORT);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = page.lines().find(|line| line.starts_with("  tls "));
    let line = line.unwrap_or_else(|| panic!("{page}{}", crate::common::errors(&output)));
    assert_says(line, "TLS 1.3, TLS_AES_128_GCM_SHA256, 4 handshakes, ");
}
