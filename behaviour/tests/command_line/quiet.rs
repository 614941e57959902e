//! `--quiet`: answers and errors, and nothing else.

use crate::command_line::linerate;
use crate::common::assert_says;

/// Standard output and standard error of the shortest run there is; removes its folder.
fn smoke(name: &str, more: &[&str]) -> [String; 2] {
    let folder = std::env::temp_dir().join(format!("linerate-{name}-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let words = [&["--smoke", "--yes", "--out", out][..], more].concat();
    let output = linerate(&words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::remove_dir_all(folder).unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn with_json_standard_output_is_one_value_and_remarks_are_beside_it() {
    let [answer, remarks] = smoke("json", &["--json"]);
    serde_json::from_str::<serde_json::Value>(&answer).unwrap();
    assert_says(&remarks, "rig: ");
}

#[test]
fn a_quiet_run_says_its_answer_and_no_remark() {
    let [answer, remarks] = smoke("quiet", &["--quiet"]);
    assert_says(&answer, "report: ");
    assert_eq!(remarks, "");
}

#[test]
fn errors_are_said_all_the_same() {
    let output = linerate(&["-q", "study", "show", "no-such-study"])
        .output()
        .unwrap();
    assert!(!output.stderr.is_empty());
}

#[test]
fn where_there_is_no_terminal_there_is_no_colour_unless_it_is_forced() {
    let bare = |name: &str, value: &str| {
        let output = linerate(&["no-such-command"])
            .env(name, value)
            .output()
            .unwrap();
        !output.stderr.contains(&b'\x1b')
    };
    assert!(bare("TERM", "xterm-256color"));
    assert!(!bare("CLICOLOR_FORCE", "1"));
    assert!(bare("NO_COLOR", "1"));
}
