//! `--files-by`: whichever way files leave, the same arrives.

use std::fs::{self, File};
use std::process::Command;

use super::ENGINE;
use super::client::{Client, get};
use super::server::{Server, program, refusal};
use crate::common::{Folder, assert_says};

const RANGE: (usize, usize) = (70_001, 700_000);

/// The ways that this engine has.
fn ways() -> &'static [&'static str] {
    match ENGINE {
        "epoll" => &["sendfile", "copy", "zero-copy"],
        _ => &["sendfile", "copy"],
    }
}

/// Long, and nowhere the same within it.
fn content() -> String {
    let numbers: Vec<String> = (0..200_000).map(|number| format!("{number:06}")).collect();
    numbers.concat()
}

fn serve(name: &str, way: &str) -> (Folder, Server) {
    let folder = Folder::new(&format!("serve-{ENGINE}-{name}-by-{way}"));
    fs::write(folder.path().join("long"), content()).unwrap();
    fs::write(folder.path().join("short"), "short").unwrap();
    let root = folder.path().to_str().unwrap();
    let flags = ["--workers", "1", "--root", root, "--files-by", way];
    let server = Server::start(&flags);
    (folder, server)
}

/// Ends a server, and gives what it says of sends without a copy.
fn last_words(server: Server) -> Option<String> {
    server.terminate();
    let (status, said) = server.wait();
    assert!(status.success(), "{said}");
    let mut lines = said.lines();
    let line = lines.find(|line| line.starts_with("zero-copy: "));
    line.map(str::to_owned)
}

#[test]
fn whole_files_and_parts_arrive_as_they_are_at_many_clients_by_every_way() {
    let content = content();
    let (from, to) = RANGE;
    for way in ways() {
        let (_folder, server) = serve("whole", way);
        let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.send(get("/long"));
        }
        for client in &mut clients {
            assert!(client.answer().body == content, "{way}");
            assert_eq!(client.get("/short").body, "short", "{way}");
            let range = format!("\r\nRange: bytes={from}-{}\r\n\r\n", to - 1);
            client.send(get("/long").replace("\r\n\r\n", &range));
            let part = client.answer();
            assert_eq!(part.status, 206, "{way}");
            assert!(part.body == content[from..to], "{way}");
        }
        let told = last_words(server);
        assert_eq!(told.is_some(), *way == "zero-copy", "{told:?}");
        // Over loopback all are copied; of the last the kernel may tell too late.
        if let Some(told) = told {
            assert_says(&told, " all the same and 0 not");
            assert!(!told.contains("copied 0 all"), "{told}");
        }
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_sent_ends_its_connection_and_no_other_by_every_way() {
    for way in ways() {
        let (folder, server) = serve("cut", way);
        let path = folder.path().join("huge");
        let all_bytes = 64 << 20;
        let file = File::create(&path).unwrap();
        file.set_len(all_bytes).unwrap();
        let mut client = server.connect();
        client.send(get("/huge"));
        assert_eq!(client.take(1).len(), 1);
        file.set_len(1000).unwrap();
        let came = client.rest_bytes() as u64;
        assert!(came < all_bytes, "{way}: {came}");
        assert_eq!(server.connect().get("/short").body, "short", "{way}");
    }
}

#[test]
fn a_way_that_cannot_be_is_refused_by_name() {
    let folder = Folder::new(&format!("serve-{ENGINE}-by-none"));
    let root = ["--root", folder.path().to_str().unwrap()];
    for way in ["copy", "zero-copy"] {
        let said = refusal(&[&root[..], &["--files-by", way, "--tls-self-signed"]].concat());
        let expected = format!("--files-by {way}: over TLS files are read and encrypted");
        assert_says(&said, &expected);
    }
    let said = refusal(&["--files-by", "copy"]);
    assert_says(&said, "--root");
    if ENGINE == "uring" {
        let said = refusal(&[&root[..], &["--files-by", "zero-copy"]].concat());
        assert_says(&said, "--files-by zero-copy takes --engine epoll");
    }
}

/// Not enough for two parts of a file of which the kernel is to keep account.
const LOCKED_BYTES: u32 = 256 * 1024;

#[test]
fn files_for_whose_account_there_is_no_memory_are_sent_as_usual() {
    crate::common::needs_root!();
    if !ways().contains(&"zero-copy") {
        return;
    }
    let folder = Folder::new("serve-declined");
    fs::write(folder.path().join("long"), content()).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock"]);
    command.args(["prlimit", &format!("--memlock={LOCKED_BYTES}")]);
    command.args([program(), "serve", "--listen", "0", "--workers", "1"]);
    command.args(["--files-by", "zero-copy", "--root"]);
    command.arg(folder.path());
    let server = Server::spawn(command);
    let mut late: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut late {
        client.send(get("/long"));
    }
    for client in &mut late {
        assert!(client.answer().body == content());
    }
    assert_says(&last_words(server).unwrap(), "more were sent as usual");
}
