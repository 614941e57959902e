//! `linerate serve --root`: what each request gets of which file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::client::{Answer, PATIENCE, get};
use super::server::{Server, program};
use crate::common::{Folder, answer, assert_says, refusal_of};

#[test]
fn files_are_sent_with_their_type_and_the_connection_is_kept() {
    let (folder, server) = serve("kept", &[("a.html", "<p>"), ("b/c.json", "{}"), ("d", "")]);
    fs::write(folder.path().join("big.txt"), "0123456789".repeat(100_000)).unwrap();
    fs::write(folder.path().join("html"), "none").unwrap();
    let not_utf8 = OsStr::from_bytes(b"\xff.html");
    fs::write(folder.path().join(not_utf8), "bytes").unwrap();
    let mut client = server.connect();
    for (path, kind, length) in [
        ("/a.html", "text/html", 3),
        ("/b/c.json?x=/../", "application/json", 2),
        ("/d", "application/octet-stream", 0),
        ("/html", "application/octet-stream", 4),
        ("/%ff.html", "text/html", 5),
        ("/big.txt", "text/plain", 1_000_000),
        ("/./b//%63.json", "application/json", 2),
    ] {
        let file = client.get(path);
        assert_eq!((file.status, file.body.len()), (200, length), "{path}");
        assert_eq!(file.field("Content-Type"), Some(kind), "{path}");
        assert_eq!(file.field("Accept-Ranges"), Some("bytes"));
        assert!(file.field("ETag").unwrap().ends_with('"'));
    }
    assert_eq!(client.get("/json").body, r#"{"message":"Hello, World!"}"#);
    assert_eq!(client.get("/nowhere").status, 404);
    client.send("POST /a.html HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
    let refused = client.answer();
    let allowed = refused.field("Allow");
    assert_eq!((refused.status, allowed), (405, Some("GET, HEAD")));
}

#[test]
fn requests_sent_at_once_get_their_files_in_order() {
    let (folder, server) = serve("order", &[("small", "s")]);
    fs::write(folder.path().join("big"), "b".repeat(3_000_000)).unwrap();
    let mut client = server.connect();
    client.send(
        [get("/small"), get("/big"), get("/json")]
            .concat()
            .repeat(5),
    );
    for _ in 0..5 {
        assert_eq!(client.answer().body, "s");
        assert_eq!(client.answer().body.len(), 3_000_000);
        assert!(client.answer().body.starts_with('{'));
    }
}

#[test]
fn head_gives_the_head_of_a_file_and_a_close_comes_after_its_last_byte() {
    let (_folder, server) = serve("head", &[("a.txt", "hello")]);
    let mut client = server.connect();
    client.send("HEAD /a.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=1-2\r\n\r\n");
    let head = client.head_only();
    assert_eq!(head.without_date().0, client.get("/a.txt").without_date().0);
    client.send("GET /a.txt HTTP/1.0\r\n\r\n");
    let last = client.answer();
    assert_eq!(last.field("Connection"), Some("close"));
    assert_eq!(last.body, "hello");
    assert!(client.is_closed());
}

#[test]
fn curl_gets_parts_of_a_file_and_puts_them_together() {
    let (folder, server) = serve("parts", &[]);
    let lines = (0..100_000).map(|number| format!("{number:09}\n"));
    let text = lines.collect::<Vec<_>>().concat();
    fs::write(folder.path().join("all.txt"), &text).unwrap();
    let url = format!("http://{}/all.txt", server.address);
    let curl = |arguments: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "20"]).args(arguments);
        answer(curl.arg(&url).current_dir(folder.path()))
    };
    assert_eq!(curl(&[]), text);
    assert_eq!(curl(&["--http1.0"]), text);
    assert_eq!(curl(&["--range", "10-18"]), "000000001");
    assert_eq!(curl(&["--range", "-10"]), "000099999\n");
    let part = curl(&["--range", "999990-", "--include"]);
    assert!(part.starts_with("HTTP/1.1 206 Partial Content"), "{part}");
    assert!(part.contains("Content-Range: bytes 999990-999999/1000000"));
    let behind = curl(&["--range", "1000000-", "--include"]);
    assert!(behind.starts_with("HTTP/1.1 416 Range"), "{behind}");
    assert!(behind.contains("Content-Range: bytes */1000000"));
    // A download that was broken off is continued.
    fs::write(folder.path().join("copy"), &text[..123_456]).unwrap();
    curl(&["--continue-at", "-", "--output", "copy"]);
    assert_eq!(folder.text("copy"), text);
}

#[test]
fn what_a_client_has_is_not_sent_again_until_it_changes() {
    let (folder, server) = serve("known", &[("a", "one")]);
    let path = folder.path().join("a");
    let of_1960 = SystemTime::UNIX_EPOCH - Duration::from_secs(300_000_000);
    let hour_ago = sys::clock::wall() - Duration::from_secs(3600);
    let mut client = server.connect();
    let in_an_hour = hour_ago + Duration::from_secs(7200);
    let with = |field: &str| format!("GET /a HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
    // HTTP clients know no date before 1970, and a date in the future must not be sent.
    for modified in [of_1960, hour_ago, in_an_hour] {
        fs::write(&path, "one").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(modified).unwrap();
        let file = client.get("/a");
        let (tag, date) = (file.field("ETag").unwrap(), file.field("Last-Modified"));
        let sent = httpdate::parse_http_date(date.unwrap()).unwrap();
        assert!((SystemTime::UNIX_EPOCH..=sys::clock::wall()).contains(&sent));
        let tagged = format!("If-None-Match: {tag}");
        let dated = format!("If-Modified-Since: {}", date.unwrap());
        // As long as its date lies in the future, the file may change within any second.
        let fields = [Some(tagged), Some(dated).filter(|_| modified != in_an_hour)];
        for field in fields.iter().flatten() {
            client.send(with(field));
            let known = client.head_only();
            assert_eq!((known.status, known.field("ETag")), (304, Some(tag)));
            assert_eq!(known.field("Content-Length"), None);
        }
        client.send(with("If-Match: \"another\""));
        assert_eq!(client.answer().status, 412);
        // Of another length, since this write may fall into the same step of the clock.
        fs::write(&path, "three").unwrap();
        client.send(with(&format!("If-None-Match: {tag}")));
        let changed = client.answer();
        assert_eq!((changed.status, changed.body.as_str()), (200, "three"));
    }
}

#[test]
fn a_part_is_sent_only_when_a_tag_proves_that_the_file_did_not_change() {
    let (folder, server) = serve("resumed", &[("a", "one")]);
    let path = folder.path().join("a");
    let mut client = server.connect();
    let tag_of = |file: &Answer| file.field("ETag").unwrap().to_owned();
    let mut now = client.get("/a");
    // A file that was just written may be written again within the same step of the file clock.
    let is_weak = || {
        fs::write(&path, "one").unwrap();
        now = client.get("/a");
        tag_of(&now).starts_with("W/")
    };
    assert!(sys::clock::wait_until(PATIENCE, is_weak));
    let is_strong = || {
        now = client.get("/a");
        tag_of(&now).starts_with('"')
    };
    assert!(sys::clock::wait_until(PATIENCE, is_strong));
    let (tag, date) = (tag_of(&now), now.field("Last-Modified").unwrap());
    let mut rest_if = |condition: &str| {
        client.send(format!(
            "GET /a HTTP/1.1\r\nHost: a\r\nRange: bytes=1-\r\nIf-Range: {condition}\r\n\r\n"
        ));
        client.answer().body
    };
    assert_eq!(rest_if(&tag), "ne");
    assert_eq!(rest_if(date), "one");
    // Other content of the same length and with the same date, as `cp -p` makes it.
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "two").unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(rest_if(&tag), "two");
    assert_eq!(rest_if(date), "two");
}

#[test]
fn no_path_and_no_link_leads_out_of_the_root() {
    let (folder, server) = serve("inside", &[("www/a", "inside"), ("secret", "s3cret")]);
    drop(server);
    let root = folder.path().join("www");
    symlink("a", root.join("link")).unwrap();
    symlink("../secret", root.join("up")).unwrap();
    symlink(folder.path().join("secret"), root.join("away")).unwrap();
    symlink("..", root.join("folder")).unwrap();
    symlink("circle", root.join("circle")).unwrap();
    let server = Server::start(&["--workers", "1", "--root", root.to_str().unwrap()]);
    let mut client = server.connect();
    assert_eq!(client.get("/link").body, "inside");
    for (path, status) in [
        ("/../secret", 400),
        ("/%2e%2e/secret", 400),
        ("/%2E%2E%2Fsecret", 400),
        ("/a/../../secret", 400),
        ("/a%00", 400),
        ("/a%2", 400),
        ("/%252e%252e/secret", 404),
        ("/..%5csecret", 404),
        ("//secret", 404),
        ("/etc/passwd", 404),
        ("/up", 403),
        ("/away", 403),
        ("/folder/secret", 403),
        ("/folder/", 403),
        ("/circle", 403),
    ] {
        let answer = client.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert!(!answer.body.contains("s3cret"), "{path}");
    }
}

#[test]
fn a_folder_is_its_index_and_is_never_listed() {
    let files = [("index.html", "top"), ("a/index.html", "of a"), ("b/c", "")];
    let (folder, server) = serve("index", &files);
    fs::create_dir(folder.path().join("b/index.html")).unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::create_dir(folder.path().join("myindex.html")).unwrap();
    let fifo = Command::new("mkfifo")
        .arg(folder.path().join("fifo"))
        .status();
    assert!(fifo.unwrap().success());
    let mut client = server.connect();
    assert_eq!(client.get("/").body, "top");
    assert_eq!(client.get("/a/").body, "of a");
    assert_eq!(client.get("/b/../a/?q").body, "of a");
    for (path, to) in [
        ("/a", "/a/"),
        ("//a?q=1", "/a/?q=1"),
        ("/b/..//a", "/b/..//a/"),
        ("/\\evil.example/../a", "/evil.example/../a/"),
        ("/myindex.html", "/myindex.html/"),
    ] {
        let moved = client.get(path);
        assert_eq!((moved.status, moved.field("Location")), (301, Some(to)));
    }
    for (path, status) in [
        ("/b/", 403),
        ("/empty/", 403),
        ("/fifo", 403),
        ("/none/", 404),
        ("/index.html/", 404),
        ("/index.html/a", 404),
    ] {
        assert_eq!(client.get(path).status, status, "{path}");
    }
}

#[test]
fn a_root_that_is_no_folder_is_told() {
    let folder = Folder::new("no-root");
    fs::write(folder.path().join("file"), "").unwrap();
    for root in ["file", "none"] {
        let mut command = Command::new("timeout");
        command.args(["20", program(), "serve", "--listen", "0", "--root", root]);
        let said = refusal_of(command.current_dir(folder.path()));
        assert_says(&said, root);
        assert_says(&said, "must be a folder");
    }
}

#[test]
fn a_kernel_that_cannot_look_files_up_below_a_folder_is_told_by_name() {
    let folder = Folder::new("no-lookup");
    for error in ["ENOSYS", "EPERM"] {
        let inject = format!("inject=openat2:error={error}");
        let mut command = Command::new("timeout");
        command.args([
            "20",
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            &inject,
        ]);
        command.args([program(), "serve", "--listen", "0", "--root", "."]);
        let said = refusal_of(command.current_dir(folder.path()));
        assert!(said.contains("openat2") && said.contains("5.6"), "{said}");
    }
}

/// Starts a server for a folder with these files.
fn serve(name: &str, files: &[(&str, &str)]) -> (Folder, Server) {
    let folder = Folder::new(&format!("serve-{name}"));
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = folder.path().to_str().unwrap().to_owned();
    let server = Server::start(&["--workers", "1", "--root", &root]);
    (folder, server)
}
