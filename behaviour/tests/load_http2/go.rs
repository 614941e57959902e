//! Go's net/http as a target, in the clear and by TLS.

use std::process::{Command, Stdio};

use crate::common::Folder;
use crate::common::load_program::failed;
use crate::common::processes::{Ours, line_of};
use crate::load_http2::{Booked, measure};
use crate::load_tls::certificates::{Authority, file};

/// A server that counts the requests of HTTP/2 and reports their number at `/count`; requests
/// of that path are not counted.
const SERVER: &str = r#"package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

func main() {
	var asked atomic.Int64
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			asked.Add(1)
		}
		fmt.Fprintln(w, "hello")
	})
	http.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, asked.Load())
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if os.Args[1] == "https" {
		panic(server.ServeTLS(listener, "good.pem", "good.key"))
	}
	panic(server.Serve(listener))
}
"#;

struct Go {
    _child: Ours,
    port: u16,
}

/// Builds the server in the folder.
fn build(folder: &Folder) {
    std::fs::write(folder.path().join("server.go"), SERVER).unwrap();
    let paths = format!("{}:/usr/local/go/bin", std::env::var("PATH").unwrap());
    let mut go = Command::new("go");
    go.args(["build", "-o", "server", "server.go"])
        .current_dir(folder.path());
    go.env("PATH", paths);
    go.env("GOPROXY", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOTELEMETRY", "off");
    let output = go.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn start(folder: &Folder, scheme: &str) -> Go {
    let mut command = Command::new(folder.path().join("server"));
    command.arg(scheme).current_dir(folder.path());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Ours(command.spawn().unwrap());
    let line = line_of(child.stdout.take());
    Go {
        _child: child,
        port: line.trim().parse().unwrap(),
    }
}

#[test]
fn go_answers_in_the_clear_and_by_tls_and_counts_the_same() {
    let folder = Folder::new("load-http2-go");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "good", &["localhost"]);
    build(&folder);
    for scheme in ["http", "https"] {
        let go = start(&folder, scheme);
        let url = format!("{scheme}://localhost:{}/", go.port);
        let ca = file(&folder, "ca.pem");
        let trust = if scheme == "https" {
            vec!["--ca", &ca]
        } else {
            vec![]
        };
        let mut booked = Booked::default();
        for arguments in ["--streams 10 -c 2", "--streams 10 -c 1 --throughput"] {
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let briefly = ["-d", "300ms", "--settle", "100ms"];
            let report = measure(&url, &[&arguments[..], &briefly, &trust].concat());
            assert_eq!(failed(&report), 0, "{report:#}");
            booked.add(&report);
        }
        booked.assert_agrees_with(asked(&url, &ca));
    }
}

/// What the server has counted.
fn asked(url: &str, ca: &str) -> u64 {
    let mut curl = Command::new("curl");
    curl.args(["-sf", "--http1.1", "--cacert", ca, &format!("{url}count")]);
    let output = curl.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().parse().unwrap()
}
