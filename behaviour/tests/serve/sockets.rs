//! Sockets have the options that were asked for. Tests check what the sockets do where that shows
//! it, else what the kernel reports about those that are live.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::client::Client;
use super::server::{Server, program, sockets};
use crate::common::{Folder, assert_says, refusal_of};

/// What a server says that must not start.
fn refused(mut command: Command, flags: &[&str]) -> String {
    // A server that starts all the same would never end.
    command.args(["timeout", "20", program(), "serve", "--listen", "0"]);
    refusal_of(command.args(flags))
}

fn refused_here(flags: &[&str]) -> String {
    refused(Command::new("env"), flags)
}

/// The levers of our own server, and the flags by which they are set in the tests here and in those
/// of its workers and its TLS.
const FLAGS: [(&str, &str); 11] = [
    ("connection-steering", "--steer"),
    ("defer-accept", "--defer-accept"),
    ("engine", "--engine"),
    ("kernel-tls", "--kernel-tls"),
    ("listen-backlog", "--backlog"),
    ("no-delay", "--no-delay"),
    ("pacing", "--pacing"),
    ("socket-busy-poll", "--busy-poll"),
    ("tls-ciphers", "--tls-ciphers"),
    ("tls-record-size", "--tls-record-size"),
    ("workers", "--workers"),
];

#[test]
fn every_lever_that_is_tested_with_our_server_is_a_flag_of_it() {
    let answer = |words: &[&str]| {
        let output = Command::new(program()).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let list: Value = serde_json::from_str(&answer(&["levers", "list", "--json"])).unwrap();
    let is_tested = |lever: &Value, bench: &str| {
        let benches = lever["tested_in"].as_array().unwrap();
        benches.iter().any(|found| found == bench)
    };
    let levers = list["levers"].as_array().unwrap().iter();
    let mut names: Vec<&str> = levers
        .filter(|lever| is_tested(lever, "server"))
        .map(|lever| lever["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, FLAGS.map(|(name, _)| name));
    let help = answer(&["serve", "--help"]);
    assert!(FLAGS.iter().all(|(_, flag)| help.contains(flag)), "{help}");
}

#[test]
fn by_hash_connections_of_one_cpu_go_to_all_workers() {
    let server = Server::start(&["--workers", "2", "--cpus", "0-1", "--steer", "hash"]);
    sys::cpu::pin(&[0]).unwrap();
    let mut clients: Vec<Client> = (0..64).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/json").status, 200);
    }
    // The chance that one of 2 workers gets none of 64 is 10^-19.
    let counts: Vec<usize> = server.workers().into_iter().map(sockets).collect();
    assert!(counts.iter().all(|count| *count > 1), "{counts:?}");
}

#[test]
fn a_way_of_steering_that_workers_and_cpus_do_not_allow_is_refused() {
    for (flags, why) in [
        (
            &["--workers", "1", "--steer", "cbpf"][..],
            "nothing to choose from",
        ),
        (
            &["--workers", "2", "--cpus", "1", "--steer", "cbpf"],
            "one on each of the CPUs 0, 1, …; there are 2 on CPUs 1",
        ),
        (
            &["--workers", "2", "--cpus", "0", "--steer", "incoming-cpu"],
            "one worker on each; there are 2 on CPUs 0",
        ),
    ] {
        let said = refused_here(flags);
        let flag = flags[flags.len() - 2..].join(" ");
        assert!(said.contains(&flag) && said.contains(why), "{said}");
    }
}

#[test]
fn a_connection_that_says_nothing_is_not_taken_where_that_is_deferred() {
    for (flags, taken) in [(&[][..], 2), (&["--defer-accept", "60s"], 1)] {
        let server = Server::start(&[&["--workers", "1"], flags].concat());
        let before = sockets(server.pid());
        let mut silent = server.connect();
        // Connections are accepted in turn: after this one, the silent one has had its turn.
        assert_eq!(server.connect().get("/json").status, 200);
        let mut second = server.connect();
        assert_eq!(second.get("/json").status, 200);
        assert_eq!(sockets(server.pid()) - before, taken, "{flags:?}");
        assert_eq!(silent.get("/json").status, 200);
    }
}

/// Sends several requests at once on a connection that delays its acknowledgements, and prints in
/// how many segments the answers came.
const COUNT_SEGMENTS: &str = r"
import array, fcntl, socket, struct, sys, termios, time
request = b'GET /json HTTP/1.1\r\nHost: x\r\n\r\n'
def connect():
    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    return s
def waiting(s):
    count = array.array('i', [0])
    fcntl.ioctl(s, termios.FIONREAD, count)
    return count[0]
one = connect()
one.sendall(request)
while b'Hello, World!\x22}' not in one.recv(4096, socket.MSG_PEEK): pass
several = connect()
several.sendall(request * 8)
end = time.monotonic() + 20
while waiting(several) < 8 * waiting(one) and time.monotonic() < end: pass
print(struct.unpack_from('I', several.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 152)[0])
";

#[test]
fn small_pieces_leave_at_once_or_wait_for_an_acknowledgement() {
    let segments = |switch: &str| {
        let server = Server::start(&["--workers", "1", "--split-send", "--no-delay", switch]);
        let port = server.address.port().to_string();
        python(COUNT_SEGMENTS, &[port])
            .trim()
            .parse::<u32>()
            .unwrap()
    };
    // With no delay, each body leaves with the next head. Otherwise the first head leaves alone,
    // and then all that has gathered.
    let (on, off) = (segments("on"), segments("off"));
    // One segment more if the server was kept waiting and the requests were acknowledged
    // separately.
    assert!((9..=10).contains(&on), "{on}");
    assert!(off <= 4, "{off}");
}

/// Prints how each TCP socket and each epoll of a process polls devices.
const ASK_POLLING: &str = r"
import ctypes, fcntl, os, socket, struct, sys
pid = int(sys.argv[1])
process = os.pidfd_open(pid)
for fd in os.listdir(f'/proc/{pid}/fd'):
    target = os.readlink(f'/proc/{pid}/fd/{fd}')
    copy = ctypes.CDLL(None).syscall(438, process, int(fd), 0)
    if target.startswith('socket:'):
        s = socket.socket(fileno=copy)
        if s.family == socket.AF_INET:
            print('socket', *(s.getsockopt(socket.SOL_SOCKET, option) for option in (46, 69)))
    elif 'eventpoll' in target:
        params = bytearray(8)
        fcntl.ioctl(copy, 0x80088a02, params)
        print('epoll', *struct.unpack('IHBB', params))
";

#[test]
fn devices_are_polled_by_the_listener_its_connections_and_the_wait() {
    crate::common::needs_root!();
    for (flags, socket, epoll) in [
        (&[][..], "socket 0 0", "epoll 0 0 0 0"),
        (&["--busy-poll", "50us"], "socket 50 0", "epoll 50 0 0 0"),
        (
            &["--busy-poll", "1ms", "--prefer-busy-poll"],
            "socket 1000 1",
            "epoll 1000 8 1 0",
        ),
        (
            &["--busy-poll", "1ms", "--prefer-busy-poll", "16"],
            "socket 1000 1",
            "epoll 1000 16 1 0",
        ),
    ] {
        let server = Server::start(&[&["--workers", "1"], flags].concat());
        let mut client = server.connect();
        assert_eq!(client.get("/json").status, 200);
        let told = python(ASK_POLLING, &[server.pid().to_string()]);
        let mut told: Vec<&str> = told.lines().collect();
        told.sort_unstable();
        assert_eq!(told, [epoll, socket, socket], "{flags:?}");
    }
}

#[test]
fn polling_before_interrupts_without_the_privilege_is_refused_by_name() {
    let mut command = Command::new("setpriv");
    command.args(["--inh-caps=-net_admin", "--bounding-set=-net_admin"]);
    let said = refused(command, &["--busy-poll", "50us", "--prefer-busy-poll"]);
    let why = "--prefer-busy-poll needs root or CAP_NET_ADMIN: SO_PREFER_BUSY_POLL: Operation not permitted";
    assert_says(&said, why);
    let said = refused_here(&["--prefer-busy-poll"]);
    assert_says(&said, "--busy-poll <TIME>");
}

#[test]
fn a_backlog_is_what_was_asked_for_or_refused() {
    crate::common::needs_root!();
    let server = Server::start(&["--workers", "2", "--backlog", "77"]);
    let filter = format!("sport = :{}", server.address.port());
    let output = Command::new("ss")
        .args(["-Hltn", &filter])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let backlogs: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .collect();
    assert_eq!(backlogs, ["77", "77"], "{text}");
    let mut command = Command::new("unshare");
    let lowered = "ip link set lo up && echo 99 > /proc/sys/net/core/somaxconn && exec \"$@\"";
    command.args(["--net", "sh", "-c", lowered, "sh"]);
    let said = refused(command, &["--backlog", "100"]);
    assert_says(&said, "the kernel holds 99");
}

/// The rate at which a socket is paced now, and the most that it may be, bytes per second.
const ASK_PACES: &str =
    "*struct.unpack_from('QQ', s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 104)";

/// The pace that the test sets, 40 Mbit/s.
const BYTES_A_SECOND: u64 = 5_000_000;
const FILE_BYTES: usize = 2_000_000;

#[test]
fn a_paced_connection_sends_no_faster_than_its_pace_and_an_unpaced_one_does() {
    let folder = Folder::new("paced");
    std::fs::write(folder.path().join("a"), vec![7; FILE_BYTES]).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    let at_pace = Duration::from_secs_f64(FILE_BYTES as f64 / BYTES_A_SECOND as f64);
    let mut took = Vec::new();
    for (flags, is_paced) in [
        (&[][..], false),
        (&["--pacing", "40Mbit/s"], true),
        (&[], false),
    ] {
        let server = Server::start(&[&["--workers", "1", "--root", &root], flags].concat());
        let mut client = server.connect();
        let begin = sys::clock::now();
        assert_eq!(client.get("/a").body.len(), FILE_BYTES);
        took.push(begin.elapsed());
        let told = ask_sockets(&server, ASK_PACES);
        let rates = told.lines().map(|line| {
            let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
            (numbers.next().unwrap(), numbers.next().unwrap())
        });
        let rates: Vec<(u64, u64)> = rates.collect();
        // The listener and its connection.
        assert_eq!(rates.len(), 2, "{told}");
        for (now, most) in rates {
            assert_eq!(most, if is_paced { BYTES_A_SECOND } else { u64::MAX });
            assert!(now <= most, "{told}");
        }
    }
    // What is on its way when the last byte is sent reaches the client at once.
    assert!(took[1] > at_pace.mul_f64(0.8), "{took:?}");
    assert!(took[0].min(took[2]) < took[1], "{took:?}");
    for wrong in ["7kbit/s", "100", "fast"] {
        assert!(
            refused_here(&["--pacing", wrong]).contains("--pacing"),
            "{wrong}"
        );
    }
}

const ASK_SOCKETS: &str = r"
import ctypes, os, socket, struct, sys
pid = int(sys.argv[1])
process = os.pidfd_open(pid)
for fd in os.listdir(f'/proc/{pid}/fd'):
    if os.readlink(f'/proc/{pid}/fd/{fd}').startswith('socket:'):
        s = socket.socket(fileno=ctypes.CDLL(None).syscall(438, process, int(fd), 0))
        if s.family == socket.AF_INET:
";

/// What Python prints for each TCP socket `s` of a server, given these arguments of `print`.
fn ask_sockets(server: &Server, printed: &str) -> String {
    let script = format!("{ASK_SOCKETS}            print({printed})\n");
    python(&script, &[server.pid().to_string()])
}

/// What a Python script prints; `words` are its arguments.
fn python(script: &str, words: &[String]) -> String {
    let mut command = Command::new("python3");
    let output = command.args(["-c", script]).args(words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}
