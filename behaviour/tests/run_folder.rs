//! Run folders that are damaged, full, taken, locked or gone.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use model::Reading;
use model::run::Blocks;

use crate::common::processes::wait_for;
use crate::common::whole_run::{Run, folder_with, whole_run};
use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, refused};

/// Blocks of a smoke run: two rounds of eight arms, and one round of two arms in latency mode.
const BLOCKS: usize = 18;

/// How many blocks of a file count; the file has those of a torn round twice.
fn count_blocks(blocks: &str) -> usize {
    Blocks::<Reading>::parse(blocks).unwrap().records.len()
}

fn study(folder: &Folder, action: &str, more: &[&str]) -> Output {
    let arguments = [&["study", action, "run"], more].concat();
    linerate(folder, &arguments).output().unwrap()
}

/// What both `report` and `resume` say of a run folder that neither can use or may change.
fn refusals(name: &str, run: &str, blocks: &str) -> Vec<String> {
    let folder = folder_with(name, run, blocks);
    let commands = [("report", &[][..]), ("resume", &["--yes"])];
    let refusal = |(action, more)| {
        let output = study(&folder, action, more);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{action}: {}",
            errors(&output)
        );
        assert!(output.stdout.is_empty());
        assert_eq!(folder.text("run/run.json"), run);
        assert_eq!(folder.text("run/blocks.jsonl"), blocks);
        errors(&output)
    };
    commands.map(refusal).to_vec()
}

#[test]
fn a_run_of_an_older_or_newer_format_is_said_to_be_that() {
    let Run { run, blocks } = whole_run();
    for (format, words) in [("99", "a newer Linerate"), ("0", "an older Linerate")] {
        let other = run.replacen("\"format\":1", &format!("\"format\":{format}"), 1);
        for said in refusals("format", &other, blocks) {
            assert!(said.contains(words) && said.contains("run.json"), "{said}");
        }
    }
}

#[test]
fn a_run_record_that_is_cut_short_or_no_run_record_is_named() {
    let Run { run, blocks } = whole_run();
    for broken in [&run[..run.len() / 2], "", "[]", "{\"format\":1}", "\0\0\0"] {
        for said in refusals("broken", broken, blocks) {
            assert_says(&said, "run.json");
            assert_says(&said, "no run record");
        }
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_named_and_nothing_is_cut() {
    let Run { run, blocks } = whole_run();
    let mut lines: Vec<&str> = blocks.lines().collect();
    lines[4] = "{\"phase\":";
    for said in refusals("middle", run, &(lines.join("\n") + "\n")) {
        assert_says(&said, "blocks.jsonl");
        assert!(said.contains(":5") || said.contains("line 5"), "{said}");
        assert_says(&said, "delete the rest");
    }
    let last_epoch = blocks.replacen("\"epoch\":0", &format!("\"epoch\":{}", u32::MAX), 1);
    for said in refusals("last-epoch", run, &last_epoch) {
        assert_says(&said, "no later epoch could follow");
    }
    let twice = format!("{blocks}{}\n", lines[0]);
    for said in refusals("twice", run, &twice) {
        assert_says(&said, "is recorded twice");
    }
}

#[test]
fn a_last_line_that_was_cut_short_is_left_out_and_measured_again() {
    let Run { run, blocks } = whole_run();
    let folder = folder_with("last", run, &blocks[..blocks.len() - 30]);
    let reported = study(&folder, "report", &[]);
    assert!(reported.status.success(), "{}", errors(&reported));
    let resumed = study(&folder, "resume", &["--yes"]);
    assert!(resumed.status.success(), "{}", errors(&resumed));
    let after = folder.text("run/blocks.jsonl");
    let kept = blocks.lines().take(BLOCKS - 1);
    assert!(
        kept.zip(after.lines())
            .all(|(before, after)| before == after)
    );
    assert_eq!(count_blocks(&after), BLOCKS);
}

#[test]
fn a_report_that_cannot_be_written_is_told_of_beside_the_figures() {
    let Run { run, blocks } = whole_run();
    let folder = folder_with("unwritten", run, blocks);
    std::fs::create_dir(folder.path().join("run/report.html")).unwrap();
    for more in [&[][..], &["--json"]] {
        let output = study(&folder, "report", more);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!output.stdout.is_empty(), "{said}");
        assert_says(&said, "no report: run/report.html: ");
    }
}

#[test]
fn a_folder_that_cannot_be_had_is_known_before_the_machine_is_looked_at() {
    let folder = Folder::new("refused");
    std::fs::write(folder.path().join("file"), "mine").unwrap();
    std::fs::create_dir(folder.path().join("orphan")).unwrap();
    std::fs::write(folder.path().join("orphan/blocks.jsonl"), "{}\n").unwrap();
    for (out, words) in [
        ("file", "--out"),
        ("file/run", "--out"),
        ("orphan", "without their run.json"),
        ("/proc/run", "--out"),
        (&"x".repeat(300), "--out"),
    ] {
        let said = refusal_of(&mut linerate(&folder, &["--smoke", "--yes", "--out", out]));
        assert_says(&said, words);
        assert!(!said.contains("rig:"), "it was not known at once: {said}");
    }
    assert_eq!(folder.names(""), ["file", "orphan"]);
    assert_eq!(folder.text("file"), "mine");
}

/// Runs a script as root in a mount namespace of its own, with a tmpfs on `disk`.
fn on_a_small_disk(folder: &Folder, options: &str, script: &str) -> Output {
    std::fs::create_dir(folder.path().join("disk")).unwrap();
    let mount = format!("mount -t tmpfs -o {options} tmpfs disk && {{ {script} ; }}");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &mount, crate::common::program()])
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn a_read_only_disk_is_known_before_the_machine_is_looked_at() {
    crate::common::needs_root!();
    let folder = Folder::new("read-only");
    let output = on_a_small_disk(&folder, "ro", "$0 --smoke --yes --out disk/run");
    let said = refused(&output);
    assert_says(&said, "disk/run");
    assert_says(&said, "--out");
    assert!(
        said.contains("Read-only") && !said.contains("rig:"),
        "{said}"
    );
}

#[test]
fn a_full_disk_keeps_every_saved_block_and_the_run_goes_on_when_there_is_room() {
    crate::common::needs_root!();
    let folder = Folder::new("full");
    // Two pages more than the description needs: some blocks find room, but never those of latency
    // mode, whose histograms take three pages or more.
    let kib = whole_run().run.len().div_ceil(4096) * 4 + 8;
    let script = "
        $0 --smoke --yes --out disk/run 2> first.err; echo $? > first.code
        cp disk/run/blocks.jsonl first.jsonl
        mount -o remount,size=16m disk
        $0 study resume disk/run --yes > /dev/null 2> second.err; echo $? > second.code
        cp disk/run/blocks.jsonl second.jsonl";
    on_a_small_disk(&folder, &format!("size={kib}k"), script);
    let said = folder.text("first.err");
    assert_eq!(folder.text("first.code").trim(), "2", "{said}");
    assert_says(&said, "disk/run/blocks.jsonl");
    assert_says(&said, "No space left");
    assert_says(&said, "make room");
    assert_says(&said, "linerate study resume disk/run");
    let (first, second) = (folder.text("first.jsonl"), folder.text("second.jsonl"));
    let whole = first.rfind('\n').map_or(0, |end| end + 1);
    assert!(whole > 0, "some blocks were saved");
    assert_eq!(
        folder.text("second.code").trim(),
        "0",
        "{}",
        folder.text("second.err")
    );
    assert_eq!(second[..whole], first[..whole]);
    assert_eq!(count_blocks(&second), BLOCKS);
}

/// Starts a run that takes some seconds and waits until its first block is saved.
fn start_long_run(folder: &Folder) -> Child {
    let study = answer(&mut linerate(folder, &["study", "show", "http-json"]))
        .replace("rounds = 16", "rounds = 2")
        .replace("score_ms = 500", "score_ms = 250")
        .replace("blocks = 6", "blocks = 1");
    std::fs::write(folder.path().join("long.toml"), study).unwrap();
    let arguments = ["study", "run", "long.toml", "--yes", "--out", "run"];
    let child = linerate(folder, &arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("a block is saved", || {
        !folder.text("run/blocks.jsonl").is_empty()
    });
    child
}

#[test]
fn a_folder_that_another_run_writes_is_left_to_it() {
    let folder = Folder::new("two-runs");
    let first = start_long_run(&folder);
    for arguments in [
        &["--smoke", "--yes", "--out", "run"][..],
        &["study", "resume", "run", "--yes"],
    ] {
        let said = refusal_of(&mut linerate(&folder, arguments));
        assert_says(&said, "by another Linerate");
    }
    let output = first.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn a_folder_that_is_removed_under_a_run_ends_it_at_the_next_block() {
    let folder = Folder::new("removed");
    let run = start_long_run(&folder);
    std::fs::remove_dir_all(Path::new(folder.path()).join("run")).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_says(&refused(&output), "was removed");
    assert_eq!(folder.names(""), ["long.toml"]);
}
