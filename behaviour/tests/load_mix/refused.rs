//! What cannot be mixed, and what to do instead.

use crate::common::load_program::load;
use crate::common::{Folder, assert_says, refused};
use crate::load_mix::{SHORT, mixed};

const ONE: &str = "[[request]]\npath = \"/\"\n";
/// Nothing listens there, and nothing is asked before the arguments are right.
const URL: &str = "http://127.0.0.1:1";

#[test]
fn a_file_that_is_wrong_is_refused_with_the_place_and_the_reason() {
    let folder = Folder::new("mix-wrong");
    for (requests, reasons) in [
        ("", &["holds no request", "[[request]]"][..]),
        ("[[request]]\npat = \"/\"\n", &["line 2", "pat"]),
        ("[[request]]\nweight = 1\n", &["path"]),
        (
            "[[request]]\npath = \"/\"\nweight = 0\n",
            &["request 1", "weight is 0"],
        ),
        (
            "[[request]]\npath = \"/\"\nweight = -1\n",
            &["line 3", "-1"],
        ),
        (
            "[[request]]\npath = \"a?token=secret\"\n",
            &["request 1", "begins with /"],
        ),
        (
            "[[request]]\npath = \"/{id}\"\n",
            &["request 1", "{id:1..1000}"],
        ),
        (
            "[[request]]\npath = \"/{id:9..1}\"\n",
            &["{id:9..1}", "lower to the higher"],
        ),
        (
            "[[request]]\npath = \"/{a:1..2}/{a:1..3}\"\n",
            &["`a`", "two different ranges"],
        ),
        (
            "[[request]]\npath = \"/\"\nname = \"\\u001b[1m\"\n",
            &["request 1", "control character"],
        ),
        (
            "[[request]]\npath = \"/\"\nbody = \"a\"\nbody_file = \"b\"\n",
            &["request 1", "one body"],
        ),
        (
            "[[request]]\npath = \"/\"\nbody_file = \"nowhere\"\n",
            &["nowhere"],
        ),
        (
            "[[request]]\npath = \"/\"\nmethod = \"G T\"\n",
            &["G T", "no HTTP method"],
        ),
        (
            "[[request]]\npath = \"/\"\nheaders = { Content-Length = \"1\" }\n",
            &["follows from the body"],
        ),
    ] {
        let told = refused(&mixed(&folder, URL, requests, &[]));
        for reason in reasons {
            assert!(told.contains(reason), "{requests}: {reason:?} in {told}");
        }
        assert!(
            told.contains("requests.toml") && !told.contains("secret"),
            "{told}"
        );
    }
    let told = refused(&load(URL, &["--mix", "/nowhere/at-all"]));
    assert_says(&told, "cannot read /nowhere/at-all");
}

#[test]
fn a_body_without_an_end_is_refused_by_its_name() {
    let told = refused(&load(URL, &["--body", "@/dev/zero"]));
    assert_says(&told, "`/dev/zero`: it has more than the 67108864 bytes");
    let folder = Folder::new("mix-device");
    let requests = "[[request]]\npath = \"/\"\nbody_file = \"/dev/zero\"\n";
    let told = refused(&mixed(&folder, URL, requests, &[]));
    for reason in [
        "request 1",
        "the body /dev/zero: it has more than the 67108864 bytes",
    ] {
        assert_says(&told, reason);
    }
}

#[test]
fn what_does_not_go_with_a_mix_is_refused_by_name() {
    let folder = Folder::new("mix-with");
    for (flags, name) in [
        (&["-X", "PUT"][..], "--method"),
        (&["--body", "x"], "--body"),
        (&["--download"], "--download"),
        (
            &["http://127.0.0.1:1/other"],
            "with --mix the paths are in the file",
        ),
    ] {
        let told = refused(&mixed(&folder, URL, ONE, flags));
        assert!(told.contains(name) && told.contains("--mix"), "{told}");
    }
    let told = refused(&mixed(&folder, &format!("{URL}/path"), ONE, &[]));
    assert_says(&told, "the paths are in the file");
}

#[test]
fn urls_of_two_servers_are_refused_and_so_are_several_to_download() {
    for other in [
        "http://127.0.0.1:2/",
        "https://127.0.0.1:1/",
        "http://localhost:1/",
    ] {
        let told = refused(&load(URL, &[other]));
        assert_says(&told, "URL 2 is of another");
    }
    let told = refused(&load(URL, &["http://127.0.0.1:1/b", "--download"]));
    assert_says(&told, "--download takes one URL");
    let told = refused(&load(URL, &["ftp://127.0.0.1:1/"]));
    assert_says(&told, "URL 2");
}

#[test]
fn a_seed_without_anything_to_draw_is_refused() {
    for flags in [&["--seed", "3"][..], &["--seed", "3", "--download"]] {
        let told = refused(&load(URL, flags));
        assert_says(&told, "--seed");
    }
}

#[test]
fn io_uring_asked_for_by_name_is_refused_and_otherwise_epoll_takes_its_place() {
    let server = crate::load_mix::recording::Recording::echo();
    let folder = Folder::new("mix-uring");
    let flags = [&["--engine", "uring"][..], &SHORT].concat();
    let told = refused(&mixed(&folder, &server.url, ONE, &flags));
    assert_says(&told, "io_uring sends one request again");
    let report = crate::load_mix::mixed_json(&folder, &server.url, ONE, &["--throughput"]);
    assert_eq!(report["engine"], "epoll");
}
