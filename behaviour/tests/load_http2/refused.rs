//! Targets that do not speak HTTP/2: each is refused by name and with advice.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;

use crate::common::load_program::load;
use crate::common::load_server::serve;
use crate::common::{Folder, assert_says, errors, refused};
use crate::load_http2::THREE_ON_TWO;
use crate::load_http2::frames::serve_with;
use crate::load_http2::nginx::Nginx;
use crate::load_tls::certificates::{Authority, file};

fn refusal(url: &str, arguments: &[&str]) -> String {
    let flags = ["--http2", "-d", "100ms", "--timeout", "10s"];
    refused(&load(url, &[&flags, arguments].concat()))
}

/// A server that sends this once it has received something, and waits for the client to go.
fn says(bytes: &'static [u8]) -> SocketAddr {
    serve(move |mut stream, _| {
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.write_all(bytes);
        let _ = stream.read_to_end(&mut Vec::new());
    })
}

fn refusal_of(address: SocketAddr) -> String {
    refusal(&format!("http://{address}/"), &[])
}

#[test]
fn a_server_of_http_1_alone_is_refused_in_the_clear_and_by_tls() {
    let said = refusal_of(says(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    assert_says(&said, "speaks HTTP/1 there");
    assert_says(&said, "leave --http2 out");
    let folder = Folder::new("load-http2-refused");
    Authority::new(&folder, "ca", "The CA").sign(&folder, "good", &["localhost"]);
    let nginx = Nginx::start(&folder, "ssl", "");
    let url = format!("https://localhost:{}/", nginx.address.port());
    let said = refusal(&url, &["--ca", &file(&folder, "ca.pem")]);
    assert_says(&said, "did not agree on HTTP/2 (`h2`)");
    assert_says(&said, "leave --http2 out");
}

#[test]
fn our_own_server_which_says_no_protocol_is_refused_by_name_too() {
    let server = crate::common::server::Server::start(&["--tls-self-signed"]);
    let said = refusal(&format!("https://{}/", server.address), &["--insecure"]);
    assert_says(&said, "did not agree on HTTP/2 (`h2`)");
}

#[test]
fn what_is_no_http_at_all_or_says_nothing_is_told_apart() {
    let said = refusal_of(says(&[b'x'; 64]));
    assert_says(&said, "something that is not HTTP/2");
    let said = refusal_of(serve(|stream, _| drop(stream)));
    assert_says(&said, "closed the connection");
}

#[test]
fn more_streams_than_a_server_takes_are_refused_with_how_many_it_takes() {
    // SETTINGS_MAX_CONCURRENT_STREAMS is 3.
    let address = serve_with(&[0, 3, 0, 0, 0, 3], |wire| {
        while let Some(stream) = wire.next_request() {
            wire.answer(stream);
        }
    });
    let url = format!("http://{address}/");
    let said = refusal(&url, &["--streams", "4"]);
    assert_says(&said, "--streams 4: the server takes 3 streams");
    let output = load(&url, &THREE_ON_TWO);
    assert!(output.status.success(), "{}", errors(&output));
}
