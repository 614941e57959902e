//! Whose certificate is accepted, and what is said about one that is not.

use std::process::Command;

use crate::common::load_program::{load, parse};
use crate::common::load_server::{OK, answer_with};
use crate::common::server::Server;
use crate::common::{Folder, assert_says, errors};
use crate::load_tls::certificates::{Authority, file, self_signed};
use crate::load_tls::refusal;

const SHORT: [&str; 7] = ["-c", "2", "-d", "400ms", "--settle", "0ms", "--json"];

/// Our server with the certificate of that name.
fn serve(folder: &Folder, name: &str) -> Server {
    let [cert, key] = [".pem", ".key"].map(|end| file(folder, &format!("{name}{end}")));
    Server::start(&["--tls-cert", &cert, "--tls-key", &key])
}

fn url(server: &Server) -> String {
    format!("https://{}/json", server.address)
}

#[test]
fn a_certificate_of_a_ca_that_was_named_is_taken_and_so_is_one_that_was_named_itself() {
    let folder = Folder::new("load-tls-named");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "signed", &["127.0.0.1"]);
    self_signed(&folder, "own", false);
    for (name, ca) in [("signed", "ca.pem"), ("own", "own.pem")] {
        let server = serve(&folder, name);
        let ca = file(&folder, ca);
        let output = load(&url(&server), &[&SHORT[..], &["--ca", &ca]].concat());
        assert!(output.status.success(), "{name}: {}", errors(&output));
        assert_eq!(parse(&output)["tls"]["version"], "1.3");
        // OpenSSL's variable may name the bundle to use as that of the system.
        let mut command = Command::new(crate::common::program());
        command.args(["load", &url(&server)]).args(SHORT);
        let output = command.env("SSL_CERT_FILE", &ca).output().unwrap();
        assert!(output.status.success(), "{name}: {}", errors(&output));
    }
}

#[test]
fn what_is_wrong_with_a_certificate_is_told_with_what_to_do() {
    let folder = Folder::new("load-tls-wrong");
    let ca = Authority::new(&folder, "ca", "The CA");
    Authority::new(&folder, "foreign", "Another CA");
    Authority::new(&folder, "namesake", "The CA");
    ca.sign(&folder, "good", &["127.0.0.1"]);
    ca.sign(&folder, "other", &["other.test", "127.0.0.2"]);
    ca.sign_expired(&folder, "expired");
    self_signed(&folder, "both", true);
    for (name, trusted, problem) in [
        ("good", "foreign", "nobody who is trusted here vouches for"),
        ("good", "namesake", "nobody who is trusted here vouches for"),
        (
            "other",
            "ca",
            "is for other.test, 127.0.0.2, not for 127.0.0.1; use that name",
        ),
        (
            "expired",
            "ca",
            "expired on Thu, 06 May 2004 00:00:00 GMT; renew it",
        ),
        ("both", "both", "is that of a CA (CA:TRUE)"),
    ] {
        let server = serve(&folder, name);
        let trusted = file(&folder, &format!("{trusted}.pem"));
        let said = refusal(&url(&server), &["--ca", &trusted]);
        for words in [problem, "--insecure", &server.address] {
            assert!(said.contains(words), "{name}: {said}");
        }
        let output = load(&url(&server), &[&SHORT[..], &["--insecure"]].concat());
        assert!(output.status.success(), "{name}: {}", errors(&output));
    }
}

#[test]
fn nobody_vouches_for_a_certificate_that_a_server_made_for_itself() {
    let server = Server::start(&["--tls-self-signed"]);
    let folder = Folder::new("load-tls-unvouched");
    Authority::new(&folder, "ca", "The CA");
    let ca = file(&folder, "ca.pem");
    let mut command = Command::new(crate::common::program());
    command.args(["load", &url(&server)]).args(SHORT);
    let said = errors(&command.env("SSL_CERT_FILE", &ca).output().unwrap());
    assert_says(&said, "--ca FILE, or turn the check off with --insecure");
}

#[test]
fn flags_that_do_not_fit_are_refused_by_name() {
    let folder = Folder::new("load-tls-flags");
    std::fs::write(folder.path().join("empty.pem"), "nothing\n").unwrap();
    let empty = file(&folder, "empty.pem");
    let clear = format!("http://{}/", answer_with(OK));
    let secured = "https://127.0.0.1:1/";
    for (url, arguments, words) in [
        (&*clear, &["--insecure"][..], "--insecure is about TLS"),
        (&clear, &["--resume", "off"], "--resume is about TLS"),
        (secured, &["--insecure", "--ca", "x"], "cannot be used with"),
        (
            secured,
            &["--ca", "/no/such/file"],
            "cannot read /no/such/file",
        ),
        (
            secured,
            &["--ca", &empty],
            "empty.pem cannot be used: there is no certificate",
        ),
        (
            secured,
            &["--insecure", "--tls", "1.1"],
            "[possible values: 1.2, 1.3]",
        ),
    ] {
        let said = refusal(url, arguments);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn io_uring_is_not_taken_for_tls_and_says_so() {
    let server = Server::start(&["--tls-self-signed"]);
    let said = refusal(&url(&server), &["--insecure", "--engine", "uring"]);
    assert_says(&said, "io_uring carries no TLS");
}
