//! The end that asks for streams, of a server of ours or of iperf3's.

use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use sys::{bulk, clock, socket};
use wire::iperf3::{
    COOKIE_BYTES, Cookie, DATAGRAM_BYTES, MOST_RESULT_BYTES, OLD_UDP_ANSWER, OwnWish, Parameters,
    Results, State, StreamResult, UDP_ANSWER, UDP_HELLO, stream_id,
};

use super::carrying::Carrying;
use super::control::{Control, PATIENCE, not_taken};
use super::echo::{self, EchoState};
use super::flow::{Flow, FlowSocket};
use super::manner::Manner;
use super::outcome::OwnResult;
use super::session::{self, Ran};
use super::{
    Carrier, EndCost, SendBy, StreamDatagrams, StreamEchoes, StreamError, StreamInterval,
    StreamPlan, StreamTotal, StreamUntil, Streamed, Way,
};

/// With iperf3's cookie: letters and digits of base 32.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Of TCP: fewer calls and fewer wakings cost less than what no longer fits the caches near a CPU.
const USUAL_WRITE_BYTES: u32 = 1 << 20;
/// Where a rate is held, it comes in smaller pieces: iperf3's.
const PACED_WRITE_BYTES: u32 = 128 * 1024;
/// What was sent may take so long to arrive, where bytes are counted.
const ARRIVAL: Duration = Duration::from_secs(5);
/// Datagrams of a stream that is under way may come before its answer.
const MOST_EARLY: usize = 4_096;

/// Asks a server for streams and runs them; tells each interval as it ends.
///
/// # Errors
/// What could not be done, where, and what to do.
pub fn run(
    plan: &StreamPlan,
    address: SocketAddr,
    told: &mut dyn FnMut(&StreamInterval),
) -> Result<Streamed, StreamError> {
    let cookie = cookie()?;
    let mut control = Control::connect(address, &cookie)?;
    control.expect(State::ParameterExchange, "the parameters are due")?;
    let asked = parameters(plan, &control);
    control.say_json(&asked, "the parameters are said")?;
    control.expect(State::CreateStreams, "the server looks at the parameters")?;
    let client = Client {
        plan,
        address,
        cookie,
        manner: Manner::of(&asked, plan.send, plan.receive),
        control,
    };
    client.run(told)
}

fn cookie() -> Result<Cookie, StreamError> {
    let random = sys::random::bytes::<COOKIE_BYTES>();
    let random = random.map_err(|source| StreamError::Option {
        option: "a cookie".to_owned(),
        source,
    })?;
    let mut cookie = random.map(|byte| LETTERS[usize::from(byte) % LETTERS.len()]);
    cookie[COOKIE_BYTES - 1] = 0;
    Ok(cookie)
}

fn parameters(plan: &StreamPlan, control: &Control) -> Parameters {
    let is_udp = plan.carrier == Carrier::Udp;
    let segment = || socket::segment_bytes(control.socket().as_fd()).unwrap_or(1_448);
    let usual = || match is_udp {
        true => segment().clamp(*DATAGRAM_BYTES.start(), *DATAGRAM_BYTES.end()),
        false if plan.rate_bits > 0 => PACED_WRITE_BYTES,
        false => USUAL_WRITE_BYTES,
    };
    let (time, num) = match plan.until {
        // Seconds are what iperf3 knows; it is the client that ends it.
        StreamUntil::Time(time) => (time.as_secs() + u64::from(time.subsec_nanos() > 0), 0),
        StreamUntil::Bytes(bytes) => (0, bytes),
    };
    let own = OwnWish {
        echo: plan.echo_before.is_some(),
        discard: plan.receive == super::ReceiveBy::Discard,
        send: plan.send.name().to_owned(),
        interval_ms: u64::try_from(plan.interval.as_millis()).unwrap_or(u64::MAX),
    };
    Parameters {
        tcp: !is_udp,
        udp: is_udp,
        time,
        num,
        parallel: plan.streams.into(),
        reverse: plan.ways == [Way::Down],
        bidirectional: plan.ways.len() > 1,
        mss: plan.segment_bytes.map_or(0, u64::from),
        window: plan.buffer_bytes.map_or(0, u64::from),
        len: plan.write_bytes.unwrap_or_else(usual).into(),
        bandwidth: plan.rate_bits,
        fqrate: plan.pace_bits,
        tos: plan.type_of_service.into(),
        congestion: plan.congestion.clone(),
        udp_counters_64bit: is_udp.into(),
        zerocopy: (plan.send == SendBy::Sendfile).into(),
        client_version: concat!("linerate ", env!("CARGO_PKG_VERSION")).to_owned(),
        linerate: (!plan.is_to_iperf3).then_some(own),
        ..Parameters::default()
    }
}

struct Client<'a> {
    plan: &'a StreamPlan,
    address: SocketAddr,
    cookie: Cookie,
    manner: Manner,
    control: Control,
}

impl Client<'_> {
    fn run(mut self, told: &mut dyn FnMut(&StreamInterval)) -> Result<Streamed, StreamError> {
        let Some(before) = self.plan.echo_before else {
            return self.stream(told);
        };
        let echo = self.hello()?;
        let state = EchoState::default();
        thread::scope(|scope| {
            let echoes = scope.spawn(|| echo::measure(&echo, &state));
            clock::wait_until(before, || sys::stop::heard().is_some());
            state.load();
            let streamed = self.stream(told);
            state.end();
            let echoes = echoes
                .join()
                .unwrap_or_else(|_| Ok(StreamEchoes::default()));
            let broke = |source| StreamError::Stream { number: 0, source };
            Ok(Streamed {
                echoes: Some(echoes.map_err(broke)?),
                ..streamed?
            })
        })
    }

    fn stream(&mut self, told: &mut dyn FnMut(&StreamInterval)) -> Result<Streamed, StreamError> {
        let flows = self.open()?;
        self.control
            .expect(State::TestStart, "the streams are there")?;
        self.control.expect(State::TestRunning, "the test begins")?;
        let ran = self.carry(&flows, told)?;
        let (results, own) = self.exchange(&flows, &ran)?;
        self.control
            .expect(State::DisplayResults, "the results are there")?;
        self.control.say(State::IperfDone, "it is over")?;
        Ok(self.streamed(&flows, ran, &results, own))
    }

    /// The streams one after the other: those up first, by which the server tells which is which.
    fn open(&self) -> Result<Vec<Flow>, StreamError> {
        let ways = self.plan.ways.iter();
        let ways = ways.flat_map(|way| (0..self.plan.streams).map(move |_| *way));
        let open = |(place, way)| {
            let id = stream_id(place);
            let socket = match self.plan.carrier {
                Carrier::Tcp => self.connect(id)?,
                Carrier::Udp => {
                    let socket = self.hello()?;
                    self.manner.apply_to_datagrams(socket.as_fd())?;
                    FlowSocket::Udp(socket)
                }
            };
            Ok(Flow::new(id, way, way == Way::Up, socket))
        };
        ways.enumerate().map(open).collect()
    }

    fn connect(&self, number: u32) -> Result<FlowSocket, StreamError> {
        let unopened = |source| StreamError::Open { number, source };
        let socket = bulk::unconnected(self.address).map_err(unopened)?;
        self.manner.prepare(socket.as_fd())?;
        bulk::set_patience(socket.as_fd(), PATIENCE).map_err(unopened)?;
        let mut connection = bulk::connect(socket, self.address).map_err(unopened)?;
        std::io::Write::write_all(&mut connection, &self.cookie).map_err(unopened)?;
        self.manner.apply(&connection)?;
        Ok(FlowSocket::Tcp(connection))
    }

    /// A socket of UDP that the server knows.
    fn hello(&self) -> Result<UdpSocket, StreamError> {
        let any: SocketAddr = match self.address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
        };
        let hello = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind(any)?;
            socket.connect(self.address)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            socket.send(&UDP_HELLO)?;
            let mut answer = [0; 8];
            for _ in 0..MOST_EARLY {
                let bytes = socket.recv(&mut answer)?;
                if [UDP_ANSWER, OLD_UDP_ANSWER]
                    .iter()
                    .any(|one| answer[..bytes] == *one)
                {
                    return Ok(socket);
                }
            }
            Err(std::io::ErrorKind::TimedOut.into())
        };
        hello().map_err(|_| StreamError::NoAnswer {
            address: self.address,
            seconds: PATIENCE.as_secs(),
        })
    }

    fn carry(
        &mut self,
        flows: &[Flow],
        told: &mut dyn FnMut(&StreamInterval),
    ) -> Result<Ran, StreamError> {
        let (time, bytes) = match self.plan.until {
            StreamUntil::Time(time) => (Some(time), None),
            StreamUntil::Bytes(bytes) => (None, Some(bytes)),
        };
        let carrying = Carrying::new(&self.manner, bytes);
        let control = &mut self.control;
        let look = |turn: Duration, passed: Duration| {
            if sys::stop::heard().is_some() {
                control.say(State::ClientTerminate, "it is stopped")?;
                return Err(StreamError::Stopped);
            }
            let turn = time.map_or(turn, |time| turn.min(time.saturating_sub(passed)));
            let during = "the test runs";
            if let Some(state) = control.next(turn, during)? {
                return Err(StreamError::OutOfTurn { state, during });
            }
            let is_over = time.is_some_and(|time| passed + turn >= time)
                || bytes.is_some_and(|bytes| is_done(&carrying, flows, bytes));
            Ok(if is_over {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        };
        let ran = session::run(flows, &carrying, self.plan.interval, look, told)?;
        self.control.say(State::TestEnd, "the test ends")?;
        Ok(ran)
    }

    /// Tells what was seen here, and hears what was seen there.
    fn exchange(
        &mut self,
        flows: &[Flow],
        ran: &Ran,
    ) -> Result<(Results, Option<OwnResult>), StreamError> {
        let during = "the results are exchanged";
        self.control.expect(State::ExchangeResults, during)?;
        let congestion = congestion(flows);
        self.control
            .say_json(&ran.results(flows, congestion, false), during)?;
        let json = self.control.json(MOST_RESULT_BYTES, during)?;
        let ids: Vec<u32> = flows.iter().map(|flow| flow.id).collect();
        let mut results = Results::read(&json, &ids).map_err(not_taken(during))?;
        // Of a server that means something else by it, it is as if it had said nothing.
        let own = serde_json::from_value(results.linerate.take()).ok();
        Ok((results, own.filter(|_| !self.plan.is_to_iperf3)))
    }

    fn streamed(
        &self,
        flows: &[Flow],
        ran: Ran,
        results: &Results,
        own: Option<OwnResult>,
    ) -> Streamed {
        let total = |(place, flow): (usize, &Flow)| {
            let told = results
                .streams
                .iter()
                .find(|told| told.id == u64::from(flow.id));
            let late = own
                .as_ref()
                .and_then(|own| own.late.iter().find(|(id, _)| *id == flow.id));
            let late = late.map(|(_, late)| *late);
            total(flow, &ran, place, &told.cloned().unwrap_or_default(), late)
        };
        let streams = flows.iter().enumerate().map(total).collect();
        // Of iperf3 its process, which is one thread up to 3.15.
        let share = (results.cpu_util_total / 100.0).clamp(0.0, 1.0);
        let of_iperf3 = EndCost {
            #[expect(clippy::cast_possible_truncation, reason = "a part of the window")]
            cpu_ns: (results.cpu_util_total.max(0.0) / 100.0 * ran.window_ns as f64) as u64,
            busy_share: share,
            ..EndCost::default()
        };
        Streamed {
            window_ns: ran.window_ns,
            streams,
            client: ran.cost,
            server: own.as_ref().map_or(of_iperf3, |own| own.cost),
            is_ours: own.is_some(),
            server_intervals: own.map(|own| own.intervals).unwrap_or_default(),
            intervals: ran.readings.intervals,
            write_bytes: self.manner.write_bytes as u64,
            congestion: [congestion(flows), results.congestion_used.clone()],
            echoes: None,
        }
    }
}

/// Whether so many bytes went each way; of those sent, whether they arrived or had their time.
fn is_done(carrying: &Carrying<'_>, flows: &[Flow], bytes: u64) -> bool {
    let of = |sends: bool| flows.iter().filter(move |flow| flow.sends == sends);
    let came = of(false).map(|flow| flow.count.bytes()).sum::<u64>();
    if of(true).count() == 0 {
        return came >= bytes;
    }
    // As of iperf3, what is sent ends it where both ways are open.
    if carrying.is_spent() {
        clock::wait_until(ARRIVAL, || of(true).all(has_arrived));
    }
    carrying.is_spent()
}

fn has_arrived(flow: &Flow) -> bool {
    let FlowSocket::Tcp(socket) = &flow.socket else {
        return true;
    };
    let info = sys::tcp_info::TcpInfo::of(socket.as_fd());
    // The cookie went first.
    info.is_ok_and(|info| info.acked_bytes >= flow.count.bytes() + COOKIE_BYTES as u64)
}

fn total(
    flow: &Flow,
    ran: &Ran,
    place: usize,
    told: &StreamResult,
    late: Option<u64>,
) -> StreamTotal {
    let count = &flow.count;
    let tcp = ran.readings.total(place);
    #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
    let whole = |number: f64| (number >= 0.0).then_some(number as u64);
    let of_datagrams = || {
        let [sent, lost, jitter_ms, late] = match flow.sends {
            true => [
                Some(count.datagrams.load(Ordering::Relaxed)),
                whole(told.errors),
                whole(told.jitter * 1e9),
                late,
            ],
            false => [
                Some(told.packets),
                Some(count.lost.load(Ordering::Relaxed)),
                Some(count.jitter_ns.load(Ordering::Relaxed)),
                Some(count.late.load(Ordering::Relaxed)),
            ],
        };
        StreamDatagrams {
            sent: sent.unwrap_or(0),
            lost: lost.unwrap_or(0),
            jitter_ms: jitter_ms.unwrap_or(0) as f64 / 1e6,
            late,
        }
    };
    let (sent_bytes, received_bytes) = match flow.sends {
        true => (count.bytes(), told.bytes),
        false => (told.bytes, count.bytes()),
    };
    let again = match flow.sends {
        true => tcp.map(|tcp| tcp.retransmits),
        false => whole(told.retransmits).filter(|_| tcp.is_some()),
    };
    StreamTotal {
        number: flow.id,
        way: flow.way,
        sent_bytes,
        received_bytes,
        retransmits: again,
        datagrams: tcp.is_none().then(of_datagrams),
        tcp,
        addresses: flow.socket.addresses(),
    }
}

/// What the connections use, by the first.
pub(super) fn congestion(flows: &[Flow]) -> Option<String> {
    let first = flows.iter().find_map(|flow| match &flow.socket {
        FlowSocket::Tcp(socket) => Some(socket),
        FlowSocket::Udp(_) => None,
    });
    socket::congestion_control(first?.as_fd()).ok()
}
