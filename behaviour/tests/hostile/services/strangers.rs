//! Somebody with an account on the machine tries to get into a service of another user.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::lab::{Lab, STRANGER, Started, all_said, as_user};
use super::secrets::assert_password_is_private;
use crate::common::{assert_says, errors};

/// What a client prints if the service accepts its commands.
const INSIDE: &str = "inside";

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where a service answers.
enum Door<'a> {
    Socket(&'a Path),
    Address(SocketAddr),
}

/// A program and its usual client.
struct Kind {
    name: &'static str,
    /// A client that has the service say [`INSIDE`].
    client: fn(&Door<'_>) -> Command,
    /// Arguments that do the same, for the reported `connect` command in a shell.
    words: &'static str,
    /// The variable from which the client takes a password.
    password: &'static str,
}

const POSTGRESQL: Kind = Kind {
    name: "postgresql",
    client: psql,
    words: "-Atc \"select 'in' || 'side'\"",
    password: "PGPASSWORD",
};
const MARIADB: Kind = Kind {
    name: "mariadb",
    client: mariadb,
    words: "-Ne \"select concat('in', 'side')\"",
    password: "MYSQL_PWD",
};
const REDIS: Kind = Kind {
    name: "redis",
    client: redis_cli,
    words: "ECHO inside",
    password: "REDISCLI_AUTH",
};

/// Has the server run a program, which then runs as whoever started the server.
fn psql(door: &Door<'_>) -> Command {
    let (host, port) = match door {
        Door::Socket(path) => {
            let name = path.file_name().unwrap().to_str().unwrap();
            let port = name.strip_prefix(".s.PGSQL.").unwrap();
            (
                path.parent().unwrap().display().to_string(),
                port.to_owned(),
            )
        }
        Door::Address(address) => (address.ip().to_string(), address.port().to_string()),
    };
    let mut psql = Command::new("psql");
    psql.args(["-w", "-h", &host, "-p", &port, "-U", "linerate", "-At"]);
    psql.args(["-c", "create temp table said (line text)"]);
    psql.args(["-c", "copy said from program 'echo inside'"]);
    psql.args(["-c", "select line from said", "postgres"]);
    psql
}

fn mariadb(door: &Door<'_>) -> Command {
    let mut mariadb = Command::new("mariadb");
    mariadb.args(["--no-defaults", "-u", "root"]);
    match door {
        Door::Socket(path) => mariadb.arg("-S").arg(path),
        Door::Address(address) => {
            mariadb.args(["--protocol=tcp", "-h", &address.ip().to_string()]);
            mariadb.args(["-P", &address.port().to_string()])
        }
    };
    mariadb.args(["-Ne", "select concat('in', 'side')"]);
    mariadb
}

fn redis_cli(door: &Door<'_>) -> Command {
    let mut redis_cli = Command::new("redis-cli");
    match door {
        Door::Socket(path) => redis_cli.arg("-s").arg(path),
        Door::Address(address) => {
            redis_cli.args(["-h", &address.ip().to_string()]);
            redis_cli.args(["-p", &address.port().to_string()])
        }
    };
    redis_cli.args(["ECHO", INSIDE]);
    redis_cli
}

/// The doors that are reported to whoever started the service.
fn doors<'a>(started: &'a Started<'_>) -> Vec<Door<'a>> {
    let socket = started.text("socket").map(Path::new).map(Door::Socket);
    let address = started.text("address");
    let address = address.map(|address| Door::Address(address.parse().unwrap()));
    address.into_iter().chain(socket).collect()
}

/// Asserts that a service without a requested address has none, nor a port of its own choice.
fn assert_listens_on_its_socket_alone(started: &Started<'_>) {
    assert!(started.text("address").is_none(), "{}", started.ready);
    for process in started.processes() {
        assert_eq!(machine::targets::addresses_of(process), []);
    }
}

/// Asserts that a stranger is refused without the password, with another, and on the socket even
/// with the right one.
fn assert_no_stranger_comes_in(kind: &Kind, started: &Started<'_>) {
    for door in doors(started) {
        let attempt = |password: Option<&str>| {
            let mut client = (kind.client)(&door);
            client.envs(password.map(|password| (kind.password, password)));
            let said = all_said(as_user(STRANGER, &mut client));
            assert!(!said.contains(&format!("{INSIDE}\n")), "{said}");
            assert!(!said.is_empty());
        };
        attempt(None);
        attempt(Some("0123456789abcdef0123456789abcdef"));
        if matches!(door, Door::Socket(_)) {
            attempt(Some(&started.password()));
        }
    }
}

fn assert_owner_comes_in(kind: &Kind, started: &Started<'_>) {
    for door in doors(started) {
        let said = all_said((kind.client)(&door).env(kind.password, started.password()));
        assert_says(&said, &format!("{INSIDE}\n"));
    }
    let command = started.text("connect").expect("a command is told");
    let line = format!("{command} {}", kind.words);
    let said = all_said(Command::new("sh").args(["-c", &line]));
    assert!(said.contains(&format!("{INSIDE}\n")), "{line}: {said}");
}

fn keeps_strangers_out(kind: &Kind) {
    let lab = Lab::new(&format!("strangers-{}", kind.name));
    for asked in [&[][..], &["--address", "127.0.0.1"]] {
        let started = lab.start(kind.name, asked);
        assert_no_stranger_comes_in(kind, &started);
        assert_owner_comes_in(kind, &started);
        assert_password_is_private(&lab, &started);
        if asked.is_empty() {
            assert_listens_on_its_socket_alone(&started);
        } else {
            assert!(started.text("address").is_some());
        }
    }
}

#[test]
fn nobody_else_runs_programs_by_a_postgresql_of_ours() {
    crate::common::needs_root!();
    keeps_strangers_out(&POSTGRESQL);
}

#[test]
fn nobody_else_is_root_of_a_mariadb_of_ours() {
    crate::common::needs_root!();
    keeps_strangers_out(&MARIADB);
}

#[test]
fn nobody_else_commands_a_redis_of_ours() {
    crate::common::needs_root!();
    keeps_strangers_out(&REDIS);
}

/// What a memcached answers to these bytes, before it waits for more.
fn memcached_says(stream: impl Into<OwnedFd>, sent: &str) -> String {
    let mut stream = TcpStream::from(stream.into());
    write!(stream, "{sent}quit\r\n").unwrap();
    // It does not close the connection of a client that it does not know: so we do.
    stream.shutdown(Shutdown::Write).unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    said
}

/// The first words of a connection, with this password.
fn introduction(password: &str) -> String {
    format!("set user 0 0 41\r\nlinerate {password}\r\n")
}

#[test]
fn nobody_else_commands_a_memcached_of_ours() {
    crate::common::needs_root!();
    let lab = Lab::new("strangers-memcached");
    {
        let by_address = lab.start("memcached", &["--address", "127.0.0.1"]);
        let connect = || {
            let stream = TcpStream::connect(by_address.text("address").unwrap()).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream
        };
        for first in [String::new(), introduction(&"0".repeat(32))] {
            let said = memcached_says(connect(), &format!("{first}version\r\nstats\r\n"));
            assert!(
                !said.contains("VERSION") && !said.contains("STAT"),
                "{said}"
            );
            assert_says(&said, "CLIENT_ERROR");
        }
        let right = introduction(&by_address.password()) + "version\r\n";
        let said = memcached_says(connect(), &right);
        assert_says(&said, "VERSION");
    }
    let by_socket = lab.start("memcached", &[]);
    let socket = by_socket.text("socket").unwrap();
    let mut curl = Command::new("curl");
    curl.args([
        "-sS",
        "--max-time",
        "20",
        "--unix-socket",
        socket,
        "http://x/",
    ]);
    let said = all_said(as_user(STRANGER, &mut curl));
    assert!(
        said.contains("Could not connect") || said.contains("Couldn't connect"),
        "{said}"
    );
    let right = introduction(&by_socket.password()) + "version\r\n";
    let said = memcached_says(UnixStream::connect(socket).unwrap(), &right);
    assert_says(&said, "VERSION");
    assert_listens_on_its_socket_alone(&by_socket);
    assert_password_is_private(&lab, &by_socket);
}

/// A service that never listens, so that another process can take its port.
const LATE: &str = r#"
format = 1
name = "late"
title = "Late"
protocol = "redis"
[find]
programs = ["sh"]
version_arguments = ["-c", "echo v1"]
version_pattern = "v{version}"
home = "https://example.org/"
[find.install]
[files]
"late.sh" = "touch LAB/tmp/started; echo '{password}' '{port}' > /dev/null; exec sleep 600"
[start]
arguments = ["{dir}/late.sh"]
[ready]
when = { exchange = { send = "AUTH {password}\\r\\n", expect = "+OK" } }
within_ms = 2000
[stop]
signal = "SIGTERM"
grace_ms = 1000
"#;

#[test]
fn whoever_takes_the_port_of_a_service_before_it_does_is_not_told_its_password() {
    let lab = Lab::new("strangers-port");
    let folder = lab.0.path().to_owned();
    lab.write_service("late", &LATE.replace("LAB", &folder.display().to_string()));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut start = lab.linerate(&["service", "start", "late", "--trust", "--address"]);
    start.args(["127.0.0.1", "--port", &address.port().to_string()]);
    let starting = start.stderr(Stdio::piped()).spawn().unwrap();
    let started = folder.join("tmp/started");
    assert!(sys::clock::wait_until(PATIENCE, || started.exists()));
    let stranger = TcpListener::bind(address).unwrap();
    let refused = starting.wait_with_output().unwrap();
    let said = errors(&refused);
    stranger.set_nonblocking(true).unwrap();
    let mut received = String::new();
    while let Ok((mut client, _)) = stranger.accept() {
        client.read_to_string(&mut received).unwrap();
    }
    assert_eq!(received, "");
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert_says(&said, &format!("it does not listen on {address}"));
}
