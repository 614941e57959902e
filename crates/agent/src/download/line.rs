//! The line between the two ends of a download on two machines: each ask of the end that downloads,
//! and each answer of the serving end, is one line of JSON.

use std::io::{self, BufReader, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use foreign::{clipped, shown};
use model::failure::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sys::epoll::{Epoll, Events, Interest};

use super::serving::{ServedFile, Serving, ServingEnd, ServingReading};
use crate::held_line::HeldLine;
use crate::role::{heard, next, say};

/// How long either end waits for a message that is due.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the first answer may take: the server may have to be compiled first.
const STARTING: Duration = Duration::from_secs(600);
/// The longest time between two asks: that of settling or of the window.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// Time between two checks whether to stop, ns.
const LOOK_NS: u64 = 1_000_000_000;
/// By how much a reported window, or its CPU time, may exceed what our clock allows, ns.
const MOST_LATE_NS: u64 = 2_000_000_000;
/// How many letters of the other end's words are shown.
const SHOWN_LETTERS: usize = 300;
/// Upper bounds for what the other end reports: more CPUs than a machine has, and more bytes than a
/// path takes.
const MOST_CPUS: usize = 8_192;
const MOST_PATH_BYTES: usize = 1_024;
/// An upper bound for counts: more bytes than a link of 1 Tbit/s carries in an hour.
const MOST_BYTES: u64 = 1 << 49;

/// What the downloading end asks of the serving end.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum EndAsk {
    /// The first ask: what is served. Up to `patience_ms` may pass between two later asks.
    Served {
        patience_ms: u64,
    },
    Connections {
        with_bytes: u64,
    },
    Open,
    Close,
    Reading,
}

/// Errors of `accept` that mean only that this client has gone.
const GONE: [ErrorKind; 3] = [
    ErrorKind::ConnectionAborted,
    ErrorKind::WouldBlock,
    ErrorKind::Interrupted,
];

/// Errors that mean that the line has ended.
const ENDED: [ErrorKind; 3] = [
    ErrorKind::UnexpectedEof,
    ErrorKind::ConnectionReset,
    ErrorKind::BrokenPipe,
];

type Said<T> = Result<T, Failure>;

/// Serves downloading ends one after another until a signal asks to stop. Calls `tell` with how
/// it went for each.
///
/// # Errors
/// When no further connection can be accepted, or the server of the file has ended.
pub fn serve(end: &mut ServingEnd, listener: &TcpListener, tell: &dyn Fn(&str)) -> io::Result<()> {
    let ready = Epoll::new()?;
    ready.add(listener.as_fd(), 0, Interest::READ)?;
    let mut events = Events::with_capacity(1);
    while sys::stop::heard().is_none() {
        ready.wait(&mut events, Some(LOOK_NS))?;
        if events.iter().next().is_none() {
            continue;
        }
        let (line, client) = match listener.accept() {
            // The client has gone in the meantime.
            Err(error) if GONE.contains(&error.kind()) => continue,
            met => met?,
        };
        end.check().map_err(|gone| io::Error::other(gone.what))?;
        let came_to = match answer(end, line) {
            Ok(came_to) => came_to.to_owned(),
            // The error may quote what the client sent.
            Err(error) => plain(&error.to_string()),
        };
        tell(&format!("{client}: {came_to}"));
    }
    Ok(())
}

/// Answers the asks of one client. Returns what came of it, in words.
fn answer(end: &mut ServingEnd, line: TcpStream) -> io::Result<&'static str> {
    line.set_nodelay(true)?;
    line.set_write_timeout(Some(PATIENCE))?;
    let mut output = line.try_clone()?;
    let mut input = BufReader::new(HeldLine::new(line.try_clone()?, PATIENCE)?);
    let EndAsk::Served { patience_ms } = heard(&mut input)? else {
        return Err(ErrorKind::InvalidData.into());
    };
    say(&mut output, &Said::Ok(end.served()))?;
    // The old buffer is empty: the client sends no second ask before the first is answered.
    let patience = Duration::from_millis(patience_ms).min(LONGEST) + PATIENCE;
    let mut input = BufReader::new(HeldLine::new(line, patience)?);
    let mut came_to = "left before a window had ended";
    while let Some(ask) = next(&mut input)? {
        match ask {
            EndAsk::Served { .. } => say(&mut output, &Said::Ok(end.served()))?,
            EndAsk::Connections { with_bytes } => {
                say(&mut output, &end.connections_with(with_bytes))?;
            }
            EndAsk::Open => say(&mut output, &end.open())?,
            EndAsk::Close => say(&mut output, &end.close())?,
            EndAsk::Reading => {
                let reading = end.reading();
                came_to = match reading {
                    Ok(_) => "served",
                    Err(_) => "got no figures, and was told why",
                };
                say(&mut output, &reading)?;
            }
        }
    }
    Ok(came_to)
}

/// A serving end on another machine, or in another process of this one.
pub struct FarServing {
    served: ServedFile,
    /// Where the serving end listens.
    at: SocketAddr,
    /// Where its server listens.
    address: SocketAddr,
    orders: TcpStream,
    tells: BufReader<HeldLine<TcpStream>>,
    opened_ns: u64,
}

impl FarServing {
    /// Connects to a serving end. Up to `patience` may pass between two asks.
    ///
    /// # Errors
    /// When nobody listens there, or another program does.
    pub fn reach(at: SocketAddr, patience: Duration) -> Result<Self, Failure> {
        let connected = TcpStream::connect_timeout(&at, PATIENCE).and_then(|line| {
            line.set_nodelay(true)?;
            line.set_write_timeout(Some(PATIENCE))?;
            let tells = HeldLine::new(line.try_clone()?, STARTING)?;
            Ok((line, BufReader::new(tells)))
        });
        let (mut orders, mut tells) = connected.map_err(|error| failure(at, &error.to_string()))?;
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let served = EndAsk::Served { patience_ms };
        let served: ServedFile = ask(at, (&mut orders, &mut tells), served)?;
        // The old buffer is empty: the other end sends no second answer before the next ask.
        let held = orders
            .try_clone()
            .and_then(|line| HeldLine::new(line, PATIENCE));
        let tells = BufReader::new(held.map_err(|error| failure(at, &error.to_string()))?);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.-_".contains(&byte);
        let is_path = served.path.starts_with('/') && served.path.bytes().all(is_plain);
        if served.port == 0 || !is_path || served.path.len() > MOST_PATH_BYTES {
            return Err(failure(at, "it serves nothing that can be asked for"));
        }
        Ok(Self {
            at,
            address: SocketAddr::new(at.ip(), served.port),
            served: ServedFile {
                server_title: plain(&served.server_title),
                server_version: served.server_version.as_deref().map(plain),
                ..served
            },
            orders,
            tells,
            opened_ns: 0,
        })
    }

    fn ask<T: DeserializeOwned>(&mut self, what: EndAsk) -> Result<T, Failure> {
        ask(self.at, (&mut self.orders, &mut self.tells), what)
    }
}

impl Serving for FarServing {
    fn served(&self) -> &ServedFile {
        &self.served
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn connections_with(&mut self, bytes: u64) -> Result<usize, Failure> {
        self.ask(EndAsk::Connections { with_bytes: bytes })
    }

    fn open(&mut self) -> Result<(), Failure> {
        self.opened_ns = sys::clock::monotonic_ns();
        self.ask(EndAsk::Open)
    }

    fn close(&mut self) -> Result<bool, Failure> {
        self.ask(EndAsk::Close)
    }

    fn reading(&mut self) -> Result<ServingReading, Failure> {
        let reading: ServingReading = self.ask(EndAsk::Reading)?;
        let passed_ns = sys::clock::monotonic_ns() - self.opened_ns;
        match reading.can_be(passed_ns) {
            true => Ok(reading),
            false => Err(Failure {
                what: format!("the serving end at {} reports impossible figures", self.at),
                advice: "use this version on both machines, and give a longer --duration"
                    .to_owned(),
            }),
        }
    }
}

impl ServingReading {
    /// Whether these figures are possible for a window that opened `passed_ns` ago.
    fn can_be(&self, passed_ns: u64) -> bool {
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        let cpus = self.side.cpus.len();
        let sending = &self.sending;
        let of_connections = [
            sending.connections,
            sending.acked_bytes,
            sending.busy_us,
            sending.rwnd_limited_us,
            sending.sndbuf_limited_us,
        ];
        let most_ns = self.window_ns.saturating_mul(cpus.max(1) as u64);
        (1..=passed_ns + MOST_LATE_NS).contains(&self.window_ns)
            && cpus <= MOST_CPUS
            && self.side.cpu_ns <= most_ns.saturating_add(MOST_LATE_NS)
            && self.side.cpus.iter().all(|cpu| *cpu < MOST_CPUS)
            && of_connections.iter().all(|count| *count <= MOST_BYTES)
            && is_share(self.side.busy_share)
            && self.others_share.is_none_or(is_share)
            && self
                .dram_bytes
                .is_none_or(|bytes| (0.0..1e18).contains(&bytes))
    }
}

fn ask<T: DeserializeOwned>(
    at: SocketAddr,
    (orders, tells): (&mut TcpStream, &mut BufReader<HeldLine<TcpStream>>),
    what: EndAsk,
) -> Result<T, Failure> {
    let said: io::Result<Said<T>> = say(orders, &what).and_then(|()| heard(tells));
    match said {
        Ok(said) => said.map_err(|failure| Failure {
            what: plain(&failure.what),
            advice: plain(&failure.advice),
        }),
        Err(error) if ENDED.contains(&error.kind()) => {
            Err(failure(at, "it has ended, or says nothing"))
        }
        Err(error) => Err(failure(at, &error.to_string())),
    }
}

/// Makes words that may come from another machine fit to be shown: short, escaped and on one line.
fn plain(words: &str) -> String {
    shown(&clipped(&words.replace('\n', " "), SHOWN_LETTERS)).to_string()
}

fn failure(at: SocketAddr, what: &str) -> Failure {
    Failure {
        what: format!("the serving end at {at}: {}", plain(what)),
        advice: "start `linerate download FILE --listen ADDRESS:PORT` there, with this version"
            .to_owned(),
    }
}
