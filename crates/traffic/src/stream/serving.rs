//! A client's test at the server, from its parameters to the results.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::time::Duration;

use serde::de::IgnoredAny;
use sys::address::Address;
use sys::clock;
use wire::iperf3::{
    Cookie, MOST_CLIENT_RESULT_BYTES, MOST_PARAMETER_BYTES, Parameters, Results, State, stream_id,
};

use super::account::congestion;
use super::carrying::{Carrying, memory_bytes};
use super::control::{Control, PATIENCE, not_taken};
use super::door::{self, UdpDoor};
use super::echo::Answering;
use super::flow::{Flow, FlowSocket};
use super::manner::Manner;
use super::room::TestRoom;
use super::server::StreamServer;
use super::session::{self, Ran};
use super::{Carrier, ReceiveBy, SendBy, StreamError, Way};

/// Extra time for a client that is late to end its test.
const GRACE: Duration = Duration::from_secs(30);
/// Longest time on the way for the last bytes of a client that ends a test by bytes.
const ARRIVAL: Duration = Duration::from_secs(5);
/// After such a silence no more of these bytes are expected, ns.
const SILENCE_NS: u64 = 500_000_000;
const USUAL_INTERVAL: Duration = Duration::from_secs(1);
/// iperf3's errors `IEBUFSIZE`, `IESETCONGESTION`, `IEMAXSERVERTESTDURATIONEXCEEDED`, and
/// `IEINITTEST` for all else.
const NO_BUFFER: u32 = 8;
const NO_CONGESTION: u32 = 134;
const TOO_LONG: u32 = 37;
const NOT_READY: u32 = 101;

/// A client's test at the server.
pub(super) struct Session<'a> {
    server: &'a StreamServer,
    control: Control,
    cookie: Cookie,
    client: Address,
    room: TestRoom<'a>,
}

/// The streams of a test, and the thread that answers small datagrams beside them.
struct Opened {
    flows: Vec<Flow>,
    /// Answers small datagrams until it is dropped.
    _echo: Option<Answering>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        server: &'a StreamServer,
        control: Control,
        cookie: Cookie,
        client: Address,
        room: TestRoom<'a>,
    ) -> Self {
        Self {
            server,
            control,
            cookie,
            client,
            room,
        }
    }

    pub(super) fn run(mut self) -> Result<([u64; 2], Duration), StreamError> {
        let asked = self.asked()?;
        let manner = self.manner(&asked);
        let opened = match self.open(&asked, &manner) {
            Ok(opened) => opened,
            Err(error) => return Err(self.refuse(error)),
        };
        self.control.say(State::TestStart, "the test began")?;
        let ran = self.carry(&asked, &manner, &opened.flows)?;
        self.exchange(&asked, &opened.flows, &ran)?;
        let sum = |sends: bool| {
            let of = opened.flows.iter().filter(|flow| flow.sends == sends);
            of.map(|flow| flow.count.bytes()).sum()
        };
        Ok(([sum(false), sum(true)], Duration::from_nanos(ran.window_ns)))
    }

    /// Reads what the client wants, and refuses what cannot be done here.
    fn asked(&mut self) -> Result<Parameters, StreamError> {
        let during = "the parameters were to be exchanged";
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
                let words = "it accepts clients of iperf3 only with --iperf3";
                Err(self.refuse(StreamError::Refused { code: 142, words }))
            }
            Ok(asked) => Ok(asked),
            Err(error) => Err(self.refuse(error)),
        }
    }

    /// Tells the client why it is refused, by an error that iperf3 knows.
    fn refuse(&mut self, error: StreamError) -> StreamError {
        let code = match &error {
            StreamError::Busy => {
                let _ = self.control.say(State::AccessDenied, "it was refused");
                return error;
            }
            StreamError::Refused { code, .. } => *code,
            StreamError::Message { source, .. } => source.code(),
            StreamError::Option { option, .. } if option.contains("congestion") => NO_CONGESTION,
            StreamError::Option { option, .. } if option.contains("BUF") => NO_BUFFER,
            _ => NOT_READY,
        };
        let numbers = [code.to_be_bytes(), 0_u32.to_be_bytes()].concat();
        let message = [&[State::ServerError.byte()][..], &numbers].concat();
        let _ = self.control.write(&message, "it was refused");
        error
    }

    fn manner(&self, asked: &Parameters) -> Manner {
        let own = asked.linerate.as_ref();
        let named = own.and_then(|own| own.send.parse().ok());
        let by_zerocopy = if asked.zerocopy == 0 {
            SendBy::Copy
        } else {
            SendBy::Sendfile
        };
        let receive = own.map_or(self.server.serving.receive, |own| match own.discard {
            true => ReceiveBy::Discard,
            false => ReceiveBy::Copy,
        });
        Manner::of(asked, named.unwrap_or(by_zerocopy), receive).over(&self.server.address)
    }

    fn open(&mut self, asked: &Parameters, manner: &Manner) -> Result<Opened, StreamError> {
        let has_echo = asked.linerate.as_ref().is_some_and(|own| own.echo);
        let is_udp = manner.carrier == Carrier::Udp;
        let unopened = |source| StreamError::Open { number: 0, source };
        let ways = ways(asked);
        let memory = ways
            .iter()
            .map(|way| memory_bytes(manner, *way == Way::Down));
        if !self
            .room
            .take(ways.len() + usize::from(has_echo), memory.sum())
        {
            return Err(StreamError::Busy);
        }
        // Held while the UDP sockets of the test are opened.
        let turn = (is_udp || has_echo)
            .then(|| self.server.turn())
            .transpose()?;
        let door = turn.as_ref().map(|_| {
            let (address, client) = self.datagram_ends()?;
            let door = UdpDoor::open(address).map_err(unopened)?;
            Ok::<_, StreamError>((door, client))
        });
        let mut door = door.transpose()?;
        let arrivals = match manner.carrier {
            Carrier::Tcp | Carrier::Unix => {
                Some(self.server.doors.wait_for(self.cookie, ways.len()))
            }
            Carrier::Udp => None,
        };
        self.control
            .say(State::CreateStreams, "the streams were to be opened")?;
        let mut next = |before: Option<&UdpSocket>| match &mut door {
            Some((door, client)) => door.accept(*client, before),
            None => Err(StreamError::Busy),
        };
        let echo = has_echo.then(|| next(None)).transpose()?;
        let echo = echo.map(Answering::begin).transpose().map_err(unopened)?;
        let sockets: Vec<FlowSocket> = match arrivals {
            Some(arrivals) => {
                drop((door, turn));
                let streams = door::take(&arrivals, ways.len())?.into_iter();
                streams.map(FlowSocket::Tcp).collect()
            }
            None => {
                let mut streams: Vec<UdpSocket> = Vec::new();
                for _ in &ways {
                    let stream = next(streams.last())?;
                    streams.push(stream);
                }
                streams.into_iter().map(FlowSocket::Udp).collect()
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

    /// The address to which datagrams come, and the client's address. A socket at all addresses
    /// could answer from another address than the one that the client speaks with.
    fn datagram_ends(&self) -> Result<(SocketAddr, IpAddr), StreamError> {
        let Address::Tcp(client) = &self.client else {
            return Err(StreamError::NoDatagrams);
        };
        let server = self.control.socket().local_addr();
        let unopened = |source| StreamError::Open { number: 0, source };
        Ok((server.map_err(unopened)?, client.ip()))
    }

    fn carry(
        &mut self,
        asked: &Parameters,
        manner: &Manner,
        flows: &[Flow],
    ) -> Result<Ran, StreamError> {
        let longest = match asked.time {
            0 => self.server.serving.longest,
            seconds => Duration::from_secs(seconds) + GRACE,
        };
        // The client's word ends the test, even one that ends after a number of bytes.
        let carrying = Carrying::new(manner, None);
        // The client's time begins with this word, so it lies within ours.
        self.control.say(State::TestRunning, "the test began")?;
        let control = &mut self.control;
        let look = |turn, passed| {
            let during = "the test ran";
            if sys::stop::heard().is_some() || passed > longest {
                control.say(State::ServerTerminate, "the test was stopped")?;
                return Err(StreamError::Stopped);
            }
            match control.next(turn, during)? {
                None => Ok(ControlFlow::Continue(())),
                Some(State::TestEnd) => Ok(ControlFlow::Break(end_ns(flows, asked.wanted_bytes()))),
                Some(state) => Err(StreamError::OutOfTurn { state, during }),
            }
        };
        let own = asked.linerate.as_ref().filter(|own| own.interval_ms > 0);
        let interval = own.map_or(USUAL_INTERVAL, |own| {
            Duration::from_millis(own.interval_ms.clamp(50, 60_000))
        });
        let mut ran = session::run(flows, &carrying, interval, look, &mut |_| {
            ControlFlow::Continue(())
        })?;
        ran.broken.take().map_or(Ok(ran), Err)
    }

    fn exchange(
        &mut self,
        asked: &Parameters,
        flows: &[Flow],
        ran: &Ran,
    ) -> Result<(), StreamError> {
        let during = "the results were exchanged";
        self.control.say(State::ExchangeResults, during)?;
        let json = self.control.json(MOST_CLIENT_RESULT_BYTES, during)?;
        let ids: Vec<u32> = flows.iter().map(|flow| flow.id).collect();
        Results::<IgnoredAny>::read(&json, &ids).map_err(not_taken(during))?;
        let results = ran.results(flows, congestion(flows), asked.linerate.is_some());
        self.control.say_json(&results, during)?;
        self.control.say(State::DisplayResults, during)?;
        // A client that has its results may go without a word.
        let _ = self.control.next(PATIENCE, "the line was to be closed");
        Ok(())
    }
}

/// The direction of each stream, in the order in which a client opens them.
fn ways(asked: &Parameters) -> Vec<Way> {
    let streams = usize::try_from(asked.parallel).unwrap_or(0);
    match (asked.bidirectional, asked.reverse) {
        (true, _) => [vec![Way::Up; streams], vec![Way::Down; streams]].concat(),
        (false, true) => vec![Way::Down; streams],
        (false, false) => vec![Way::Up; streams],
    }
}

/// When a test that its client has ended was over: if it counts bytes, when the last of them came.
fn end_ns(flows: &[Flow], wanted: Option<u64>) -> u64 {
    let came = || {
        let receiving = flows.iter().filter(|flow| !flow.sends);
        receiving.map(|flow| flow.count.bytes()).sum::<u64>()
    };
    let (mut before, mut since_ns) = (came(), clock::monotonic_ns());
    let wanted = wanted.filter(|_| flows.iter().any(|flow| !flow.sends));
    if let Some(wanted) = wanted {
        clock::wait_until(ARRIVAL, || {
            let (now, now_ns) = (came(), clock::monotonic_ns());
            if now != before {
                (before, since_ns) = (now, now_ns);
            }
            now >= wanted || now_ns - since_ns > SILENCE_NS
        });
    }
    since_ns
}
