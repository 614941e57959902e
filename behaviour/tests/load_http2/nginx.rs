//! nginx as a target, whose log counts the requests.

use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::common::Folder;
use crate::common::load_program::{failed, number};
use crate::common::nginx::{self, CERTIFICATE, free_address};
use crate::load_http2::{Booked, assert_fails_as, measure};
use crate::load_tls::certificates::{Authority, file};
use crate::load_tls::relay::{Misdeed, relay};

/// nginx on a port.
pub(crate) struct Nginx {
    running: nginx::Nginx,
    pub(crate) address: SocketAddr,
}

impl Nginx {
    /// Starts nginx with these flags of `listen`; with none, or `http2` among them, it speaks
    /// HTTP/2. `answer` replaces the answer unless it is empty.
    pub(crate) fn start(folder: &Folder, flags: &str, answer: &str) -> Self {
        let address = free_address();
        let tls = if flags.contains("ssl") {
            CERTIFICATE
        } else {
            ""
        };
        let answer = if answer.is_empty() {
            "return 200 \"hello\\n\";"
        } else {
            answer
        };
        // In the clear one port speaks one version.
        let flags = if flags.is_empty() { "http2" } else { flags };
        let server = format!(
            "keepalive_requests 100; listen {address} {flags}; {tls} location / {{ {answer} }}"
        );
        let is_up = || TcpStream::connect(address).is_ok();
        let running = nginx::Nginx::start(folder, &server, is_up);
        Self { running, address }
    }

    /// Ends it, and counts the requests in its log.
    fn end_and_count(self, folder: &Folder) -> u64 {
        drop(self.running);
        folder
            .text("log")
            .lines()
            .filter(|line| line.contains("HTTP/2.0\" 200"))
            .count() as u64
    }
}

/// nginx ends a connection after 100 requests here, and ignores requests after its farewell.
#[test]
fn nginx_counts_as_many_requests_as_were_answered_however_often_it_ends_a_connection() {
    let folder = Folder::new("load-http2-nginx");
    let nginx = Nginx::start(&folder, "http2", "");
    let url = format!("http://{}/", nginx.address);
    let mut booked = Booked::default();
    for arguments in [
        "--streams 1 -c 2",
        "--streams 20 -c 1",
        "--streams 20 -c 2 --rate 4000",
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let report = measure(
            &url,
            &[&arguments[..], &["-d", "700ms", "--settle", "100ms"]].concat(),
        );
        assert_eq!(failed(&report), 0, "{report:#}");
        assert!(number(&report["connections_reopened"]) > 0, "{report:#}");
        booked.add(&report);
    }
    booked.assert_agrees_with(nginx.end_and_count(&folder));
}

#[test]
fn nginx_agrees_on_http_2_by_tls_and_its_sessions_are_resumed() {
    let folder = Folder::new("load-http2-nginx-tls");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "good", &["localhost"]);
    let nginx = Nginx::start(&folder, "ssl http2", "");
    let url = format!("https://localhost:{}/", nginx.address.port());
    let ca = file(&folder, "ca.pem");
    let mut booked = Booked::default();
    for version in ["1.2", "1.3"] {
        let flags = [
            "--ca",
            &ca,
            "--tls",
            version,
            "--streams",
            "8",
            "-c",
            "2",
            "-d",
            "700ms",
        ];
        let report = measure(&url, &[&flags[..], &["--settle", "100ms"]].concat());
        assert_eq!(failed(&report), 0, "{report:#}");
        assert_eq!(report["tls"]["version"], version);
        assert!(number(&report["tls"]["handshakes"]) >= 2, "{report:#}");
        booked.add(&report);
    }
    booked.assert_agrees_with(nginx.end_and_count(&folder));
}

#[test]
fn what_breaks_tls_in_mid_answer_is_malformed_and_what_cuts_it_off_is_closed() {
    let folder = Folder::new("load-http2-breach");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "good", &["localhost"]);
    std::fs::write(folder.path().join("long"), "x".repeat(200_000)).unwrap();
    let root = format!("root {};", folder.path().display());
    let nginx = Nginx::start(&folder, "ssl http2", &root);
    let changes: Misdeed = |_, piece| piece[piece.len() / 2] ^= 1;
    let cuts: Misdeed = |client, _| drop(client.shutdown(Shutdown::Both));
    for (misdeed, bin) in [(changes, "malformed"), (cuts, "closed")] {
        let url = format!("https://{}/long", relay(nginx.address, misdeed));
        let flags = ["--insecure", "-c", "1", "-d", "1s", "--settle", "0ms"];
        assert_fails_as(&measure(&url, &flags), bin);
    }
}
