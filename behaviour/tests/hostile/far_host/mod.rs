//! A machine of the hosts file that does not play by the rules.
//!
//! The `ssh` that is found first is a script of the test. On one of the two hosts it plays a
//! hostile agent; on the other it starts this program's own.

mod absurd;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use model::cpus::CpuShare;
use model::facts::Watched;
use model::failure::Failure;
use model::message::{ClockTell, PROTOCOL, Reach, Speaks};
use model::run::Rig;
use model::{Facts, Tell};

use crate::common::{Folder, linerate, studies, words};

/// How long any attack may keep us: we wait 30 s for a first answer, 20 s for any other, and 10 s
/// for an end.
const PATIENCE: Duration = Duration::from_secs(100);
/// Address space that a run may take, in KiB: about three times the most that was observed.
const MOST_KIB: u32 = 900_000;
/// Length of the longest refusal, in bytes.
const MOST_SAID: usize = 4_000;

/// Plays `ssh`: answers the look at the host, and starts an agent.
const SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
if [ "$2" = "HOSTILE" ]; then
    . "HERE/attack"
fi
case "$3" in
    *uname*) uname -sm; echo here ;;
    *" role "*) exec PROGRAM role --silence-limit-s 12 ;;
    *) exec PROGRAM agent --rig hosts --silence-limit-s 12 ;;
esac
"#;

/// Lets the look at the host go well.
const LOOK: &str = "case \"$3\" in *uname*) uname -sm; echo here; exit ;; esac\n";

/// Answers each ask with the file of its name.
const PLAYER: &str = r#"
case "$3" in *uname*) uname -sm; echo here; exit ;; esac
while IFS= read -r ask; do
    name=${ask#*\"ask\":\"}
    [ -z "$ask" ] || cat "HERE/${name%%\"*}"
done
exit
"#;

/// Two hosts, of which one is hostile.
struct Site(Folder);

impl Site {
    /// `host` is `client` or `server`. Whatever is run there begins with the script `attack`.
    fn new(name: &str, host: &str, attack: &str) -> Self {
        let folder = Folder::new(&format!("far-{name}"));
        let site = Self(folder);
        let here = site.0.path().display().to_string();
        let ssh = SSH
            .replace("HOSTILE", &format!("bench-{host}"))
            .replace("HERE", &here)
            .replace("PROGRAM", crate::common::program());
        std::fs::create_dir(site.0.path().join("bin")).unwrap();
        site.write("bin/ssh", &ssh);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(site.0.path().join("bin/ssh"), executable).unwrap();
        site.write("attack", &attack.replace("HERE", &here));
        site.write("short.toml", &studies::ladder("", 2));
        let hosts = "[host.client]\nssh = \"bench-client\"\n[host.server]\nssh = \"bench-server\"\n\
                     address = \"192.0.2.1\"\n";
        site.write("hosts.toml", hosts);
        site
    }

    /// A host that answers as an agent does, except to the asks in `answers`.
    fn playing(name: &str, host: &str, answers: &[(&str, &str)]) -> Self {
        let site = Self::new(name, host, PLAYER);
        let usual = [
            ("hello", hello()),
            ("clock", clock()),
            ("facts", text(&Tell::Facts(Box::default()))),
            ("cpus", text(&Tell::Cpus(CpuShare::default()))),
        ];
        let usual = usual.iter().map(|(ask, tell)| (*ask, tell.as_str()));
        for (ask, tell) in usual.chain(answers.iter().copied()) {
            site.write(ask, &format!("{tell}\n"));
        }
        site
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// What a run says at its end, with bounded memory.
    fn refusal(&self) -> String {
        self.refusal_of("study run short.toml --hosts hosts.toml --yes --out run")
    }

    fn refusal_of(&self, run: &str) -> String {
        let program = linerate(&self.0, &words(run));
        let limited = format!("ulimit -v {MOST_KIB}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited]).arg(program.get_program());
        command.args(program.get_args()).current_dir(self.0.path());
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.0.path().join("bin");
        command.env("PATH", format!("{}:{path}", bin.display()));
        let (code, said) = self.ended(command.stdin(Stdio::null()));
        let begin: String = said.chars().take(500).collect();
        assert_eq!(code, Some(2), "{begin}");
        assert!(said.len() < MOST_SAID, "{} bytes: {begin}", said.len());
        let steers = |sign: char| (sign.is_control() && sign != '\n') || sign == '\u{202e}';
        assert!(!said.contains(steers), "{said:?}");
        said
    }

    /// Exit code and standard error of a command, which must end.
    fn ended(&self, command: &mut Command) -> (Option<i32>, String) {
        let said = self.0.path().join("said");
        let file = std::fs::File::create(&said).unwrap();
        let mut child = command.stdout(Stdio::null()).stderr(file).spawn().unwrap();
        let mut status = None;
        let has_ended = sys::clock::wait_until(PATIENCE, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        if !has_ended {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(has_ended, "it does not end");
        let said = std::fs::read(said).unwrap();
        (
            status.and_then(|it| it.code()),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

fn text(tell: &Tell) -> String {
    serde_json::to_string(tell).unwrap()
}

fn hello() -> String {
    text(&Tell::Hello {
        protocol: PROTOCOL,
        linerate_version: String::new(),
        rig: Rig::Hosts,
    })
}

fn clock() -> String {
    text(&Tell::Clock(ClockTell {
        monotonic_ns: 1,
        boot_id: "theirs".to_owned(),
    }))
}

/// Characters that a terminal acts on, and some that a file name may not have.
const EVIL: &str = "../../etc/passwd\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{0}\r";

fn assert_says(said: &str, all: &[&str]) {
    for words in all {
        assert!(said.contains(words), "no `{words}` in: {said}");
    }
}

#[test]
fn a_line_without_end_is_given_up_at_the_limit_by_name() {
    for host in ["client", "server"] {
        // Without `exec`: the shell stays, and keeps its input open.
        let attack = format!("{LOOK}tr '\\0' x < /dev/zero; exit");
        let site = Site::new("endless", host, &attack);
        let named = format!("{host} (bench-{host})");
        let words = "it said more than 8 MiB without the end of a line";
        assert_says(&site.refusal(), &[&named, words]);
    }
}

#[test]
fn a_flood_of_answers_is_not_taken_for_answers() {
    let flood = format!("{LOOK}exec yes '{}'", hello());
    let said = Site::new("flood", "client", &flood).refusal();
    // A `hello` that arrives while the next answer is awaited is refused as another answer.
    let refused = [
        "before it was asked",
        "another answer than the one asked for",
    ];
    assert_says(&said, &["client (bench-client)"]);
    assert!(refused.iter().any(|why| said.contains(why)), "{said}");
}

#[test]
fn endless_output_in_place_of_two_lines_is_cut_off() {
    let said = Site::new("words", "server", "exec yes").refusal();
    assert_says(&said, &["bench-server", "more than 4096 bytes"]);
}

#[test]
fn a_start_up_file_that_prints_is_told_of_by_what_it_prints() {
    let attack = format!("echo welcome back\n{LOOK}");
    let said = Site::new("talkative", "server", &attack).refusal();
    assert_says(&said, &["bench-server: a start-up file", "`welcome back`"]);
}

#[test]
fn a_process_that_closes_its_output_and_does_not_end_is_given_up() {
    let attack = "exec >&- 2>&-; exec sleep 600";
    let said = Site::new("closed", "client", attack).refusal();
    assert_says(&said, &["bench-client", "longer than 30 s"]);
}

#[test]
fn silence_has_an_end() {
    let said = Site::new("silence", "client", &format!("{LOOK}exec sleep 600")).refusal();
    assert_says(
        &said,
        &["client (bench-client)", "did not answer within 30 s"],
    );
}

#[test]
fn an_end_of_streams_or_packets_that_means_harm_is_given_up_with_few_plain_words() {
    for (name, attack) in [
        ("endless", "tr '\\0' x < /dev/zero; exit"),
        (
            "evil",
            "echo '{\"Err\":\"\\u001b[2J\\u202eall is well\\nlinerate: done\"}'; exit",
        ),
        ("deep", "yes '[' | tr -d '\\n' | head -c 100000; echo; exit"),
        ("other", "echo '{\"Ok\":\"203.0.113.7\"}'; exit"),
        ("silence", "exec sleep 600"),
    ] {
        let runs = ["stream --for 1s", "packets --rate 1k"];
        // Each silent run takes half a minute, so one is enough.
        let runs = if name == "silence" { &runs[..1] } else { &runs };
        for run in runs {
            let site = Site::new(
                &format!("role-{name}"),
                "server",
                &format!("{LOOK}{attack}"),
            );
            let said = site.refusal_of(&format!("{run} --hosts hosts.toml"));
            assert_says(&said, &["linerate: the "]);
            assert!(said.lines().count() < 4, "{said}");
        }
    }
}

#[test]
fn json_that_is_nested_without_end_is_no_answer() {
    let deep = "[".repeat(100_000);
    let said = Site::playing("deep", "client", &[("hello", &deep)]).refusal();
    assert_says(
        &said,
        &["client (bench-client)", "recursion limit exceeded"],
    );
}

#[test]
fn impossible_numbers_are_no_answer() {
    for number in ["18446744073709551615", "-1", "1e999", "1e300", "0.5"] {
        let absurd = clock().replace("\"monotonic_ns\":1", &format!("\"monotonic_ns\":{number}"));
        let said = Site::playing("absurd", "client", &[("clock", &absurd)]).refusal();
        assert_says(&said, &["client (bench-client)", "no answer"]);
    }
}

#[test]
fn a_text_that_nobody_reads_to_its_end_is_no_answer() {
    let facts = text(&Tell::Facts(Box::new(Facts {
        cpu_model: "x".repeat(100_000),
        ..Facts::default()
    })));
    let said = Site::playing("long", "client", &[("facts", &facts)]).refusal();
    assert_says(&said, &["client (bench-client)", "a text of 100000 bytes"]);
}

#[test]
fn an_answer_to_what_was_not_asked_is_no_answer() {
    let said = Site::playing("other", "client", &[("hello", &clock())]).refusal();
    assert_says(&said, &["client (bench-client)", "another answer"]);
    let started = text(&Tell::Started {
        target: EVIL.to_owned(),
        doubts: Vec::new(),
        reach: None,
        answers: Vec::new(),
    });
    let said = up_to_the_start("name", &started).refusal();
    assert_says(
        &said,
        &["server (bench-server)", "another answer", r"\u001b]0;owned"],
    );
}

#[test]
fn words_of_a_far_host_reach_the_terminal_as_what_they_are() {
    let failed = text(&Tell::Failed(Failure {
        what: EVIL.to_owned(),
        advice: EVIL.repeat(2_000),
    }));
    // First longer than is accepted, then of an allowed length.
    let said = Site::playing("failed", "client", &[("facts", &failed)]).refusal();
    assert_says(&said, &["client (bench-client)", "a text of"]);
    let failed = failed.replace(&json_string(&EVIL.repeat(2_000)), &json_string(EVIL));
    let said = Site::playing("failed", "client", &[("facts", &failed)]).refusal();
    assert_says(
        &said,
        &[r"passwd\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u0000\u000d"],
    );
    // The facts are printed before the answer to `watch` fails the run.
    let facts = text(&Tell::Facts(Box::new(Facts {
        cpu_model: EVIL.to_owned(),
        ..Facts::default()
    })));
    let said = Site::playing("facts", "server", &[("facts", &facts), ("watch", "{}")]).refusal();
    assert_says(&said, &[r"passwd\u001b]0;owned", "server (bench-server)"]);
}

fn json_string(words: &str) -> String {
    serde_json::to_string(words).unwrap()
}

#[test]
fn words_on_standard_error_are_kept_to_their_end_alone() {
    let attack = format!(
        "{LOOK}printf 'lost \\033[2J' >&2; head -c 1000000000 /dev/zero >&2; printf ' at last' >&2; exit"
    );
    let said = Site::new("errors", "client", &attack).refusal();
    assert_says(&said, &["client (bench-client)", "went away", "at last"]);
    assert!(!said.contains("lost"), "{said}");
}

/// A hostile server's host that answers as an agent does until the first target is started.
fn up_to_the_start(name: &str, started: &str) -> Site {
    let watched = text(&Tell::Watched(Watched::default()));
    let levers = text(&Tell::Levers { levers: Vec::new() });
    let answers = [
        ("watch", &*watched),
        ("levers", &levers),
        ("start", started),
    ];
    Site::playing(name, "server", &answers)
}

#[test]
fn a_servers_host_cannot_turn_the_load_upon_another() {
    let victim = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    victim.set_nonblocking(true).unwrap();
    let started = text(&Tell::Started {
        target: "baseline".to_owned(),
        doubts: Vec::new(),
        reach: Some(Reach {
            address: SocketAddr::new(
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                victim.local_addr().unwrap().port(),
            ),
            speaks: Speaks::Http {
                path: "/json".to_owned(),
                varies: false,
            },
        }),
        answers: Vec::new(),
    });
    let said = up_to_the_start("reach", &started).refusal();
    assert!(victim.accept().is_err(), "the load went there");
    assert_says(
        &said,
        &[
            "server (bench-server)",
            "not its address",
            "only 192.0.2.1 is loaded",
        ],
    );
}
