//! A link made by `linerate link`, with a capture at each of its outer ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use sys::namespace::NetworkNamespace;
use sys::packet::{Frames, Receiver};

use super::sending::{ETHERNET_HEADER_BYTES, PORT, Stream, number};

/// Name of the network device on both hosts.
const DEVICE: &str = "lr-wire";
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Bytes that are captured of each frame: enough to hold its number.
const KEPT_BYTES: usize = 64;
/// Time after the last packet was sent within which all must have arrived.
const DRAIN: Duration = Duration::from_millis(300);

/// A link in service, and the processes on its hosts.
pub(super) struct Ends {
    linerate: Child,
    /// Standard input of the client's command; closing it ends the command and so the link.
    command: Option<ChildStdin>,
    client: NetworkNamespace,
    server: NetworkNamespace,
}

/// When a packet was seen at an end, ns, and the bytes of its Ethernet frame.
#[derive(Clone, Copy)]
pub(super) struct Sighting {
    pub(super) number: u64,
    pub(super) wall_ns: u64,
    pub(super) bytes: u32,
}

/// What the captures at both ends saw.
pub(super) struct SeenAtEnds {
    pub(super) sent: Vec<Sighting>,
    pub(super) came: Vec<Sighting>,
    /// Frames that the captures themselves missed.
    pub(super) missed: u64,
    /// CPU time that the hypervisor gave to other guests during the stream, ms.
    pub(super) stolen_ms: u64,
    /// The report of `linerate link` about its own work.
    pub(super) own_words: serde_json::Value,
}

impl Ends {
    pub(super) fn up(linerate: &Path, shape: &[&str]) -> anyhow::Result<Self> {
        let mut linerate = Command::new(linerate)
            .args(["link", "--json", "--server-wait", "0s"])
            .args(shape)
            .args(["--server", "echo server $$; exec sleep 600", "--"])
            .args(["sh", "-c", "echo client $$; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let command = linerate.stdin.take();
        let mut lines = BufReader::new(linerate.stderr.take().context("standard error")?).lines();
        let (mut client, mut server) = (None, None);
        while client.is_none() || server.is_none() {
            let line = lines.next().context("linerate link has ended")??;
            match line.split_once(' ') {
                Some(("client", pid)) => client = Some(NetworkNamespace::of(pid.parse()?)?),
                Some(("server", pid)) => server = Some(NetworkNamespace::of(pid.parse()?)?),
                _ => anyhow::bail!("linerate link says: {line}"),
            }
        }
        Ok(Self {
            linerate,
            command,
            client: client.context("the client")?,
            server: server.context("the server")?,
        })
    }

    /// Sends a stream through the link and returns what was seen of it at both ends.
    pub(super) fn carry(mut self, stream: &Stream) -> anyhow::Result<SeenAtEnds> {
        let room = usize::try_from(stream.packets())? + 4096;
        let open = || Receiver::open(DEVICE, Frames::All, room, KEPT_BYTES);
        let (mut sent, ()) = on(&self.client, || Ok((open()?, ())))?;
        let absorb = || UdpSocket::bind((SERVER, PORT));
        let (mut came, _absorbing) = on(&self.server, || Ok((open()?, absorb()?)))?;
        let stolen_before = stolen_ticks()?;
        on(&self.client, || stream.send_to(SERVER))?;
        pause(DRAIN);
        Ok(SeenAtEnds {
            stolen_ms: (stolen_ticks()? - stolen_before) * 10,
            missed: sent.missed()? + came.missed()?,
            sent: sightings(&mut sent, room),
            came: sightings(&mut came, room),
            own_words: self.finish()?,
        })
    }

    fn finish(&mut self) -> anyhow::Result<serde_json::Value> {
        drop(self.command.take());
        let mut words = String::new();
        let output = self.linerate.stdout.as_mut();
        output
            .context("standard output")?
            .read_to_string(&mut words)?;
        ensure!(
            self.linerate.wait()?.success(),
            "linerate link has failed: {words}"
        );
        Ok(serde_json::from_str(&words)?)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        drop(self.command.take());
        let _ = sys::process::terminate(&self.linerate);
        let _ = self.linerate.wait();
    }
}

/// Runs `work` on a host, in a separate thread: only that thread enters the host's namespace.
fn on<T: Send>(
    host: &NetworkNamespace,
    work: impl FnOnce() -> std::io::Result<T> + Send,
) -> anyhow::Result<T> {
    let done = std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            host.enter()?;
            work()
        });
        there.join()
    });
    let done = done.map_err(|_| anyhow::anyhow!("a thread has panicked"))?;
    Ok(done?)
}

fn sightings(receiver: &mut Receiver, most: usize) -> Vec<Sighting> {
    let mut seen = Vec::with_capacity(most);
    receiver.take(most, |arrival| {
        let packet = arrival.frame.get(ETHERNET_HEADER_BYTES..);
        let number = packet.and_then(number);
        seen.extend(number.map(|number| Sighting {
            number,
            wall_ns: arrival.wall_ns,
            bytes: arrival.bytes,
        }));
    });
    seen
}

fn pause(time: Duration) {
    sys::clock::wait_until(time, || false);
}

/// CPU use over half a second, in per cent of one CPU.
pub(super) fn other_work() -> anyhow::Result<f64> {
    let before = busy_ticks()?;
    pause(Duration::from_millis(500));
    Ok((busy_ticks()? - before) as f64 / 0.5)
}

/// Hundredths of seconds that the CPUs worked or were stolen: all but idle and waiting.
fn busy_ticks() -> anyhow::Result<u64> {
    let ticks = cpu_ticks()?;
    Ok(ticks.iter().sum::<u64>() - ticks[3] - ticks[4])
}

/// Hundredths of seconds that the hypervisor gave to other guests while a CPU of ours had work.
fn stolen_ticks() -> anyhow::Result<u64> {
    Ok(cpu_ticks()?[7])
}

/// The first eight figures of the first line of /proc/stat (proc(5)), hundredths of seconds.
fn cpu_ticks() -> anyhow::Result<[u64; 8]> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().unwrap_or_default();
    let mut words = line.split_whitespace().skip(1);
    Ok(std::array::from_fn(|_| {
        words.next().and_then(|word| word.parse().ok()).unwrap_or(0)
    }))
}
