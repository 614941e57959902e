//! The end that waits for clients, ours and iperf3's, several at once.

use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use sys::clock;
use sys::epoll::{Epoll, Events, Interest};
use wire::iperf3::{
    COOKIE_BYTES, Cookie, MOST_PARAMETER_BYTES, MOST_RESULT_BYTES, Parameters, Results, State,
    stream_id,
};

use super::carrying::Carrying;
use super::client::congestion;
use super::control::{Control, PATIENCE, not_taken};
use super::door::{Doors, UdpDoor};
use super::echo::Answering;
use super::flow::{Flow, FlowSocket};
use super::manner::Manner;
use super::session::{self, Ran};
use super::{Carrier, ReceiveBy, SendBy, StreamError, Way};

/// Connections whose cookie is awaited, and tests, at once.
const MOST_AT_ONCE: u32 = 256;
/// A client that is late to end its test is given so much more.
const GRACE: Duration = Duration::from_secs(30);
/// What a client has sent when it ends may still be on its way, where it counts bytes.
const ARRIVAL: Duration = Duration::from_secs(2);
/// Between two looks at whether it is over.
const LOOK_NS: u64 = 50_000_000;
const USUAL_INTERVAL: Duration = Duration::from_secs(1);
/// `IESETCONGESTION`, `IERECVPARAMS` and `IEMAXSERVERTESTDURATIONEXCEEDED`, or `IEINITTEST` for all else.
const NO_CONGESTION: u32 = 134;
const TOO_LONG: u32 = 37;
const NOT_READY: u32 = 101;

/// How a server goes about it.
#[derive(Clone, Debug)]
pub struct StreamServing {
    /// How it receives from clients that do not say how.
    pub receive: ReceiveBy,
    /// No test may take longer.
    pub longest: Duration,
    /// Tests until it ends by itself; `None` for as long as it is let.
    pub tests: Option<u32>,
    /// Clients that are not ours are refused.
    pub ours_only: bool,
}

/// A test that is over, for whoever runs the server.
#[derive(Debug)]
pub struct StreamServed {
    pub client: SocketAddr,
    /// Bytes received and sent, and the time, if it came so far.
    pub came_to: Result<([u64; 2], Duration), StreamError>,
    /// Tests that ran at the same moment, this one included.
    pub at_once: u32,
}

/// It listens, and serves once it is told to.
#[derive(Debug)]
pub struct StreamServer {
    listener: TcpListener,
    address: SocketAddr,
    serving: StreamServing,
    doors: Doors,
    datagrams: Mutex<()>,
    /// Connections that a thread is busy with, and tests.
    busy: AtomicU32,
    tests: AtomicU32,
    ended: AtomicU32,
}

impl StreamServer {
    /// Listens at an address; port 0 is any.
    ///
    /// # Errors
    /// `EADDRINUSE` when the port is taken, `EADDRNOTAVAIL` for an address that this machine has not.
    pub fn listen(address: SocketAddr, serving: StreamServing) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            serving,
            doors: Doors::default(),
            datagrams: Mutex::new(()),
            busy: AtomicU32::new(0),
            tests: AtomicU32::new(0),
            ended: AtomicU32::new(0),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it has served as many tests as it should, or is told to stop; tells each that is over.
    ///
    /// # Errors
    /// What hinders it from accepting at all.
    pub fn serve(&self, told: &(dyn Fn(&StreamServed) + Sync)) -> io::Result<()> {
        let epoll = Epoll::new()?;
        epoll.add(self.listener.as_fd(), 0, Interest::READ)?;
        let mut events = Events::with_capacity(1);
        let mut order = 0;
        thread::scope(|scope| {
            while !self.is_over() {
                epoll.wait(&mut events, Some(LOOK_NS))?;
                // What went before it was accepted is none.
                let Ok((stream, client)) = self.listener.accept() else {
                    continue;
                };
                order += 1;
                // More than any honest clients have: it is closed.
                if self.busy.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
                    self.busy.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                scope.spawn(move || {
                    self.meet(order, stream, client, told);
                    self.busy.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(())
        })
    }

    fn is_over(&self) -> bool {
        let ended = self.ended.load(Ordering::Relaxed);
        sys::stop::heard().is_some() || self.serving.tests.is_some_and(|tests| ended >= tests)
    }

    /// A connection is a stream of a test that is there, or a new test.
    fn meet(
        &self,
        order: u64,
        mut stream: TcpStream,
        client: SocketAddr,
        told: &(dyn Fn(&StreamServed) + Sync),
    ) {
        let mut cookie: Cookie = [0; COOKIE_BYTES];
        let read = stream.set_nonblocking(false);
        let read = read.and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        // Somebody who says nothing has no test that could fail.
        if read.and_then(|()| stream.read_exact(&mut cookie)).is_err() {
            return;
        }
        let Some((_, stream)) = self.doors.lead(&cookie, (order, stream)) else {
            return;
        };
        let at_once = self.tests.fetch_add(1, Ordering::Relaxed) + 1;
        let came_to = Control::new(stream)
            .map_err(|source| StreamError::Line {
                during: "the test begins",
                source,
            })
            .and_then(|control| Session::new(self, control, cookie, client).run());
        self.tests.fetch_sub(1, Ordering::Relaxed);
        told(&StreamServed {
            client,
            came_to,
            at_once,
        });
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// The turn to take streams of UDP.
    fn turn(&self) -> Result<MutexGuard<'_, ()>, StreamError> {
        let mut turn = None;
        clock::wait_until(PATIENCE / 2, || {
            turn = match self.datagrams.try_lock() {
                Ok(turn) => Some(turn),
                Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            turn.is_some()
        });
        turn.ok_or(StreamError::Busy)
    }
}

/// A test of a client.
struct Session<'a> {
    server: &'a StreamServer,
    control: Control,
    cookie: Cookie,
    client: SocketAddr,
}

/// The streams of a test, and what answers small datagrams beside them.
struct Opened {
    flows: Vec<Flow>,
    /// Until it is dropped.
    _echo: Option<Answering>,
}

impl<'a> Session<'a> {
    fn new(server: &'a StreamServer, control: Control, cookie: Cookie, client: SocketAddr) -> Self {
        Self {
            server,
            control,
            cookie,
            client,
        }
    }

    fn run(mut self) -> Result<([u64; 2], Duration), StreamError> {
        let asked = self.asked()?;
        let manner = self.manner(&asked);
        let opened = match self.open(&asked, &manner) {
            Ok(opened) => opened,
            Err(error) => return Err(self.refuse(error)),
        };
        self.control.say(State::TestStart, "the test begins")?;
        self.control.say(State::TestRunning, "the test begins")?;
        let ran = self.carry(&asked, &manner, &opened.flows)?;
        self.exchange(&asked, &opened.flows, &ran)?;
        let sum = |sends: bool| {
            let of = opened.flows.iter().filter(|flow| flow.sends == sends);
            of.map(|flow| flow.count.bytes()).sum()
        };
        Ok(([sum(false), sum(true)], Duration::from_nanos(ran.window_ns)))
    }

    /// What the client wants, if it can be done here.
    fn asked(&mut self) -> Result<Parameters, StreamError> {
        let during = "the parameters are due";
        self.control.say(State::ParameterExchange, during)?;
        let json = self.control.json(MOST_PARAMETER_BYTES, during)?;
        let asked = Parameters::read(&json).map_err(not_taken(during));
        let serving = &self.server.serving;
        match asked {
            Ok(asked) if Duration::from_secs(asked.time) > serving.longest => {
                let words = "longer than the server allows";
                Err(self.refuse(StreamError::Refused {
                    code: TOO_LONG,
                    words,
                }))
            }
            Ok(asked) if serving.ours_only && asked.linerate.is_none() => {
                let words = "it takes clients of iperf3 with --iperf3 alone";
                Err(self.refuse(StreamError::Refused { code: 142, words }))
            }
            Ok(asked) => Ok(asked),
            Err(error) => Err(self.refuse(error)),
        }
    }

    /// Tells the client why not, in a way that iperf3 knows.
    fn refuse(&mut self, error: StreamError) -> StreamError {
        let code = match &error {
            StreamError::Busy => {
                let _ = self.control.say(State::AccessDenied, "it is refused");
                return error;
            }
            StreamError::Refused { code, .. } => *code,
            StreamError::Message { source, .. } => source.code(),
            StreamError::Option { option, .. } if option.contains("congestion") => NO_CONGESTION,
            _ => NOT_READY,
        };
        let numbers = [code.to_be_bytes(), 0_u32.to_be_bytes()].concat();
        let message = [&[State::ServerError.byte()][..], &numbers].concat();
        let _ = self.control.write(&message, "it is refused");
        error
    }

    fn manner(&self, asked: &Parameters) -> Manner {
        let own = asked.linerate.as_ref();
        let named = own.and_then(|own| SendBy::ALL.into_iter().find(|by| by.name() == own.send));
        let by_zerocopy = if asked.zerocopy == 0 {
            SendBy::Copy
        } else {
            SendBy::Sendfile
        };
        let receive = own.map_or(self.server.serving.receive, |own| match own.discard {
            true => ReceiveBy::Discard,
            false => ReceiveBy::Copy,
        });
        Manner::of(asked, named.unwrap_or(by_zerocopy), receive)
    }

    fn open(&mut self, asked: &Parameters, manner: &Manner) -> Result<Opened, StreamError> {
        let has_echo = asked.linerate.as_ref().is_some_and(|own| own.echo);
        let is_udp = manner.carrier == Carrier::Udp;
        let unopened = |source| StreamError::Open { number: 0, source };
        // Held as long as streams of UDP come.
        let turn = (is_udp || has_echo)
            .then(|| self.server.turn())
            .transpose()?;
        let door = turn.as_ref().map(|_| UdpDoor::open(self.server.address));
        let mut door = door.transpose().map_err(unopened)?;
        let arrivals = self.server.doors.wait_for(self.cookie);
        self.control
            .say(State::CreateStreams, "the streams are due")?;
        let mut next = || match &mut door {
            Some(door) => door.accept(self.client.ip()),
            None => Err(StreamError::Busy),
        };
        let echo = has_echo.then(&mut next).transpose()?;
        let echo = echo.map(Answering::begin).transpose().map_err(unopened)?;
        let ways = ways(asked);
        let sockets: Vec<FlowSocket> = match manner.carrier {
            Carrier::Tcp => {
                drop((door, turn));
                let streams = arrivals.take(ways.len())?.into_iter();
                streams.map(FlowSocket::Tcp).collect()
            }
            Carrier::Udp => {
                let streams = ways.iter().map(|_| next().map(FlowSocket::Udp));
                streams.collect::<Result<_, _>>()?
            }
        };
        let places = ways.into_iter().zip(sockets).enumerate();
        let flow = |(place, (way, socket))| {
            match &socket {
                FlowSocket::Tcp(stream) => manner.apply(stream)?,
                FlowSocket::Udp(socket) => manner.apply_to_datagrams(socket.as_fd())?,
            }
            Ok(Flow::new(stream_id(place), way, way == Way::Down, socket))
        };
        let flows = places.map(flow).collect::<Result<_, StreamError>>()?;
        Ok(Opened { flows, _echo: echo })
    }

    fn carry(
        &mut self,
        asked: &Parameters,
        manner: &Manner,
        flows: &[Flow],
    ) -> Result<Ran, StreamError> {
        let longest = match asked.time {
            0 => self.server.serving.longest,
            seconds => Duration::from_secs(seconds + asked.omit) + GRACE,
        };
        // What ends it is the client's word, also where bytes do.
        let carrying = Carrying::new(manner, None);
        let control = &mut self.control;
        let look = |turn, passed| {
            let during = "the test runs";
            if sys::stop::heard().is_some() || passed > longest {
                control.say(State::ServerTerminate, during)?;
                return Err(StreamError::Stopped);
            }
            match control.next(turn, during)? {
                None => Ok(ControlFlow::Continue(())),
                Some(State::TestEnd) => {
                    if asked.num > 0 {
                        wait_for_the_last(flows);
                    }
                    Ok(ControlFlow::Break(()))
                }
                Some(state) => Err(StreamError::OutOfTurn { state, during }),
            }
        };
        let own = asked.linerate.as_ref().filter(|own| own.interval_ms > 0);
        let interval = own.map_or(USUAL_INTERVAL, |own| {
            Duration::from_millis(own.interval_ms.clamp(50, 60_000))
        });
        session::run(flows, &carrying, interval, look, &mut |_| ())
    }

    fn exchange(
        &mut self,
        asked: &Parameters,
        flows: &[Flow],
        ran: &Ran,
    ) -> Result<(), StreamError> {
        let during = "the results are exchanged";
        self.control.say(State::ExchangeResults, during)?;
        let json = self.control.json(MOST_RESULT_BYTES, during)?;
        let ids: Vec<u32> = flows.iter().map(|flow| flow.id).collect();
        Results::read(&json, &ids).map_err(not_taken(during))?;
        let results = ran.results(flows, congestion(flows), asked.linerate.is_some());
        self.control.say_json(&results, during)?;
        self.control.say(State::DisplayResults, during)?;
        // Whoever has what it came for may go without a word.
        let _ = self.control.next(PATIENCE, "it is over");
        Ok(())
    }
}

/// Which way each stream goes, in the order in which a client opens them.
fn ways(asked: &Parameters) -> Vec<Way> {
    let streams = usize::try_from(asked.parallel).unwrap_or(0);
    match (asked.bidirectional, asked.reverse) {
        (true, _) => [vec![Way::Up; streams], vec![Way::Down; streams]].concat(),
        (false, true) => vec![Way::Down; streams],
        (false, false) => vec![Way::Up; streams],
    }
}

/// Until nothing more comes.
fn wait_for_the_last(flows: &[Flow]) {
    let came = || {
        let receiving = flows.iter().filter(|flow| !flow.sends);
        receiving.map(|flow| flow.count.bytes()).sum::<u64>()
    };
    let (mut before, mut since_ns) = (came(), clock::monotonic_ns());
    clock::wait_until(ARRIVAL, || {
        let (now, now_ns) = (came(), clock::monotonic_ns());
        if now != before {
            (before, since_ns) = (now, now_ns);
        }
        now_ns - since_ns > 20_000_000
    });
}
