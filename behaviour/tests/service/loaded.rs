//! nginx as it is described, under the load generator by itself.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use crate::common::answer;
use crate::service::bench::Bench;

/// An nginx that was started by hand. Dropping it stops it.
struct Nginx {
    master: Child,
    port: u16,
}

impl Nginx {
    fn start(bench: &Bench) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.unwrap().port();
        let folder = bench.0.path().join("tmp");
        let service = study::services::find("nginx").unwrap().service;
        let service = service.filled(|word| {
            Some(match word {
                "dir" | "root" => folder.display().to_string(),
                "scheme" => "http".to_owned(),
                "port" => port.to_string(),
                "listen" => format!("127.0.0.1:{port}"),
                "message" => "Hello, World!".to_owned(),
                _ => "1".to_owned(),
            })
        });
        for (file, text) in &service.files {
            std::fs::write(folder.join(file), text).unwrap();
        }
        let mut command = Command::new("/usr/sbin/nginx");
        let master = command.args(&service.start.arguments).spawn().unwrap();
        let up = sys::clock::wait_until(Duration::from_secs(20), || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        assert!(up, "nginx did not come up");
        Self { master, port }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.master);
        let _ = self.master.wait();
    }
}

#[test]
fn the_load_generator_gets_nothing_but_right_answers_from_nginx() {
    let bench = Bench::new("load-nginx");
    let nginx = Nginx::start(&bench);
    for mode in [&[][..], &["--throughput"], &["--rate", "500"]] {
        let url = format!("http://127.0.0.1:{}/json", nginx.port);
        let load = ["load", &url, "-d", "1s", "-c", "8", "--json"];
        let json = answer(&mut bench.linerate(&[&load, mode].concat()));
        let report: Value = serde_json::from_str(&json).unwrap();
        assert!(report["answered"].as_u64() > Some(0), "{report}");
        let failed = ["status", "malformed", "body", "closed", "timeout"];
        for bin in failed {
            assert_eq!(report["errors"][bin], 0, "{report}");
        }
    }
}
