//! Studies over an emulated link.

use model::link::{LinkRecord, Via};
use model::run::Rig;

use crate::common::whole_run::{Run, folder_with, whole_run};
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};
use crate::hosts::{assert_two_hosts, blocks, record, write_study};

const RUN: [&str; 6] = ["study", "run", "short.toml", "--smoke", "--yes", "--out"];

/// Writes a study on the rig `netns` with these lines as its link.
fn write_linked(folder: &Folder, link: &str) {
    write_study(folder, &format!("rig = \"netns\"\n[link]\n{link}"), 2);
}

fn run(folder: &Folder, out: &str) -> String {
    answer(&mut linerate(folder, &[&RUN[..], &[out]].concat()))
}

/// What a command says that must be refused.
fn refusal(folder: &Folder, words: &[&str]) -> String {
    refusal_of(&mut linerate(folder, words))
}

#[test]
fn a_study_over_a_link_waits_for_its_delay_and_its_run_says_so() {
    let folder = Folder::new("link-study");
    write_linked(&folder, "delay = \"10ms\"");
    let page = run(&folder, "run");
    let words = "10.0 ms of delay each way";
    assert_says(&page, &format!("Link: {words}."));
    assert!(folder.text("run/report.html").contains(words));
    assert_two_hosts(&folder, "run", &Rig::Netns);
    let link = record(&folder, "run").study.link.unwrap();
    assert_eq!(
        (link.delay.as_deref(), link.via),
        (Some("10ms"), Via::Userspace)
    );
    for block in blocks(&folder, "run") {
        // Eight connections, one answer each in 20 ms, and those under way at both ends of the
        // window.
        let most = 8.0 * (block.reading.window_ns as f64 / 20e6 + 2.0);
        assert!((block.reading.answered as f64) < most, "{block:?}");
    }
    let text = folder.text("run/link.jsonl");
    let link_record: LinkRecord = serde_json::from_str(&text).unwrap();
    assert!(
        link_record.up.carried_packets > 0 && link_record.down.carried_bytes > 0,
        "{text}"
    );
}

#[test]
fn runs_over_links_that_differ_do_not_compare_and_two_spellings_of_one_link_do() {
    crate::common::needs_root!();
    let folder = Folder::new("link-compare");
    let links = [
        ("plain", "rate = \"50Mbit/s\"\nvia = \"tbf\""),
        ("respelled", "rate = \"0.05Gbit/s\"\nvia = \"tbf\""),
        ("other", "rate = \"50Mbit/s\"\nvia = \"userspace\""),
    ];
    for (out, link) in links {
        write_linked(&folder, link);
        run(&folder, out);
    }
    let compare = |other| ["study", "compare", "plain", other];
    answer(&mut linerate(&folder, &compare("respelled")));
    let said = refusal(&folder, &compare("other"));
    assert!(said.contains("different links"), "{said}");
    assert!(said.contains("tbf"), "{said}");
}

#[test]
fn a_link_wants_the_rig_on_which_it_can_be_emulated() {
    let folder = Folder::new("link-rig");
    write_linked(&folder, "delay = \"1ms\"");
    for rig in ["loopback", "router"] {
        let said = refusal(&folder, &[&RUN[..], &["run", "--rig", rig]].concat());
        assert_says(&said, "the rig `netns` and not on");
        assert_says(&said, rig);
    }
    write_study(&folder, "[link]\ndelay = \"1ms\"", 2);
    let said = refusal(&folder, &[&RUN[..], &["run"]].concat());
    assert_says(&said, "short.toml:");
    assert_says(&said, "rig = \"netns\"");
    assert_eq!(folder.names(""), ["short.toml"]);
}

#[test]
fn a_link_that_cannot_be_is_refused_where_it_stands_in_the_file() {
    let folder = Folder::new("link-words");
    for (link, why) in [
        ("delay = \"soon\"", "a time such as \"20ms\""),
        ("speed = \"1Mbit/s\"", "no field `link.speed`"),
        ("loss = \"120%\"", "from 0% to 100%"),
        ("delay = \"1ms\"\nvia = \"tbf\"", "tbf has no delay"),
        ("via = \"tc\"", "one of \"userspace\", \"tbf\", \"netem\""),
        ("up = [\"jitter=1ms\"]", "KEY=VALUE"),
    ] {
        write_linked(&folder, link);
        let said = refusal(&folder, &[&RUN[..], &["run"]].concat());
        assert!(
            said.contains("short.toml:") && said.contains(why),
            "{link}: {said}"
        );
    }
}

#[test]
fn a_run_that_is_refused_its_folder_adds_no_link_to_the_run_that_lies_there() {
    let Run { run, blocks } = whole_run();
    let folder = folder_with("link-taken", run, blocks);
    write_linked(&folder, "delay = \"1ms\"");
    let said = refusal(&folder, &[&RUN[..], &["run"]].concat());
    assert_says(&said, "holds a run already");
    assert_eq!(folder.names("run"), ["blocks.jsonl", "run.json"]);
}

#[test]
fn an_invalid_link_record_is_named_by_its_line() {
    let folder = Folder::new("link-record");
    write_linked(&folder, "delay = \"1ms\"");
    run(&folder, "run");
    let file = folder.path().join("run/link.jsonl");
    let whole = folder.text("run/link.jsonl");
    std::fs::write(&file, format!("{whole}{{}}\n")).unwrap();
    let said = refusal(&folder, &["study", "report", "run"]);
    assert_says(&said, "link.jsonl:2 is not a valid link record");
    // The part of a line that a crash left does not count as a line.
    std::fs::write(&file, format!("{whole}{{")).unwrap();
    answer(&mut linerate(&folder, &["study", "report", "run"]));
}
