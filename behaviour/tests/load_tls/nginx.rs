//! nginx as a target over TLS, its certificate checked.

use std::net::TcpStream;

use crate::common::load_program::{load, parse};
use crate::common::nginx::{CERTIFICATE, Nginx, free_address};
use crate::common::{Folder, errors};
use crate::load_tls::certificates::{Authority, file};

#[test]
fn nginx_answers_by_tls_and_its_sessions_are_resumed() {
    let folder = Folder::new("load-tls-nginx");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "good", &["localhost"]);
    let address = free_address();
    let server = format!(
        "listen {address} ssl; {CERTIFICATE} ssl_session_cache shared:a:1m; \
         location / {{ return 200 \"hello\\n\"; }}"
    );
    let _nginx = Nginx::start(&folder, &server, || TcpStream::connect(address).is_ok());
    let url = format!("https://localhost:{}/", address.port());
    let ca = file(&folder, "ca.pem");
    for version in ["1.2", "1.3"] {
        for headers in [&[][..], &["-H", "Connection: close"]] {
            let flags = [
                "--ca", &ca, "--tls", version, "-c", "4", "-d", "200ms", "--settle", "0ms",
                "--json",
            ];
            let output = load(&url, &[&flags[..], headers].concat());
            assert!(output.status.success(), "{}", errors(&output));
            let report = parse(&output);
            assert_eq!(report["errors"]["malformed"], 0, "{report:#}");
            assert_eq!(report["errors"]["closed"], 0, "{report:#}");
            let tls = &report["tls"];
            assert_eq!(tls["version"], version);
            let resumed = tls["resumed"].as_u64().unwrap();
            assert!(headers.is_empty() || resumed > 4, "{version}: {report:#}");
        }
    }
}
