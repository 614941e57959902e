//! nginx as a target, which counts what it was asked itself.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::certificates::{Authority, file};
use crate::common::Folder;
use crate::relay::{Misdeed, relay};
use crate::{Booked, assert_fails_as, failed, measure, number};

/// nginx in the foreground; dropping it ends it.
pub(crate) struct Nginx {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.child);
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Listens with these flags; `http2` among them speaks HTTP/2. What it answers may be said.
    pub(crate) fn start(folder: &Folder, flags: &str, answer: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let tls = match flags.contains("ssl") {
            true => {
                "ssl_certificate good.pem; ssl_certificate_key good.key;\
             ssl_protocols TLSv1.2 TLSv1.3;"
            }
            false => "",
        };
        let answer = if answer.is_empty() {
            "return 200 \"hello\\n\";"
        } else {
            answer
        };
        // In the clear one port speaks one version.
        let flags = if flags.is_empty() { "http2" } else { flags };
        let config = format!(
            "daemon off; master_process off; pid pid; error_log stderr; events {{}}\n\
             http {{ access_log log; client_body_temp_path b; proxy_temp_path p;\n\
             fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
             keepalive_requests 100;\n\
             server {{ listen {address} {flags}; {tls} location / {{ {answer} }} }} }}\n"
        );
        std::fs::write(folder.path().join("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path());
        command.args(["-c", "nginx.conf", "-e", "stderr"]);
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let nginx = Self { child, address };
        let is_up = || TcpStream::connect(address).is_ok();
        assert!(sys::clock::wait_until(Duration::from_secs(20), is_up));
        nginx
    }

    /// Ends it, and counts the requests in its log.
    fn end_and_count(self, folder: &Folder) -> u64 {
        drop(self);
        folder
            .text("log")
            .lines()
            .filter(|line| line.contains("HTTP/2.0\" 200"))
            .count() as u64
    }
}

/// nginx ends a connection after 100 requests here, and passes over what comes behind its farewell.
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
