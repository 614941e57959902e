//! `--zero-copy`: what arrives is what was meant, and what the kernel tells of it is told on.

use std::process::Command;

use super::ENGINE;
use super::client::{Answer, Client, get};
use super::server::{Server, program, refusal};
use crate::common::assert_says;

const CLIENTS: u64 = 16;
const REQUESTS: u64 = 20;
/// Answers that a client asks for at once, more than any socket holds.
const AT_ONCE: u64 = 100;

/// Long, and nowhere the same within it.
fn message() -> String {
    let numbers: Vec<String> = (0..20_000).map(|number| format!("{number:05}")).collect();
    numbers.concat()
}

fn start(more: &[&str]) -> Server {
    let message = message();
    let flags = ["--zero-copy", "on", "--message", &message];
    Server::start(&[&flags, more].concat())
}

/// What a server says when it ends: sends, how many of them were copied, not copied and not told of,
/// and how many were sent as usual.
fn account(server: Server) -> [u64; 5] {
    let (status, said) = server.wait();
    assert!(status.success(), "{said}");
    let numbers = |text: &str| -> Vec<u64> {
        let words = text.split([' ', ',', '\n']);
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let line = said.lines().find(|line| line.starts_with("zero-copy: of "));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    let (told, declined) = line.split_once(';').unwrap_or((line, ""));
    let (told, declined) = (numbers(told), numbers(declined));
    let or_none = |numbers: &[u64], place: usize| numbers.get(place).copied().unwrap_or(0);
    [
        told[0],
        told[1],
        told[2],
        or_none(&told, 3),
        or_none(&declined, 0),
    ]
}

fn assert_whole(answer: &Answer, message: &str) {
    assert_eq!(answer.status, 200);
    assert!(answer.body == message, "another body: {}", answer.head);
}

#[test]
fn many_clients_get_what_was_meant_and_each_send_is_accounted_for() {
    for workers in ["1", "2"] {
        let server = start(&["--workers", workers]);
        let message = message();
        let mut clients: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
        for _ in 0..REQUESTS {
            for client in &mut clients {
                client.send(get("/plaintext"));
            }
            for client in &mut clients {
                assert_whole(&client.answer(), &message);
            }
        }
        server.terminate();
        assert!(clients.iter_mut().all(Client::is_closed));
        let [sends, copied, uncopied, untold, declined] = account(server);
        assert!(sends >= CLIENTS * REQUESTS, "{workers}: {sends}");
        // Over loopback the kernel copies whatever it was asked.
        assert_eq!((uncopied, declined), (0, 0), "{workers}");
        assert_eq!(copied + untold, sends, "{workers}");
        assert!(copied >= sends / 2, "{workers}: {copied} of {sends}");
    }
}

#[test]
fn a_client_that_reads_late_gets_all_of_many_large_answers() {
    let server = start(&["--workers", "1"]);
    let message = message();
    let (mut late, mut other) = (server.connect(), server.connect());
    let requests = usize::try_from(AT_ONCE).unwrap();
    late.send(get("/plaintext").repeat(requests));
    // Others are served meanwhile.
    for _ in 0..REQUESTS {
        assert_whole(&other.get("/plaintext"), &message);
    }
    for _ in 0..AT_ONCE {
        assert_whole(&late.answer(), &message);
    }
    // It is heard again.
    assert_eq!(late.get("/json").status, 200);
    server.terminate();
    let [sends, ..] = account(server);
    assert!(sends > AT_ONCE + REQUESTS, "{sends}");
}

#[test]
fn what_was_not_read_when_the_server_ended_still_arrives_unchanged() {
    let server = start(&["--workers", "1"]);
    let message = message();
    let mut late = server.connect();
    late.send(get("/plaintext"));
    // It is answered, as nothing else is waited for.
    server.terminate();
    let [sends, copied, uncopied, untold, declined] = account(server);
    assert_eq!((uncopied, declined), (0, 0));
    // The client's window holds less than the answer, so the end of it was not sent by then.
    assert!(untold > 0, "{copied} of {sends} were copied");
    assert_whole(&late.answer(), &message);
    assert!(late.is_closed());
}

/// Enough for a ring, and not for two answers of which the kernel is to keep account.
const LOCKED_BYTES: u32 = 256 * 1024;

#[test]
fn answers_for_whose_account_there_is_no_memory_are_sent_as_usual() {
    crate::common::needs_root!();
    let message = message();
    let mut command = Command::new("setpriv");
    command.args(["--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock"]);
    command.args(["prlimit", &format!("--memlock={LOCKED_BYTES}")]);
    command.args([program(), "serve", "--listen", "0"]);
    command.args(["--workers", "1", "--engine", ENGINE, "--zero-copy", "on"]);
    command.args(["--message", &message]);
    let server = Server::spawn(command);
    let mut late: Vec<Client> = (0..CLIENTS).map(|_| server.connect()).collect();
    for client in &mut late {
        client.send(get("/plaintext"));
    }
    // None of them reads before all were answered.
    assert_eq!(server.connect().get("/json").status, 200);
    for client in &mut late {
        assert_whole(&client.answer(), &message);
    }
    server.terminate();
    let [sends, .., declined] = account(server);
    assert!(declined > 0 && sends < CLIENTS, "{declined} of {sends}");
}

/// Whether a socket may send without a copy (`SO_ZEROCOPY`).
const ASK: &str = "s.getsockopt(socket.SOL_SOCKET, 60), end=''";

#[test]
fn answers_are_the_same_with_it_and_without_and_only_with_it_are_sockets_allowed_to() {
    let message = message();
    let seen = ["off", "on", "off"].map(|switch| {
        let flags = ["--workers", "1", "--message", &message];
        let server = Server::start(&[&flags[..], &["--zero-copy", switch]].concat());
        let mut client = server.connect();
        client.send("HEAD /plaintext HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = client.head_only();
        let [plain, json] = ["/plaintext", "/json"].map(|path| client.get(path));
        let allowed = server.ask_sockets(ASK);
        server.terminate();
        let (status, said) = server.wait();
        assert!(status.success());
        ([head, plain, json], allowed, said.contains("zero-copy"))
    });
    for ((answers, allowed, is_said), expected) in seen.iter().zip(["00", "11", "00"]) {
        assert_eq!(allowed, expected);
        assert_eq!(*is_said, expected == "11");
        for (answer, first) in answers.iter().zip(&seen[0].0) {
            assert!(answer.without_date() == first.without_date());
        }
    }
}

#[test]
fn where_it_would_be_for_nothing_it_is_refused_with_the_reason() {
    let long = message();
    for (flags, why) in [
        (&[][..], "the --message has 13 bytes, and below 10240"),
        (
            &["--message", &long, "--tls-self-signed"],
            "over TLS each answer is encrypted anew",
        ),
    ] {
        let said = refusal(&[&["--zero-copy", "on"], flags].concat());
        assert_says(&said, why);
    }
}
