//! `--files-by`: whichever way files are sent, the same bytes arrive.

use std::fs::{self, File};

use super::ENGINE;
use super::client::{Client, get};
use super::server::{Server, refusal};
use crate::common::{Folder, assert_says};

const RANGE: (usize, usize) = (70_001, 700_000);

const WAYS: [&str; 2] = ["sendfile", "copy"];

/// A long text, no part of which occurs twice.
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

#[test]
fn whole_files_and_parts_arrive_as_they_are_at_many_clients_by_every_way() {
    let content = content();
    let (from, to) = RANGE;
    for way in WAYS {
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
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_sent_ends_its_connection_and_no_other_by_every_way() {
    for way in WAYS {
        let (folder, server) = serve("cut", way);
        let path = folder.path().join("huge");
        let all_bytes = 64 << 20;
        let file = File::create(&path).unwrap();
        file.set_len(all_bytes).unwrap();
        let mut client = server.connect();
        client.send(get("/huge"));
        assert_eq!(client.take(1).len(), 1);
        file.set_len(1000).unwrap();
        let received = client.rest_bytes() as u64;
        assert!(received < all_bytes, "{way}: {received}");
        assert_eq!(server.connect().get("/short").body, "short", "{way}");
    }
}

#[test]
fn a_way_that_cannot_be_is_refused_by_name() {
    let folder = Folder::new(&format!("serve-{ENGINE}-by-none"));
    let root = ["--root", folder.path().to_str().unwrap()];
    let said = refusal(&[&root[..], &["--files-by", "copy", "--tls-self-signed"]].concat());
    assert_says(
        &said,
        "--files-by copy: over TLS files are read and encrypted",
    );
    let said = refusal(&["--files-by", "copy"]);
    assert_says(&said, "--root");
}
