//! `linerate serve` over TLS, as seen by curl, openssl and clients that speak something else.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::client::get;
use super::server::{Server, program};
use crate::common::processes::line_of;
use crate::common::{Folder, answer, assert_says, errors, refusal_of, words};

/// The beginning of a handshake: part of a record of 512 bytes with a client's first message.
const HALF_HELLO: &[u8] =
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and a little of what follows";
const FLAGS: [&str; 3] = ["--workers", "2", "--tls-self-signed"];

#[test]
fn both_versions_carry_every_answer_on_a_connection_that_is_kept() {
    let folder = Folder::new("tls-answers");
    let lines = (0..400_000).map(|number| format!("{number:09}\n"));
    let text = lines.collect::<Vec<_>>().concat();
    std::fs::write(folder.path().join("large"), &text).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    let server = Server::start(&[&FLAGS[..], &["--root", &root]].concat());
    let [json, large] = ["json", "large"].map(|path| format!("https://{}/{path}", server.address));
    for version in ["1.2", "1.3"] {
        let curl = |arguments: &[&str]| {
            let mut curl = Command::new("curl");
            curl.args(["--insecure", "--silent", "--show-error", "--max-time", "20"]);
            answer(curl.args(["--tls-max", version]).args(arguments))
        };
        let made = ["--write-out", " %{http_version} made %{num_connects}\n"];
        let said = curl(&[&made[..], &["--range", "0-8", &large, &json]].concat());
        let expected = "000000000 1.1 made 1\n{\"message\":\"Hello, World!\"} 1.1 made 0\n";
        assert_eq!(said, expected, "{version}");
        assert!(curl(&[&large]) == text, "{version}");
    }
    for pid in server.workers() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert_says(&status, "Threads:\t1\n");
    }
}

#[test]
fn a_session_is_resumed_at_any_worker_unless_that_is_off() {
    for resumption in ["on", "off"] {
        let server = Server::start(&[&FLAGS[..], &["--tls-resumption", resumption]].concat());
        for version in ["-tls1_2", "-tls1_3"] {
            let folder = Folder::new(&format!("tls-session-{resumption}{version}"));
            let session = folder.path().join("session").to_str().unwrap().to_owned();
            let first = talk(&server, &[version, "-sess_out", &session]);
            assert_says(&first, "\nNew, TLSv1.");
            // Without a ticket there is nothing for a client to keep.
            assert_eq!(folder.names("").len(), usize::from(resumption == "on"));
            for _ in 0..4 * folder.names("").len() {
                let again = talk(&server, &[version, "-sess_in", &session]);
                assert_says(&again, "\nReused, TLSv1.");
            }
        }
    }
}

#[test]
fn the_cipher_suites_that_are_named_are_used_and_the_first_is_preferred() {
    let named = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_CHACHA20_POLY1305_SHA256,\
                 TLS_AES_128_GCM_SHA256";
    let server = Server::start(&[&FLAGS[..], &["--tls-ciphers", named]].concat());
    for (arguments, cipher) in [
        (&["-tls1_2"][..], "Cipher is ECDHE-ECDSA-CHACHA20-POLY1305"),
        (&["-tls1_3"], "Cipher is TLS_CHACHA20_POLY1305_SHA256"),
        (
            &[
                "-ciphersuites",
                "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256",
            ],
            "Cipher is TLS_CHACHA20_POLY1305_SHA256",
        ),
        (
            &[
                "-ciphersuites",
                "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256",
            ],
            "Cipher is TLS_AES_128_GCM_SHA256",
        ),
        (
            &["-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"],
            "Cipher is (NONE)",
        ),
    ] {
        let said = talk(&server, arguments);
        assert!(said.contains(cipher), "{arguments:?}: {said}");
    }
}

#[test]
fn no_record_is_larger_than_asked_for() {
    let folder = Folder::new("tls-records");
    std::fs::write(folder.path().join("a"), "x".repeat(100_000)).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    for (flags, largest) in [
        (&[][..], 16_384),
        (&["--tls-record-size", "1000"][..], 1000),
    ] {
        let files = ["--root", &root];
        let server = Server::start(&[&FLAGS[..], &files, flags].concat());
        let request = get("/a").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let said = talk_of(&server, &["-tls1_3", "-msg", "-ign_eof"], &request);
        assert_says(&said, &"x".repeat(100));
        // A record holds its content, a byte for its type, and the tag of the cipher.
        assert_eq!(records(&said).into_iter().max(), Some(largest + 17));
    }
}

#[test]
fn a_certificate_from_a_file_is_one_that_its_clients_can_check() {
    let folder = Folder::new("tls-files");
    for kind in [
        &["rsa:2048"][..],
        &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
    ] {
        make_certificate(&folder, kind);
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (cert, key) = (path("cert.pem"), path("key.pem"));
        let server = Server::start(&["--tls-cert", &cert, "--tls-key", &key]);
        let url = format!("https://localhost:{}/plaintext", server.address.port());
        let mut curl = Command::new("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--max-time",
            "20",
            "--cacert",
            &cert,
        ]);
        assert_eq!(answer(curl.arg(&url)), "Hello, World!");
    }
}

#[test]
fn what_is_wrong_with_the_flags_is_told_with_the_file() {
    let folder = Folder::new("tls-wrong");
    make_certificate(&folder, &["rsa:2048"]);
    std::fs::rename(
        folder.path().join("key.pem"),
        folder.path().join("other.pem"),
    )
    .unwrap();
    make_certificate(&folder, &["rsa:2048"]);
    let with = |cert, key| ["--tls-cert", cert, "--tls-key", key];
    for (flags, words) in [
        (&with("none.pem", "key.pem")[..], "cannot read none.pem"),
        (
            &with("key.pem", "key.pem"),
            "key.pem cannot be used: there is no certificate",
        ),
        (
            &with("cert.pem", "cert.pem"),
            "cert.pem cannot be used: there is no private key",
        ),
        (
            &with("cert.pem", "other.pem"),
            "the certificate and the key cannot be used",
        ),
        (&["--tls-cert", "cert.pem"], "--tls-key <FILE>"),
        (&["--tls-record-size", "1000"], "--tls-self-signed"),
        (
            &["--tls-self-signed", "--tls-ciphers", "TLS_NULL"],
            "there is no cipher suite `TLS_NULL`; there are TLS_AES_256_GCM_SHA384, ",
        ),
    ] {
        let mut command = Command::new("timeout");
        command
            .args(["20", program(), "serve", "--listen", "0"])
            .args(flags);
        let said = refusal_of(command.current_dir(folder.path()));
        assert!(said.contains(words), "{flags:?}: {said}");
    }
}

/// What a kernel with kTLS does is shown by a guest of `cargo xtask vm check`.
#[test]
fn where_the_kernel_makes_no_records_the_reason_is_told_and_kernel_tls_on_refuses() {
    let sized = "with --tls-record-size the server makes the records";
    for (flags, why) in [
        (["--tls-record-size", "1000"], sized),
        (
            ["--engine", "uring"],
            "with --engine uring the server makes",
        ),
    ] {
        let (refused, said) = ready(&[&["--kernel-tls", "on"], &flags[..]].concat());
        assert!(refused.is_null() && said.contains(why), "{said}");
    }
    for (flags, reason) in [
        (&["--kernel-tls", "off"][..], "--kernel-tls off"),
        (&["--tls-record-size", "1000"], sized),
    ] {
        let (tls, said) = ready(flags);
        assert_eq!((&tls["by_kernel"], said.as_str()), (&json!([]), ""));
        let told = tls["reason"].as_str().unwrap();
        assert!(told.starts_with(reason), "{told}");
    }
    let (usual, _) = ready(&[]);
    assert!(usual["by_kernel"].is_array(), "{usual}");
    let (on, said) = ready(&["--kernel-tls", "on"]);
    let Some(reason) = usual["reason"].as_str() else {
        assert_ne!(usual["by_kernel"], json!([]), "{said}");
        assert_eq!(on, usual, "{said}");
        return;
    };
    assert_says(reason, ": ");
    assert_says(reason, "(os error ");
    assert!(on.is_null() && said.contains(reason), "{said}");
    let has_none = reason.starts_with("TCP_ULP: ");
    assert_eq!(said.contains("modprobe tls"), has_none, "{said}");
    assert_eq!(said.contains("--tls-ciphers"), !has_none, "{said}");
    let (line, said) = first_line(&[]);
    assert!(
        line.starts_with("listening on ") && said.contains(reason),
        "{said}"
    );
}

#[test]
fn a_handshake_that_is_not_finished_in_time_is_cut_off() {
    let server = Server::start(&words("--workers 1 --tls-self-signed --request-timeout 1s"));
    server.connect().drip_until_closed(HALF_HELLO);
}

#[test]
fn clients_that_speak_something_else_are_told_so_and_harm_nobody() {
    let server = Server::start(&["--workers", "1", "--tls-self-signed"]);
    let mut clear = server.connect();
    clear.send(get("/json"));
    let told = clear.answer();
    assert_eq!(
        (told.status, told.field("Connection")),
        (400, Some("close"))
    );
    assert!(told.body.contains("https://") && clear.is_closed());
    // Each gets a fatal alert: decode errors, wrong versions, nonsense.
    for nonsense in [
        &b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"[..],
        b"\x17\x03\x03\x00\x01x",
        b"\0\0\0\0\0\0",
    ] {
        let mut client = server.connect();
        client.send(nonsense);
        let mut alert = Vec::new();
        client.stream().read_to_end(&mut alert).unwrap();
        assert!(matches!(alert[..], [21, 3, _, 0, 2, 2, _]), "{alert:?}");
    }
    let refused = talk(&server, &["-alpn", "h2"]);
    assert_says(&refused, "no application protocol");
    let agreed = talk(&server, &["-alpn", "h2,http/1.1"]);
    assert_says(&agreed, "ALPN protocol: http/1.1");
}

/// What a server reports about its TLS when it is ready, or null when it does not start, and what
/// it writes to standard error.
fn ready(flags: &[&str]) -> (Value, String) {
    let (line, said) = first_line(&[&["--json"], flags].concat());
    let ready: Value = serde_json::from_str(&line).unwrap_or_default();
    (ready["tls"].clone(), said)
}

/// The line that a server prints when it is ready, and what it writes to standard error.
fn first_line(flags: &[&str]) -> (String, String) {
    let mut command = Command::new(program());
    command.args(["serve", "--listen", "0"]).args(FLAGS);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = piped.args(flags).spawn().unwrap();
    let line = line_of(server.stdout.as_mut());
    let _ = server.kill();
    (line, errors(&server.wait_with_output().unwrap()))
}

/// What openssl prints about a connection on which it asks for `/plaintext`.
fn talk(server: &Server, arguments: &[&str]) -> String {
    let request = "GET /plaintext HTTP/1.0\r\n\r\n";
    talk_of(server, &[&["-ign_eof"], arguments].concat(), request)
}

fn talk_of(server: &Server, arguments: &[&str], request: &str) -> String {
    let address = server.address.to_string();
    let mut client = Command::new("timeout")
        .args(["20", "openssl", "s_client", "-connect", &address])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = client.stdin.take().unwrap();
    // The client may have ended already, when it was refused.
    let _ = input.write_all(request.as_bytes());
    let output = client.wait_with_output().unwrap();
    drop(input);
    let both = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Lengths of the received records with application data, as `-msg` has shown them.
fn records(said: &str) -> Vec<u32> {
    let lines: Vec<&str> = said.lines().collect();
    let headers = lines
        .windows(2)
        .filter(|pair| pair[0].starts_with("<<<") && pair[0].contains("RecordHeader"));
    let lengths = headers.filter_map(|pair| {
        let bytes: Vec<&str> = pair[1].split_whitespace().collect();
        match bytes[..] {
            ["17", "03", "03", high, low] => u32::from_str_radix(&format!("{high}{low}"), 16).ok(),
            _ => None,
        }
    });
    lengths.collect()
}

/// Makes `cert.pem` and `key.pem` in a folder, for localhost.
fn make_certificate(folder: &Folder, kind: &[&str]) {
    let mut openssl = Command::new("openssl");
    openssl.args(words("req -x509 -nodes -days 2 -subj /CN=localhost"));
    openssl
        .args(["-addext", "subjectAltName=DNS:localhost", "-newkey"])
        .args(kind);
    openssl.args(["-keyout", "key.pem", "-out", "cert.pem"]);
    answer(openssl.current_dir(folder.path()));
}
