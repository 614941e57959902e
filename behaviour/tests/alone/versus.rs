//! Two running servers side by side, through the program.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use model::{Judgement, Verdict};

use crate::common::load_server::{OK, answer_each};
use crate::common::server::Server;
use crate::common::{Folder, answer, assert_says, errors, linerate, words};

const REFUSED: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno";

#[test]
fn a_server_that_does_twice_the_work_is_called_worse_and_does_not_pass_the_gate() {
    let folder = Folder::new("versus");
    let (plain, slow) = (
        Server::start(&[]),
        Server::start(&["--busy-work-rounds", "40000"]),
    );
    let (a, b) = (
        format!("http://{}/json", plain.address),
        format!("http://{}/json", slow.address),
    );
    let passes = |run: &str| {
        let words = ["versus", &a, &b, "--yes", "--out", run, "--rounds", "12"];
        let gate = linerate(&folder, &[&words[..], &["--fail-if-worse"]].concat())
            .output()
            .unwrap();
        let said = errors(&gate);
        let is_worse = said.contains("--fail-if-worse: B is worse than A");
        assert_eq!(gate.status.code(), Some(i32::from(is_worse)), "{said}");
        !is_worse
    };
    // In about one of a hundred runs the control differs by chance: that run gives no verdict.
    let mut runs = ["first", "second"].into_iter();
    let run = runs.find(|run| !passes(run));
    let run = run.unwrap_or_else(|| panic!("twice B was not found to be worse"));
    // `study report` only shows the result again: it is no gate, and exits with 0.
    let words = ["study", "report", run, "--json"];
    let json = answer(&mut linerate(&folder, &words));
    let judgement: Judgement = serde_json::from_str(&json).unwrap();
    let step = judgement.steps.last().unwrap();
    assert_eq!(step.verdict, Verdict::Worse, "{:?}", step.effect);
    assert!(step.effect.unwrap().ratio > 1.3, "{:?}", step.effect);
}

#[test]
fn a_server_that_refuses_quickly_does_not_hold_an_objective_and_the_repeated_command_is_the_same() {
    let folder = Folder::new("versus-slo");
    let well = Server::start(&[]);
    let before = AtomicU32::new(0);
    let refusing = answer_each(move |stream| {
        let is_tenth = before.fetch_add(1, Ordering::Relaxed).is_multiple_of(10);
        drop(stream.write_all(if is_tenth { OK } else { REFUSED }));
    });
    let (a, b) = (
        format!("http://{}/json", well.address),
        format!("http://{refusing}/"),
    );
    let words = words("--slo p99<500ms --smallest-effect 4 --smoke --different-answers");
    let mut versus = linerate(
        &folder,
        &[&["versus", &a, &b, "--yes"][..], &words].concat(),
    );
    let output = versus.output().unwrap();
    let page = String::from_utf8(output.stdout.clone()).unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{page}{said}");
    assert_says(&said, "B does not hold p99<500ms");
    // On a machine that others use, A may not be offered the whole rate: then nobody can tell.
    let of_a = [
        "A: holds p99<500ms",
        "A: cannot tell whether it holds p99<500ms",
    ];
    assert!(of_a.iter().any(|said| page.contains(said)), "{page}");
    let repeat = page.lines().find(|line| line.contains("repeat: ")).unwrap();
    for word in ["--slo 'p99<500ms'", "--smallest-effect 4", "--smoke"] {
        assert_says(repeat, word);
    }
}
