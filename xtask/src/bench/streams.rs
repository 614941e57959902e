//! A lap of streams: both ends started, and what they cost and brought.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// For a server to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// `lap stream PROGRAM SHAPE LINERATE`: the CPU time of both processes per GB received, and Gbit/s.
pub(super) fn lap(program: &str, shape: &str, linerate: &str) -> anyhow::Result<Value> {
    let port = TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port()
        .to_string();
    let shape: &[&str] = match shape {
        "1" => &[],
        "8" => &["-P", "8"],
        "64b" => &["-u", "-b", "0", "-l", "64"],
        _ => bail!("`{shape}` is nothing to send"),
    };
    let address = format!("127.0.0.1:{port}");
    let (server, client) = match program {
        "iperf3" => (
            vec!["iperf3", "-s", "-1", "-p", &port],
            vec!["iperf3", "-c", "127.0.0.1", "-p", &port, "-J", "-t", "1"],
        ),
        _ => (
            vec![linerate, "stream", "--listen", &port],
            vec![
                linerate,
                "stream",
                "-q",
                &address,
                "--iperf3-json",
                "-t",
                "1",
            ],
        ),
    };
    let by_copy: &[&str] = match program {
        "stream-copy" => &["--receive", "copy"],
        _ => &[],
    };
    let server = Ended(Some(start(&server)?));
    ensure!(
        sys::clock::wait_until(PATIENCE, || listens(&port)),
        "{program} does not listen"
    );
    let mut client = start(&[&client[..], shape, by_copy].concat())?;
    let said = std::io::read_to_string(client.stdout.take().context("its output")?)?;
    let client_ns = sys::usage::wait(client)?.cpu_ns();
    let server_ns = server.cpu_ns()?;
    let said: Value = serde_json::from_str(&said)?;
    let received = &said["end"]["sum_received"];
    let number = |name: &str| {
        received[name]
            .as_f64()
            .with_context(|| format!("{program} said {said}"))
    };
    Ok(json!({
        "ends": (client_ns + server_ns) as f64 / number("bytes")?,
        "rate": number("bits_per_second")? / 1e9,
    }))
}

fn start(words: &[&str]) -> anyhow::Result<Child> {
    let (program, arguments) = words.split_first().context("no program is given")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command.spawn().with_context(|| (*program).to_owned())
}

/// Asked of the kernel: a connection would be a test's.
fn listens(port: &str) -> bool {
    let port: u16 = port.parse().unwrap_or(0);
    let hex = format!(":{port:04X} ");
    let is_it = |line: &str| line.contains(&hex) && line.contains(" 0A ");
    let lists = ["/proc/net/tcp", "/proc/net/tcp6"].map(std::fs::read_to_string);
    lists
        .into_iter()
        .flatten()
        .any(|list| list.lines().any(is_it))
}

/// A server that ends with the lap.
pub(super) struct Ended(pub(super) Option<Child>);

impl Ended {
    fn cpu_ns(mut self) -> anyhow::Result<u64> {
        let child = self.0.take().context("it has ended")?;
        // One that ends by itself may have.
        let _ = sys::process::terminate(&child);
        Ok(sys::usage::wait(child)?.cpu_ns())
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
