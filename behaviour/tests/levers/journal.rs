//! What is believed of the journal, and what is not.

use serde_json::{Value, json};

use crate::common::{assert_says, errors, refused};
use crate::levers::sandbox::Sandbox;

const IDLE: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";
const JOURNAL: &str = "/var/lib/linerate/journal.jsonl";

#[test]
fn a_value_that_somebody_else_has_set_is_left_alone_and_told() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["notsent-lowat=131072"]);
    let file = "/proc/sys/net/ipv4/tcp_notsent_lowat";
    sandbox.writes(file, "16384");
    let undo = sandbox.levers(&["undo"]);
    assert_eq!(undo.status.code(), Some(3));
    let said = String::from_utf8(undo.stdout).unwrap();
    assert_says(
        &said,
        "left at 16384, which somebody else has set; ours was 131072",
    );
    assert_eq!(sandbox.holds(file), "16384");
    assert!(sandbox.journal().is_empty());
}

#[test]
fn a_lever_that_is_set_must_be_put_back_before_it_is_set_again() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["notsent-lowat=131072"]);
    let again = sandbox.levers(&["apply", "notsent-lowat=16384"]);
    assert_eq!(again.status.code(), Some(2));
    assert_says(&errors(&again), "linerate levers undo notsent-lowat");
    let entry = &sandbox.journal()[0];
    assert_eq!(entry["steps"][0]["now"], "131072");
}

#[test]
fn an_entry_planted_for_a_foreign_file_is_refused() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let text = sandbox.prints(&["cat", JOURNAL]);
    let mut entry: Value = serde_json::from_str(text.trim()).unwrap();
    entry["change"]["lever"]["steps"][0]["knob"] = json!({ "sysctl": "kernel.core_pattern" });
    let pattern = sandbox.holds("/proc/sys/kernel/core_pattern");
    for (old, new) in [
        (json!("|/bin/evil"), json!(pattern)),
        (json!("core"), json!(pattern)),
    ] {
        let step = &mut entry["change"]["lever"]["steps"][0];
        (step["old"], step["new"]) = (old, new);
        sandbox.writes(JOURNAL, &entry.to_string());
        let undo = sandbox.levers(&["undo"]);
        assert_eq!(undo.status.code(), Some(3), "{}", errors(&undo));
        let said = String::from_utf8(undo.stdout).unwrap();
        assert_says(
            &said,
            "which `slow-start-after-idle` never does; left alone",
        );
        assert_eq!(sandbox.holds("/proc/sys/kernel/core_pattern"), pattern);
    }
    let listing = String::from_utf8(sandbox.levers(&["journal"]).stdout).unwrap();
    let wanted = "not to be believed, as `slow-start-after-idle` never sets this";
    assert_says(&listing, wanted);
    assert_says(&listing, "linerate levers undo --forget 1");
    assert_eq!(sandbox.journal()[0]["is_foreign"], true);
    let left = sandbox.undo(&["--forget", "1"]);
    assert_eq!(left[0]["knobs"][0]["fate"], "foreign");
    assert!(sandbox.journal().is_empty());
    assert_eq!(sandbox.holds("/proc/sys/kernel/core_pattern"), pattern);
    entry["change"]["lever"]["steps"][0]["knob"] = json!({ "path": "/etc/passwd" });
    sandbox.writes(JOURNAL, &entry.to_string());
    let undo = sandbox.levers(&["undo"]);
    assert_eq!(undo.status.code(), Some(3));
    assert_says(
        &errors(&undo),
        "this version of Linerate does not know this entry",
    );
}

/// Puts a changed copy of the journal's first entry in front of the journal. Returns that line.
fn put_in_front(sandbox: &Sandbox, change: impl Fn(&mut Value)) -> String {
    let text = sandbox.prints(&["cat", JOURNAL]);
    let mut entry: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    change(&mut entry);
    sandbox.writes(JOURNAL, &format!("{entry}\n{}", text.trim()));
    entry.to_string()
}

#[test]
fn a_line_that_cannot_be_read_stays_and_hinders_only_what_it_may_be_about() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let line = put_in_front(&sandbox, |entry| {
        entry["id"] = json!(7);
        entry["change"]["lever"]["steps"][0]["knob"] = json!({ "moon": "full" });
    });
    let where_it_is = format!("{JOURNAL}:1: this version of Linerate does not know this entry");
    let apply = sandbox.levers(&["apply", "notsent-lowat=131072"]);
    assert_eq!(apply.status.code(), Some(2));
    let said = errors(&apply);
    assert!(said.contains(&where_it_is), "{said}");
    let status = sandbox.status("slow-start-after-idle");
    assert_eq!(status["levers"][0]["set_in"], 1);
    let unreadable = status["journal_unreadable"].as_str().unwrap();
    assert_says(unreadable, &where_it_is);
    let undo = sandbox.levers(&["undo"]);
    assert_eq!(undo.status.code(), Some(3));
    assert_says(&errors(&undo), &where_it_is);
    assert_eq!(sandbox.holds(IDLE), "1", "what can be read is undone");
    assert_eq!(sandbox.holds(JOURNAL), line);
}

#[test]
fn a_line_that_cannot_be_read_hinders_nothing_that_it_is_known_not_to_be_about() {
    type Change = fn(&mut Value);
    crate::common::needs_root!();
    let harmless: [Change; 3] = [
        |entry| entry["change"]["lever"]["moon"] = json!(1),
        |entry| entry["change"] = json!({ "rig": { "moon": 1 } }),
        |entry| {
            entry["boot_id"] = json!("00000000-0000-4000-8000-000000000000");
            entry["change"] = json!({ "moon": 1 });
        },
    ];
    for change in harmless {
        let sandbox = Sandbox::new();
        sandbox.apply(&["slow-start-after-idle"]);
        let line = put_in_front(&sandbox, change);
        sandbox.undo_leaving(3, "slow-start-after-idle");
        sandbox.apply(&["notsent-lowat=131072"]);
        assert!(sandbox.holds(JOURNAL).starts_with(&line), "{line}");
    }
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    put_in_front(&sandbox, harmless[0]);
    sandbox.undo_leaving(3, "slow-start-after-idle");
    let same = sandbox.levers(&["apply", "slow-start-after-idle"]);
    assert_eq!(same.status.code(), Some(2), "it is about this one");
}

#[test]
fn an_entry_that_is_forgotten_leaves_the_machine_as_it_is_and_says_what_is_left() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let output = sandbox.levers(&["undo", "--forget", "1"]);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    let wanted = "left at 0, which we have set; to put it back: \
                  sysctl -w net.ipv4.tcp_slow_start_after_idle=1";
    assert_says(&said, wanted);
    assert_eq!(sandbox.holds(IDLE), "0");
    assert!(sandbox.journal().is_empty());
    let again = sandbox.levers(&["undo", "--forget", "1"]);
    assert_eq!(again.status.code(), Some(2));
    assert_says(&errors(&again), "the journal has no entry 1 of a lever");
}

#[test]
fn an_entry_of_another_boot_is_not_written_into_this_one() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let text = sandbox.prints(&["cat", JOURNAL]);
    let mut entry: Value = serde_json::from_str(text.trim()).unwrap();
    entry["boot_id"] = json!("00000000-0000-4000-8000-000000000000");
    sandbox.writes(JOURNAL, &entry.to_string());
    let undone = sandbox.undo(&[]);
    assert_eq!(undone[0]["knobs"][0]["fate"], "rebooted");
    assert_eq!(sandbox.holds(IDLE), "0");
    assert!(sandbox.journal().is_empty());
}

#[test]
fn an_entry_of_another_namespace_is_undone_there_and_not_here() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    // The journal is on the mount namespace's /var/lib; the network is another one.
    let linerate = crate::common::program();
    let elsewhere = format!("unshare --net {linerate} levers undo");
    let output = sandbox.command(&["sh", "-c", &elsewhere]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_says(&said, "is in the network namespace");
    assert_eq!(sandbox.holds(IDLE), "0");
    let undone = sandbox.undo(&[]);
    assert_eq!(undone[0]["knobs"][0]["fate"], "put_back");
}

#[test]
fn a_namespace_that_has_the_inode_of_one_that_is_gone_is_not_taken_for_it() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let mut entry: Value = serde_json::from_str(&sandbox.holds(JOURNAL)).unwrap();
    let Some(cookie) = entry["cookie"].as_u64() else {
        return; // Before Linux 5.14 nothing tells them apart.
    };
    entry["cookie"] = json!(cookie + 1);
    sandbox.writes(JOURNAL, &entry.to_string());
    let status = sandbox.status("slow-start-after-idle");
    assert_eq!(status["levers"][0]["set_in"], Value::Null);
    let undone = sandbox.undo(&[]);
    assert_eq!(undone[0]["knobs"][0]["fate"], "gone");
    assert_eq!(sandbox.holds(IDLE), "0", "it is another's");
    sandbox.writes(JOURNAL, &entry.to_string());
    sandbox.apply(&["slow-start-after-idle=1"]);
    assert_eq!(sandbox.journal().len(), 2);
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&[
        "sh",
        "-c",
        "mkdir -m 0777 /var/lib/linerate; chmod 0777 /var/lib/linerate",
    ]);
    let before = sandbox.state();
    let output = sandbox.levers(&["apply", "slow-start-after-idle"]);
    assert_says(&refused(&output), "has mode 777 and not 700");
    assert_eq!(sandbox.state(), before);
}

#[test]
fn a_journal_that_cannot_be_read_is_told_beside_the_state() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    sandbox.prints(&["chmod", "0755", "/var/lib/linerate"]);
    let status = sandbox.levers(&["status", "slow-start-after-idle"]);
    assert!(status.status.success());
    let said = errors(&status);
    assert_says(&said, "not everything that Linerate has set is known");
    assert_says(&said, "has mode 755");
    let status = sandbox.status("slow-start-after-idle");
    let why = status["journal_unreadable"].as_str().unwrap();
    assert_says(why, "has mode 755");
}
