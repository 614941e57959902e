//! Two running servers side by side, apart from the verdict: what is shown, and what is refused.

use std::io::Write as _;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Once};

use model::{Doubt, Judgement, Verdict};
use serde_json::Value;

use crate::common::load_server::{OK, read_request, serve};
use crate::common::server::Server;
use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};
use crate::load_mix::recording::{Recording, Request, ok};

const REFUSED: &[u8] = b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n";

#[test]
fn names_queries_and_hosts_stay_out_of_the_run_folder() {
    let folder = Folder::new("privacy");
    let server = Server::start(&[]);
    let url = format!("http://{}/json?token=planted-query", server.address);
    let arguments = ["versus", &url, &url, "--smoke", "--yes", "--out", "run"];
    let page = answer(
        linerate(&folder, &arguments)
            .env("USER", "planted-user")
            .env("LOGNAME", "planted-user"),
    );
    assert_says(&page, "repeat: linerate versus http://127.0.0.1");
    assert!(!page.contains("planted"), "{page}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for file in ["run.json", "blocks.jsonl", "report.html"] {
        let text = folder.text(&format!("run/{file}"));
        assert!(!text.is_empty(), "{file}");
        assert!(
            !text.contains("planted"),
            "a planted secret stands in {file}"
        );
        // A host name as short as `vm` stands in longer words too: look for it as a value.
        assert!(
            !text.contains(&format!("\"{}\"", host.trim())),
            "the host name is in {file}"
        );
    }
}

#[test]
fn credentials_are_refused_and_not_repeated() {
    let folder = Folder::new("credentials");
    let url = "http://me:planted-word@127.0.0.1:1/";
    let said = refusal_of(&mut linerate(&folder, &["versus", url, url, "--yes"]));
    assert!(!said.contains("planted-word"), "{}", said);
    assert_eq!(folder.names(""), [""; 0]);
}

#[test]
fn a_host_that_is_not_ours_is_not_loaded_without_a_word() {
    let folder = Folder::new("mine");
    // TEST-NET-1 (RFC 5737) belongs to nobody; nothing is sent to it.
    let arguments = words("versus http://192.0.2.1/ http://127.0.0.1:1/ --yes");
    let said = refusal_of(&mut linerate(&folder, &arguments));
    assert_says(&said, "--mine 192.0.2.1");
}

#[test]
fn a_server_that_is_not_there_is_named_with_advice() {
    let folder = Folder::new("absent");
    let server = Server::start(&[]);
    let there = format!("http://{}/json", server.address);
    let said = refusal_of(&mut linerate(
        &folder,
        &["versus", &there, "http://127.0.0.1:1/", "--yes"],
    ));
    assert_says(&said, "127.0.0.1:1");
}

/// A short comparison that is saved in `run`.
fn versus(folder: &Folder, urls: [&str; 2], arguments: &[&str]) -> Output {
    let words = [
        "versus", urls[0], urls[1], "--smoke", "--yes", "--out", "run",
    ];
    let mut command = linerate(folder, &[&words, arguments].concat());
    command.output().unwrap()
}

#[test]
fn both_are_asked_with_the_body_and_the_header_that_are_given_and_never_kept() {
    let folder = Folder::new("versus-post");
    let server = serve(|mut stream, _| {
        while let Some(body) = read_request(&mut stream) {
            let is_right = body == b"planted-word";
            let _ = stream.write_all(if is_right { OK } else { REFUSED });
        }
    });
    let url = format!("http://{server}/items");
    let secret = ["-H", "X-Key: planted-word", "--body", "planted-word"];
    let asked = [&["-X", "put", "--rate", "200"][..], &secret].concat();
    let output = versus(&folder, [&url, &url], &asked);
    assert!(output.status.success(), "{}", errors(&output));
    let page = String::from_utf8(output.stdout).unwrap();
    assert_says(&page, "Open loop at 200 requests/s");
    let repeat = "--method put --header 'X-Key: …' --body …";
    assert!(page.contains(repeat) && !page.contains("planted"), "{page}");
    for file in ["run.json", "blocks.jsonl", "report.html"] {
        let text = folder.text(&format!("run/{file}"));
        assert!(!text.contains("planted"), "a secret stands in {file}");
    }
}

/// Two kinds of requests: one has a secret in its path, the other in its header and its body.
const MIX: &str = r#"
    [[request]]
    path = "/items/{id:1..1000000}?token=mixed-secret"
    weight = 3

    [[request]]
    name = "order"
    path = "/orders"
    headers = { X-Key = "mixed-secret" }
    body = '{"item": {id:1..1000000}, "key": "mixed-secret"}'
"#;

/// A short comparison with the requests of [`MIX`].
fn versus_mixed(folder: &Folder, urls: [&str; 2], arguments: &[&str]) -> Output {
    std::fs::write(folder.path().join("requests.toml"), MIX).unwrap();
    let mix = ["--mix", "requests.toml", "--seed", "7", "-c", "1"];
    versus(folder, urls, &[&mix[..], arguments].concat())
}

/// The requests of the connection that asked most often.
fn longest(server: &Recording) -> Vec<String> {
    let asked = server.take().into_iter();
    asked.max_by_key(Vec::len).unwrap_or_default()
}

/// Whether the command line of any process contains this word.
fn is_in_the_list_of_processes(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut words = processes.map(|process| std::fs::read(process.path().join("cmdline")));
    words.any(|words| String::from_utf8_lossy(&words.unwrap_or_default()).contains(word))
}

#[test]
fn both_are_asked_the_same_mix_in_the_same_order_and_its_secrets_are_kept_nowhere() {
    let folder = Folder::new("versus-mix");
    let (seen, is_exposed) = (Once::new(), Arc::new(AtomicBool::new(false)));
    let exposed = Arc::clone(&is_exposed);
    let a = Recording::start(move |request| {
        seen.call_once(|| exposed.store(is_in_the_list_of_processes("mixed-secret"), Relaxed));
        ok(request.line())
    });
    let b = Recording::echo();
    let output = versus_mixed(&folder, [&a.url, &b.url], &[]);
    assert!(output.status.success(), "{}", errors(&output));
    let (of_a, of_b) = (longest(&a), longest(&b));
    let both = of_a.len().min(of_b.len());
    assert!(both > 20, "{} and {}", of_a.len(), of_b.len());
    assert_eq!(of_a[..both], of_b[..both]);
    for kind in ["GET /items/", "POST /orders"] {
        assert!(of_a.iter().any(|line| line.starts_with(kind)), "{kind}");
    }
    let page = String::from_utf8(output.stdout).unwrap();
    assert_says(&page, "--mix requests.toml");
    assert!(
        !page.contains("mixed-secret") && !is_exposed.load(Relaxed),
        "{page}"
    );
    for file in ["run.json", "blocks.jsonl", "report.html"] {
        let text = folder.text(&format!("run/{file}"));
        assert!(!text.contains("mixed-secret"), "a secret stands in {file}");
    }
}

#[test]
fn the_kind_of_request_in_a_mix_that_is_answered_otherwise_or_with_an_error_is_named() {
    let folder = Folder::new("versus-mix-differs");
    let a = Recording::echo();
    let as_html = |request: &Request| match request.line() {
        "POST /orders" => {
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\nPOST /orders"
                .to_vec()
        }
        line => ok(line),
    };
    let b = Recording::start(as_html);
    let refused = versus_mixed(&folder, [&a.url, &b.url], &[]);
    let said = errors(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    let differs = "to `order` A with no content type, B with content type `text/html`";
    assert_says(&said, differs);
    assert_says(&said, "--different-answers");
    let none = Recording::start(|request| match request.line() {
        "POST /orders" => REFUSED.to_vec(),
        line => ok(line),
    });
    let said = errors(&versus_mixed(&folder, [&a.url, &none.url], &[]));
    assert_says(&said, "answers `order` with status 400");
    let with_path = format!("{}/path", a.url);
    let said = errors(&versus_mixed(&folder, [&with_path, &b.url], &[]));
    assert_says(&said, "the paths are in the file");
    let output = versus_mixed(&folder, [&a.url, &b.url], &["--different-answers"]);
    assert_says(&String::from_utf8(output.stdout).unwrap(), differs);
}

#[test]
fn both_are_asked_over_tls_and_http_2() {
    let folder = Folder::new("versus-tls");
    let servers = [(); 2].map(|()| Server::start(&["--tls-self-signed"]));
    let urls = [0, 1].map(|at: usize| format!("https://{}/json", servers[at].address));
    let urls = [&urls[0][..], &urls[1]];
    let refused = versus(&folder, urls, &[]);
    assert_says(&errors(&refused), "--insecure");
    assert_eq!(folder.names(""), [""; 0]);
    let http2 = versus(&folder, urls, &["--insecure", "--http2"]);
    assert_says(&errors(&http2), "leave --http2 out");
    let output = versus(&folder, urls, &["--insecure", "--json"]);
    let judged: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answered = judged["arms"][0]["throughput_rps"]["value"].as_f64();
    assert!(answered > Some(0.0), "{judged:#}");
}

#[test]
fn a_body_that_is_too_long_for_the_line_to_an_agent_is_refused_with_what_to_do() {
    let folder = Folder::new("versus-long-body");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    std::fs::write(folder.path().join("long"), vec![200; 3 << 20]).unwrap();
    let refused = versus(&folder, [&url, &url], &["--body", "@long"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_says(&errors(&refused), "give smaller bodies");
    assert_eq!(folder.names(""), ["long"]);
}

#[test]
fn each_server_has_a_socket_of_its_own_and_one_where_nobody_listens_is_refused() {
    let folder = Folder::new("versus-sockets");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let socket = folder.path().join("none.sock").display().to_string();
    let one = versus(&folder, [&url, &url], &["--unix-socket", &socket]);
    assert_says(&errors(&one), "once for A and once for B");
    let absent = ["--unix-socket", &socket, "--unix-socket", &socket];
    let absent = versus(&folder, [&url, &url], &absent);
    assert_says(&errors(&absent), "is the server running");
}

#[test]
fn servers_that_answer_otherwise_are_compared_on_demand_and_doubted() {
    let folder = Folder::new("versus-differs");
    let server = Server::start(&[]);
    let urls = ["json", "plaintext"].map(|path| format!("http://{}/{path}", server.address));
    let urls = [&urls[0][..], &urls[1]];
    let refused = versus(&folder, urls, &[]);
    let said = errors(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert_says(
        &said,
        "content type `application/json`, B with content type `text/plain`",
    );
    assert_says(&said, "--different-answers");
    assert_eq!(folder.names(""), [""; 0]);
    let output = versus(&folder, urls, &["--different-answers"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert_says(&page, "the two do not answer alike");
}

#[test]
fn a_run_until_the_difference_is_known_ends_at_the_first_look_that_shows_it_and_is_complete() {
    let folder = Folder::new("until");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    // The goal is so wide that even a busy machine reaches it after sixteen rounds.
    let flags = [
        "--until", "90%", "--for", "60s", "--json", "--yes", "--out", "run",
    ];
    let words = [&["versus", &url, &url][..], &flags].concat();
    let judged = answer(&mut linerate(&folder, &words));
    let judgement: Judgement = serde_json::from_str(&judged).unwrap();
    assert_eq!((judgement.rounds_done, judgement.rounds_planned), (16, 16));
    let none = Verdict::NoDifferenceThatMatters;
    assert_eq!(judgement.steps[0].verdict, none, "{judgement:?}");
    let is_unfinished = |doubt: &Doubt| matches!(doubt, Doubt::Unfinished { .. });
    assert!(!judgement.doubts.iter().any(is_unfinished));
    let page = answer(&mut linerate(&folder, &["study", "report", "run"]));
    assert_says(&page, " --until '90%' --for 60s ");
    for wrong in ["0", "91%", "few"] {
        let refused = linerate(&folder, &["versus", &url, &url, "--until", wrong]);
        let said = errors(&{ refused }.output().unwrap());
        assert_says(&said, "from 0.1 to 90 per cent");
    }
    let alone = ["versus", &url, &url, "--for", "3s"];
    assert_says(&refusal_of(&mut linerate(&folder, &alone)), "--until");
}
