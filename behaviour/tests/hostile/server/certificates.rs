//! Certificates that run out, or are broken, under a server that goes on.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::ENGINES;
use super::running::{Running, wait_until};
use crate::common::{Folder, answer, assert_says};

const FLAGS: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

/// Makes a certificate for this name, and a key that its owner alone may read.
fn make(folder: &Folder, name: &str) {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "30"]);
    openssl.args(["-pkeyopt", "ec_paramgen_curve:prime256v1"]);
    openssl.args(["-subj", &format!("/CN={name}")]);
    openssl.args(["-keyout", "key.pem", "-out", "cert.pem"]);
    answer(openssl.current_dir(folder.path()));
    let mode = Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path().join("key.pem"), mode).unwrap();
}

/// The name in the certificate that a new connection is shown.
fn shown(server: &Running) -> String {
    let address = server.connect().peer_addr().unwrap().to_string();
    let mut openssl = Command::new("sh");
    let script = "openssl s_client -connect \"$0\" </dev/null 2>/dev/null | grep ^subject";
    answer(openssl.args(["-c", script, &address]))
}

#[test]
fn sighup_has_new_connections_shown_the_new_certificate_with_any_number_of_workers() {
    for (engine, workers) in [("epoll", "1"), ("epoll", "2"), ("uring", "2")] {
        let folder = Folder::new(&format!("server-certificate-{engine}-{workers}"));
        make(&folder, "first");
        let flags = ["--engine", engine, "--workers", workers];
        let server = Running::start(&folder, &[&FLAGS[..], &flags].concat());
        assert!(shown(&server).contains("first"));
        let before = server.workers();
        make(&folder, "second");
        server.signal("HUP");
        assert!(wait_until(|| shown(&server).contains("second")));
        // The workers from before finish, and end.
        let is_over = || before.iter().all(|pid| !server.workers().contains(pid));
        assert!(wait_until(is_over), "{before:?}");
        assert!(shown(&server).contains("second"));
        let said = server.stop();
        assert_says(&said, "the certificates were read again");
    }
}

#[test]
fn a_certificate_that_is_broken_when_it_is_read_again_changes_nothing() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("server-broken-{engine}"));
        make(&folder, "first");
        let flags = ["--engine", engine, "--workers", "2", "--json"];
        let mut server = Running::start(&folder, &[&FLAGS[..], &flags].concat());
        let before = server.workers();
        std::fs::write(folder.path().join("cert.pem"), "no certificate").unwrap();
        server.signal("HUP");
        // Signals are handled in order: once this one is answered, SIGHUP has been handled.
        assert_eq!(server.asked()["ended"], false);
        assert_eq!(server.workers(), before);
        assert!(shown(&server).contains("first"));
        assert_eq!(folder.text("cert.pem"), "no certificate");
        let said = server.stop();
        assert_says(&said, "the certificates stay as they were");
    }
}

#[test]
fn without_files_of_certificates_sighup_ends_the_server_in_good_order() {
    let folder = Folder::new("server-hangup");
    for flags in [
        &["--workers", "2"][..],
        &["--workers", "2", "--tls-self-signed"],
    ] {
        let server = Running::start(&folder, flags);
        server.signal("HUP");
        let (status, said) = server.wait();
        assert!(status.success(), "{said}");
    }
}

#[test]
fn a_key_of_root_alone_is_read_again_though_the_workers_are_nobody() {
    crate::common::needs_root!();
    let folder = Folder::new("server-key");
    make(&folder, "first");
    let server = Running::start(&folder, &[&FLAGS[..], &["--workers", "1"]].concat());
    for worker in server.workers() {
        let uid = super::running::status(worker, "Uid");
        assert!(uid.starts_with("65534 "), "{uid}");
    }
    make(&folder, "second");
    server.signal("HUP");
    assert!(wait_until(|| shown(&server).contains("second")));
}
