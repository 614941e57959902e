//! A signal in each phase: the program ends tidily, keeps what was measured, and says how to go on.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::common::load_server;
use crate::common::processes::{Ours, is_alive, offspring, signal};
use crate::common::server::Server;
use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};

/// How long the tests wait for anything. Nothing that they wait for would happen by itself in that
/// time: the runs take many minutes, and each of their blocks takes one.
const PATIENCE: Duration = Duration::from_secs(50);

/// A command under way, and all processes below it.
struct Running {
    child: Ours,
    said: BufReader<ChildStderr>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Ours(command.spawn().unwrap());
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Waits for a line on standard error that holds these words.
    fn says(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(
                self.said.read_line(&mut line).unwrap() > 0,
                "it never said {words}"
            );
        }
    }

    fn signal(&self, name: &str) {
        signal(name, self.child.id());
    }

    /// Sends the signal again and again: one that follows the first at once counts as the same.
    fn signal_until_it_ends(&mut self, name: &str) {
        wait_for(|| {
            self.signal(name);
            self.child.try_wait().unwrap().is_some()
        });
    }

    /// Waits until the command and these processes have ended. Returns how the command ended and
    /// the rest of what it said.
    fn ends(mut self, offspring: &[u32]) -> (ExitStatus, String) {
        wait_for(|| self.child.try_wait().unwrap().is_some());
        wait_for(|| !offspring.iter().any(|pid| is_alive(*pid)));
        let mut words = String::new();
        self.said.read_to_string(&mut words).unwrap();
        (self.child.wait().unwrap(), words)
    }
}

fn wait_for(holds: impl FnMut() -> bool) {
    assert!(
        sys::clock::wait_until(PATIENCE, holds),
        "it does not happen"
    );
}

/// Starts a study whose blocks take a minute, but `score_ms` in closed loop.
fn long_study(folder: &Folder, score_ms: u32) -> Running {
    let study = answer(&mut linerate(folder, &["study", "show", "http-json"]))
        .replace("rounds = 16", "rounds = 1")
        .replace("score_ms = 500", &format!("score_ms = {score_ms}"))
        .replace("score_ms = 1000", "score_ms = 60000");
    std::fs::write(folder.path().join("long.toml"), study).unwrap();
    let arguments = ["study", "run", "long.toml", "--yes", "--out", "runs/one"];
    Running::start(linerate(folder, &arguments))
}

/// Stops a run, waits until none of its processes is left, and returns what it said last.
fn stopped_by(name: &str, code: i32, run: Running) -> String {
    let below = offspring(run.child.id());
    run.signal(name);
    let (status, words) = run.ends(&below);
    assert_eq!(status.code(), Some(code), "{words}");
    assert_says(&words, "linerate: stopped by");
    words
}

#[test]
fn before_the_first_block_a_run_leaves_nothing_behind() {
    // The phases: the look at the machine at rest, the start of the servers, and the rehearsal.
    let phases: [&dyn Fn(&mut Running); 3] = [
        &|run| run.says("rig:"),
        &|run| wait_for(|| offspring(run.child.id()).len() > 2),
        &|run| wait_for(|| offspring(run.child.id()).len() > 8),
    ];
    for reach in phases {
        let folder = Folder::new("signal-early");
        let mut run = long_study(&folder, 60_000);
        reach(&mut run);
        let words = stopped_by("INT", 130, run);
        assert_says(&words, "nothing is left");
        assert_eq!(folder.names(""), ["long.toml"]);
    }
}

#[test]
fn in_the_midst_of_a_block_a_run_keeps_the_blocks_before_it() {
    let folder = Folder::new("signal-block");
    let run = long_study(&folder, 60_000);
    wait_for(|| !folder.text("runs/one/run.json").is_empty());
    let words = stopped_by("TERM", 143, run);
    assert_says(&words, "`linerate study resume runs/one`");
    assert_eq!(folder.names("runs/one"), ["blocks.jsonl", "run.json"]);
    let report = linerate(&folder, &["study", "report", "runs/one"])
        .output()
        .unwrap();
    assert!(report.status.success(), "{}", errors(&report));
}

#[test]
fn in_a_latency_block_a_run_keeps_the_blocks_before_it_and_a_resumed_one_as_well() {
    let folder = Folder::new("signal-latency");
    let run = long_study(&folder, 100);
    let blocks = || folder.text("runs/one/blocks.jsonl");
    wait_for(|| blocks().lines().count() == 8);
    stopped_by("INT", 130, run);
    let before = blocks();
    let mut resumed = linerate(&folder, &["study", "resume", "runs/one", "--yes"]);
    resumed.env("COLUMNS", "80");
    let run = Running::start(resumed);
    wait_for(|| offspring(run.child.id()).len() > 8);
    let words = stopped_by("HUP", 129, run);
    assert_says(&words, "`linerate study resume runs/one`");
    assert_eq!(blocks(), before);
}

#[test]
fn a_comparison_of_running_servers_says_how_to_judge_what_there_is() {
    let folder = Folder::new("signal-versus");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let arguments = ["versus", &url, &url, "--yes", "--out", "a run"];
    let run = Running::start(linerate(&folder, &arguments));
    wait_for(|| !folder.text("a run/blocks.jsonl").is_empty());
    let words = stopped_by("INT", 130, run);
    assert_says(&words, "`linerate study report 'a run'`");
    answer(&mut linerate(&folder, &["study", "report", "a run"]));
    let said = refusal_of(&mut linerate(&folder, &["study", "resume", "a run"]));
    assert!(
        said.contains("start it again") && !said.contains("goes on"),
        "{said}"
    );
}

#[test]
fn a_load_says_what_it_measured_until_then() {
    let folder = Folder::new("signal-load");
    for (mode, headline) in [
        (&["--engine", "epoll"][..], "requests/s"),
        (&["--engine", "uring"], "requests/s"),
        (&["--download"], "Gbit/s"),
    ] {
        // Each load has its own server, so that no request of the load before is counted.
        let (counted, count) = std::sync::mpsc::channel();
        let target = load_server::answer_each(move |stream| {
            let _ = std::io::Write::write_all(stream, load_server::OK);
            let _ = counted.send(());
        });
        let url = format!("http://{target}/");
        let arguments = [
            "load", &url, "-c", "2", "-t", "2", "-d", "1h", "--settle", "0ms",
        ];
        let command = linerate(&folder, &[&arguments[..], mode].concat());
        let mut run = Running::start(command);
        // Two requests are made before the load; the others belong to it.
        (0..100).for_each(|_| count.recv_timeout(PATIENCE).unwrap());
        run.signal("INT");
        let mut page = String::new();
        run.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut page)
            .unwrap();
        let (status, words) = run.ends(&[]);
        assert_eq!(status.code(), Some(130), "{words}");
        assert!(page.contains(headline), "{page}{words}");
        assert_says(&page, "stopped by Ctrl-C");
    }
}

/// Stops a run of `packets` that would take long, and returns the JSON that it prints.
fn stopped_packets(mut run: Running, when: &str) -> serde_json::Value {
    let below = offspring(run.child.id());
    run.signal("INT");
    let mut told = String::new();
    let stdout = run.child.stdout.take();
    stdout.unwrap().read_to_string(&mut told).unwrap();
    let (status, said) = run.ends(&below);
    assert_eq!(status.code(), Some(130), "{said}");
    assert_says(&said, &format!("stopped by Ctrl-C (SIGINT){when}"));
    serde_json::from_str(&told).unwrap()
}

#[test]
fn packets_say_what_became_of_them_until_then() {
    let folder = Folder::new("signal-packets");
    for flags in [
        "-d 1h",
        "-d 1h --rate 10k",
        // The next burst would be due in a minute.
        "-d 1h --rate 1 --burst 64",
        "--raw -d 1h",
    ] {
        let command = linerate(&folder, &words(&format!("packets --json {flags}")));
        let run = Running::start(command);
        let pid = run.child.id();
        // Both ends are threads of the program, or of a process below it where the frames are raw.
        let threads = |pid: &u32| {
            let listed = std::fs::read_dir(format!("/proc/{pid}/task"));
            listed.map_or(0, Iterator::count)
        };
        wait_for(|| {
            let all = [vec![pid], offspring(pid)].concat();
            all.iter().any(|pid| threads(pid) > 2)
        });
        let told = stopped_packets(run, "");
        assert!(told["received"].as_u64() > Some(0), "{flags}: {told:#}");
        let seconds = told["window_seconds"].as_f64().unwrap();
        assert!(seconds < 3600.0, "{flags}: {told:#}");
    }
}

#[test]
fn a_search_for_the_highest_rate_of_packets_tells_the_last_that_held_until_then() {
    let folder = Folder::new("signal-find");
    let flags = words("packets --json --find --size 64 --loss 5%");
    let mut run = Running::start(linerate(&folder, &flags));
    run.says("packets/s holds");
    let told = stopped_packets(run, ", in the middle of the search");
    assert!(told["received"].as_u64() > Some(0), "{told:#}");
    assert!(told["highest"]["blocks"].as_u64() > Some(0), "{told:#}");
}

#[test]
fn a_load_on_a_server_that_is_silent_is_stopped_before_it_begins() {
    let folder = Folder::new("signal-silent");
    let (counted, count) = std::sync::mpsc::channel();
    let silent = load_server::answer_each(move |_| {
        let _ = counted.send(());
    });
    let url = format!("http://{silent}/");
    let run = Running::start(linerate(&folder, &["load", &url, "--timeout", "1h"]));
    count.recv_timeout(PATIENCE).unwrap();
    run.signal("INT");
    let (status, _) = run.ends(&[]);
    assert_eq!(status.signal(), Some(2));
}

#[test]
fn the_same_signal_again_ends_a_run_at_once_and_its_agent_undoes_the_rest() {
    let folder = Folder::new("signal-twice");
    let mut run = long_study(&folder, 60_000);
    wait_for(|| !folder.text("runs/one/run.json").is_empty());
    let below = offspring(run.child.id());
    let agent = below[0];
    // An agent that is stopped keeps the run from ending by itself.
    signal("STOP", agent);
    run.signal_until_it_ends("INT");
    signal("CONT", agent);
    let (status, _) = run.ends(&below);
    assert_eq!(status.signal(), Some(2));
}

#[test]
fn a_signal_that_comes_again_at_once_counts_as_one() {
    let folder = Folder::new("signal-timeout");
    let mut run = long_study(&folder, 60_000);
    run.says("rig:");
    let below = offspring(run.child.id());
    // As timeout(1) does: it signals its child, and then the group of its child.
    let again = "for each in 1 2 3; do kill -s TERM $0; done";
    let pid = run.child.id().to_string();
    let mut shell = Command::new("sh");
    assert!(shell.args(["-c", again, &pid]).status().unwrap().success());
    let (status, words) = run.ends(&below);
    assert_eq!(status.code(), Some(143), "{words}");
    assert_says(&words, "linerate: stopped by SIGTERM");
}

/// Whether a process has a handler for a signal. It has none for one that it ignores.
fn is_caught(pid: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
    caught & (1 << (signal - 1)) != 0
}

#[test]
fn a_signal_that_whoever_started_us_ignores_stays_ignored() {
    let folder = Folder::new("signal-nohup");
    let mut command = Command::new("sh");
    let serve = "trap '' HUP; exec \"$0\" serve --listen 0 --workers 1";
    command
        .args(["-c", serve, crate::common::program()])
        .current_dir(folder.path());
    let mut run = Running::start(command);
    let mut line = String::new();
    let mut output = BufReader::new(run.child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    // Once it is ready, it catches the signals that it obeys; SIGHUP stays ignored.
    assert!(is_caught(run.child.id(), 15) && !is_caught(run.child.id(), 1));
    run.signal("HUP");
    let address = line.trim().strip_prefix("listening on ").unwrap();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    std::io::Write::write_all(&mut client, b"GET /json HTTP/1.0\r\n\r\n").unwrap();
    let mut said = String::new();
    client.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    run.signal("TERM");
    assert!(run.ends(&[]).0.success());
}

#[test]
fn a_server_that_drains_is_ended_at_once_by_the_same_signal_again() {
    let folder = Folder::new("signal-serve");
    for workers in ["1", "2"] {
        let arguments = [
            "serve",
            "--listen",
            "0",
            "--workers",
            workers,
            "--drain-timeout",
            "1h",
            "--request-timeout",
            "1h",
        ];
        let mut run = Running::start(linerate(&folder, &arguments));
        let mut line = String::new();
        let mut output = BufReader::new(run.child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        let mut client = std::net::TcpStream::connect(address).unwrap();
        // Both go in one piece: the answer to the first shows that the half of the second was read.
        let one_and_a_half = b"GET /json HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\n";
        std::io::Write::write_all(&mut client, one_and_a_half).unwrap();
        let mut status = [0; 12];
        client.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        let below = offspring(run.child.id());
        run.signal_until_it_ends("INT");
        let (status, _) = run.ends(&below);
        assert_eq!(status.signal(), Some(2), "{workers}");
    }
}
