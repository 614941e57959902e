//! Rigs that cannot be made or used: each refusal says what, where and what to do.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use machine::journal::Owner;
use serde_json::Value;

use crate::common::{assert_says, errors, refusal_of};
use crate::rig::bench::{Bench, USERS, User};

#[test]
fn a_rig_of_the_same_name_with_a_living_holder_is_left_as_it_is() {
    let bench = Bench::new("same-name", User::Ordinary);
    let up = bench.json(&["rig", "up", "--json"]);
    let words = bench.refusal(&["rig", "up", "router", "--name", "netns"]);
    let holder = format!("held by process {}", up["rig"]["holder"]);
    assert_says(&words, &holder);
    assert_says(&words, "linerate rig clean netns");
    assert_eq!(bench.rigs()[..], [up["rig"].clone()]);
}

#[test]
fn a_rig_or_a_host_that_is_not_there_is_named_with_those_that_are() {
    let bench = Bench::new("unknown", User::Ordinary);
    let words = bench.refusal(&["rig", "exec", "client", "--", "true"]);
    assert_says(&words, "`linerate rig up` puts one up");
    bench.answer(&["rig", "up"]);
    let words = bench.refusal(&["rig", "exec", "clent", "--", "true"]);
    assert_says(&words, "it has client, server");
    bench.answer(&["rig", "up", "--name", "other"]);
    let words = bench.refusal(&["rig", "exec", "client", "--", "true"]);
    assert_says(&words, "--name; there are netns, other");
    for command in ["clean", "exec"] {
        let more: &[&str] = match command {
            "clean" => &["nets"],
            _ => &["--name", "nets", "client", "--", "true"],
        };
        let words = bench.refusal(&[&["rig", command], more].concat());
        assert_says(&words, "no rig `nets`; there are netns, other");
    }
    assert_eq!(bench.rigs().len(), 2);
}

#[test]
fn on_a_host_of_a_rig_no_rig_is_put_up_looked_at_entered_or_cleaned() {
    crate::common::needs_root!();
    for user in USERS {
        let bench = Bench::new("within", user);
        let up = bench.json(&["rig", "up", "--json"]);
        let program = bench.program();
        // Without its environment the program recognises the host by its devices.
        let ways = [&[&*program][..], &["env", "-i", &program]];
        let orders = [
            &["up"][..],
            &["status"],
            &["clean"],
            &["exec", "server", "--", "true"],
        ];
        for (way, order) in ways.iter().flat_map(|way| orders.map(|order| (way, order))) {
            let words = [&["rig", "exec", "client", "--"], *way, &["rig"], order].concat();
            let said = bench.refusal(&words);
            assert!(
                said.contains("this is a host of a rig"),
                "{words:?}: {said}"
            );
        }
        assert_eq!(bench.rigs()[..], [up["rig"].clone()], "{user:?}");
    }
}

#[test]
fn a_rig_that_cannot_be_taken_down_does_not_keep_others_from_being_taken_down() {
    crate::common::needs_root!();
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    assert_eq!(user, 0, "it takes root");
    let bench = Bench::new("stuck", User::Ordinary);
    bench.answer(&["rig", "up", "--name", "stuck"]);
    bench.answer(&["rig", "up", "--name", "other"]);
    let journal = bench.state().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let (first, second) = text.split_once('\n').unwrap();
    // Makes a process of root the holder: an ordinary user cannot end it.
    let mut root_process = Command::new("sleep").arg("600").spawn().unwrap();
    let owner = Owner::of(root_process.id()).unwrap();
    let mut entry: Value = serde_json::from_str(first).unwrap();
    entry["owner"] = serde_json::to_value(owner).unwrap();
    std::fs::write(&journal, format!("{entry}\n{second}")).unwrap();
    let output = bench.linerate(&["rig", "clean"]).output().unwrap();
    let is_left = root_process.try_wait().unwrap().is_none();
    root_process.kill().unwrap();
    root_process.wait().unwrap();
    std::fs::write(&journal, format!("{first}\n")).unwrap();
    assert!(is_left && output.status.code() == Some(2), "{output:?}");
    assert_eq!(output.stdout, b"other is down\n");
    let words = errors(&output);
    assert_says(&words, "`stuck`, ending its holder");
    assert_eq!(bench.rigs()[0]["state"], "up");
}

#[test]
fn a_kind_or_a_name_that_is_none_is_refused_before_anything_is_done() {
    let bench = Bench::new("no-kind", User::Ordinary);
    let words = bench.refusal(&["rig", "up", "ring"]);
    assert_says(&words, "netns, router, tunnel");
    let words = bench.refusal(&["rig", "up", "--name", "../etc"]);
    assert_says(&words, "small letters, digits and hyphens");
    let words = bench.refusal(&["rig", "exec", "client"]);
    assert_says(&words, "CMD");
    assert!(!bench.state().exists());
}

#[test]
fn a_program_that_is_absent_or_may_not_be_run_is_named() {
    let bench = Bench::new("no-program", User::Ordinary);
    bench.answer(&["rig", "up"]);
    let mut exec = bench.linerate(&["rig", "exec", "client", "--", "no-such-program"]);
    exec.env("PATH", "/usr/bin:/bin");
    let words = refusal_of(&mut exec);
    assert_says(&words, "no program `no-such-program`");
    let words = bench.refusal(&["rig", "exec", "client", "--", "/etc/passwd"]);
    assert_says(&words, "this user may not run `/etc/passwd`");
}

#[test]
fn an_entry_from_before_the_machine_was_started_is_told_and_goes_without_harm() {
    let bench = Bench::new("boot", User::Ordinary);
    let up = bench.json(&["rig", "up", "--json"]);
    let journal = bench.state().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_says(&text, boot_id.trim());
    let earlier = text.replace(boot_id.trim(), "00000000-0000-4000-8000-000000000000");
    std::fs::write(&journal, earlier).unwrap();
    assert_eq!(bench.rigs()[0]["state"], "of_earlier_boot");
    let page = bench.answer(&["rig", "status"]);
    assert_says(&page, "before this machine was last started");
    let cleaned = bench.json(&["rig", "clean", "--json"]);
    assert_eq!(cleaned["cleaned"][0]["ended"], serde_json::json!([]));
    assert!(bench.rigs().is_empty());
    // The process that has the holder's number now counts as another one, so it must be left alone.
    let holder = format!("/proc/{}/comm", up["rig"]["holder"]);
    assert_eq!(std::fs::read_to_string(holder).unwrap(), "linerate-rig\n");
    std::fs::write(&journal, text).unwrap();
    assert_eq!(bench.rigs()[0]["state"], "up");
}

#[test]
fn a_state_folder_that_others_may_write_to_is_not_believed() {
    let bench = Bench::new("folder", User::Ordinary);
    bench.answer(&["rig", "up"]);
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(bench.state(), open).unwrap();
    for arguments in [
        &["rig", "status"][..],
        &["rig", "clean"],
        &["rig", "up", "router"],
    ] {
        let words = bench.refusal(arguments);
        assert_says(&words, "has mode 777 and not 700");
    }
    let closed = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(bench.state(), closed).unwrap();
    assert_eq!(bench.rigs().len(), 1);
}

#[test]
fn without_a_place_for_its_journal_no_rig_is_put_up() {
    let bench = Bench::new("homeless", User::Ordinary);
    let mut up = bench.linerate(&["rig", "up"]);
    up.env_remove("XDG_STATE_HOME").env_remove("HOME");
    let words = refusal_of(&mut up);
    assert_says(&words, "XDG_STATE_HOME");
}
