//! A run that waits for a reboot. The program runs in mount namespaces whose `/proc` and `/sys`
//! describe other boots.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::common::{Folder, assert_says, errors, linerate, refused, studies};

/// Mounts the files of a folder over those in which the kernel describes its boot.
const ENTER: &str = "mount --bind $1/boot_id /proc/sys/kernel/random/boot_id && \
                     mount --bind $1/cmdline /proc/cmdline && \
                     mount --bind $1/weaknesses /sys/devices/system/cpu/vulnerabilities && \
                     shift && exec \"$@\"";
/// Added to the short ladder: a whole ladder, and a step that takes a reboot.
const MITIGATIONS: &str = r#"
[[step]]
name = "mitigations"
title = "no mitigations"
add = ["mitigations=off"]

[whole]
confirm_rounds = 2
"#;

/// Writes the files of a new boot to a folder of its name.
fn start(folder: &Folder, boot: &str, command_line: &str, meltdown: &str) {
    let files = folder.path().join(boot);
    std::fs::create_dir_all(files.join("weaknesses")).unwrap();
    for (file, text) in [
        ("boot_id", boot),
        ("cmdline", command_line),
        ("weaknesses/meltdown", meltdown),
    ] {
        std::fs::write(files.join(file), format!("{text}\n")).unwrap();
    }
}

/// The program in one of its boots.
fn in_boot(folder: &Folder, boot: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", ENTER]);
    command.args(["enter", boot, crate::common::program()]);
    command.args(arguments).current_dir(folder.path());
    command.stdin(Stdio::null()).output().unwrap()
}

/// Asserts that the next command is shown on standard error of a report in JSON, whose output is
/// the judgement alone, and in the list of studies.
fn assert_next_command_is_shown(folder: &Folder, next: &str) {
    let report = linerate(folder, &["study", "report", "a run", "--json"]);
    let report = { report }.output().unwrap();
    assert_says(&errors(&report), next);
    let list = linerate(folder, &["study", "list"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    let line = list.lines().find(|line| line.contains(next));
    assert!(
        line.is_some_and(|line| line.contains("no mitigations")),
        "{list}"
    );
    let list = linerate(folder, &["study", "list", "--json"]);
    let list: Value = serde_json::from_slice(&{ list }.output().unwrap().stdout).unwrap();
    assert_eq!(list["waiting"][0]["resume"], next);
}

const RUN: [&str; 9] = [
    "study",
    "run",
    "short.toml",
    "--whole",
    "--reboot",
    "--yes",
    "--out",
    "a run",
    "--quiet",
];
const RESUME: [&str; 5] = ["study", "resume", "a run", "--yes", "--quiet"];

#[test]
fn a_run_waits_for_a_reboot_and_goes_on_in_a_boot_with_the_step_alone() {
    crate::common::needs_root!();
    let folder = Folder::new("boots");
    let study = studies::ladder("", 2) + MITIGATIONS;
    std::fs::write(folder.path().join("short.toml"), study).unwrap();
    let secret = "root=UUID=secret token=secret";
    start(&folder, "first", secret, "Mitigation: PTI");
    let waits = in_boot(&folder, "first", &RUN);
    assert!(waits.status.success(), "{}", errors(&waits));
    let said = String::from_utf8(waits.stdout).unwrap();
    assert_says(&said, "It waits for a reboot: 1 step is measured");
    let path = folder.path().join("a run");
    let next = format!("linerate study resume '{}'", path.display());
    assert_says(&said, &format!("and then: {next}\n"));
    assert_next_command_is_shown(&folder, &next);
    let record = folder.text("a run/run.json");
    assert!(!record.contains("secret"), "{record}");

    let before = folder.text("a run/blocks.jsonl");
    start(&folder, "second", secret, "Mitigation: PTI");
    for (boot, why) in [
        ("first", "the reboot has not been made"),
        ("second", "/proc/cmdline has no `mitigations=off`"),
    ] {
        let refused = in_boot(&folder, boot, &RESUME);
        let said = errors(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(
            said.contains(why) && !said.contains("stopped early"),
            "{said}"
        );
    }
    assert_eq!(folder.text("a run/blocks.jsonl"), before);

    start(&folder, "third", "mitigations=off", "Vulnerable");
    let taken = in_boot(&folder, "third", &[&RESUME[..], &["--json"]].concat());
    assert!(taken.status.success(), "{}", errors(&taken));
    let judgement: Value = serde_json::from_slice(&taken.stdout).unwrap();
    let estimate = &judgement["ladder"]["between_boots"]["estimate"];
    assert_eq!(
        (&estimate["without"], &estimate["with"]),
        (&1.into(), &1.into())
    );
    let list = linerate(&folder, &["study", "list"]).output().unwrap();
    assert!(!String::from_utf8(list.stdout).unwrap().contains("resume"));
    // The report needs nothing but the folder.
    let report = linerate(&folder, &["study", "report", "a run"])
        .output()
        .unwrap();
    let said = String::from_utf8(report.stdout).unwrap();
    assert_says(&said, "meltdown `Mitigation: PTI`, `Vulnerable`");
}

#[test]
fn a_reboot_is_waited_for_by_a_whole_ladder_alone() {
    let folder = Folder::new("boots-climb");
    let output = linerate(&folder, &["study", "run", "http-json", "--reboot"])
        .output()
        .unwrap();
    assert_says(&refused(&output), "--whole");
    let commands = linerate(&folder, &["study", "run", "rsqrt", "--whole", "--reboot"]);
    let said = errors(&{ commands }.output().unwrap());
    assert_says(&said, "climbs no ladder; run it without --whole, --reboot");
}
