//! The client: the end that asks a server of ours, or of iperf3's, for streams.

use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::thread;
use std::time::Duration;

use serde::de::IgnoredAny;
use sys::address::Address;
use sys::{bulk, clock};
use wire::iperf3::{
    Cookie, MOST_RESULT_BYTES, OLD_UDP_ANSWER, Results, State, UDP_ANSWER, UDP_HELLO, stream_id,
};

use super::account::{self, ServerReport, congestion};
use super::asking::{cookie, parameters};
use super::carrying::{Carrying, or_nothing};
use super::control::{Control, PATIENCE, by_path, not_taken};
use super::echo::{self, EchoState};
use super::ending::TestEnding;
use super::flow::{Flow, FlowSocket};
use super::manner::Manner;
use super::session::{self, Ran};
use super::{
    Carrier, EndCost, StreamEchoes, StreamError, StreamInterval, StreamPlan, Streamed, Way,
};

/// How long to wait for the answer to the first datagram of a stream. After that the datagram or
/// its answer is lost, and it is sent again.
const HELLO_AGAIN: Duration = Duration::from_millis(500);
/// Shortest read timeout. A timeout of zero would mean to wait for ever.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// Asks a server for streams and runs them. Calls `on_interval` with each interval as it ends; that
/// call may end the test.
///
/// # Errors
/// What could not be done, where, and what to do.
pub fn run(
    plan: &StreamPlan,
    address: &Address,
    on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
) -> Result<Streamed, StreamError> {
    let begun_ns = clock::monotonic_ns();
    let cookie = cookie()?;
    let mut control = Control::connect(address, &cookie)?;
    control.expect(
        State::ParameterExchange,
        "the parameters were to be exchanged",
    )?;
    let asked = parameters(plan, &control);
    control.say_json(&asked, "the parameters were sent")?;
    control.expect(State::CreateStreams, "the server checked the parameters")?;
    let client = Client {
        plan,
        address: address.clone(),
        begun_ns,
        cookie,
        manner: Manner::of(&asked, plan.send, plan.receive).over(address),
        control,
    };
    client.run(on_interval)
}

struct Client<'a> {
    plan: &'a StreamPlan,
    address: Address,
    /// When the client began, before it asked the server.
    begun_ns: u64,
    cookie: Cookie,
    manner: Manner,
    control: Control,
}

impl Client<'_> {
    fn run(
        mut self,
        on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
    ) -> Result<Streamed, StreamError> {
        let state = EchoState::default();
        let Some(before) = self.plan.echo_before else {
            return self.stream(&state, on_interval);
        };
        let echo = self.hello(0)?;
        thread::scope(|scope| {
            let measure = || echo::measure(&echo, &state);
            let echoes = thread::Builder::new().spawn_scoped(scope, measure);
            let echoes = echoes.map_err(StreamError::Thread)?;
            clock::wait_until(before, || sys::stop::heard().is_some());
            state.rest();
            let streamed = self.stream(&state, on_interval);
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

    fn stream(
        &mut self,
        echoes: &EchoState,
        on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
    ) -> Result<Streamed, StreamError> {
        let flows = self.open()?;
        self.control
            .expect(State::TestStart, "the test was to begin")?;
        self.control.expect(State::TestRunning, "the test began")?;
        echoes.load();
        let ran = self.carry(&flows, on_interval);
        echoes.rest();
        let mut ran = ran?;
        let Some(broken) = ran.broken.take() else {
            let (heard, broken) = match self.exchange(&flows, &ran) {
                Ok(heard) => (Some(heard), None),
                // Whatever stopped us may have stopped the server too.
                Err(error) if is_gone(&error) || sys::stop::heard().is_some() => {
                    (None, Some(error.to_string()))
                }
                Err(error) => return Err(error),
            };
            return Ok(self.streamed(&flows, ran, heard, broken));
        };
        // If the line still holds, the server reports what it counted until then.
        let heard = match broken {
            StreamError::Stream { .. } | StreamError::Stuck { .. } => {
                self.exchange(&flows, &ran).ok()
            }
            _ if is_gone(&broken) => None,
            _ => return Err(broken),
        };
        Ok(self.streamed(&flows, ran, heard, Some(broken.to_string())))
    }

    /// Opens the streams one after the other, those up first: by this order the server knows the
    /// direction of each.
    fn open(&self) -> Result<Vec<Flow>, StreamError> {
        let ways = self.plan.ways.iter();
        let ways = ways.flat_map(|way| (0..self.plan.streams).map(move |_| *way));
        let open = |(place, way)| {
            let id = stream_id(place);
            let socket = match self.manner.carrier {
                Carrier::Tcp | Carrier::Unix => self.connect(id)?,
                Carrier::Udp => {
                    let socket = self.hello(id)?;
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
        let mut connection = match &self.address {
            Address::Tcp(address) => {
                let socket = bulk::unconnected(*address).map_err(unopened)?;
                self.manner.prepare(socket.as_fd())?;
                bulk::set_patience(socket.as_fd(), PATIENCE).map_err(unopened)?;
                bulk::connect(socket, *address).map_err(unopened)?
            }
            Address::Unix(_) => {
                let connection = by_path(&self.address).map_err(unopened)?;
                bulk::set_patience(connection.as_fd(), PATIENCE).map_err(unopened)?;
                connection
            }
        };
        std::io::Write::write_all(&mut connection, &self.cookie).map_err(unopened)?;
        self.manner.apply(&connection)?;
        Ok(FlowSocket::Tcp(connection))
    }

    /// Opens a UDP socket and makes it known to the server.
    fn hello(&self, number: u32) -> Result<UdpSocket, StreamError> {
        use std::io::ErrorKind::TimedOut;
        let Address::Tcp(server) = self.address else {
            return Err(StreamError::NoDatagrams);
        };
        let any: SocketAddr = match server {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
        };
        let hello = || -> std::io::Result<UdpSocket> {
            let socket = UdpSocket::bind(any)?;
            socket.connect(server)?;
            let until = clock::now() + PATIENCE;
            let mut due = clock::now();
            let mut answer = [0; 8];
            while clock::now() < until {
                if clock::now() >= due {
                    socket.send(&UDP_HELLO)?;
                    due = clock::now() + HELLO_AGAIN;
                }
                let left = due.saturating_duration_since(clock::now());
                socket.set_read_timeout(Some(left.max(LEAST_WAIT)))?;
                match socket.peek(&mut answer) {
                    // Datagrams of a running stream show that it is open; leave them to its worker.
                    Ok(bytes) if bytes > UDP_ANSWER.len() => return Ok(socket),
                    Ok(_) => {}
                    Err(error) => {
                        or_nothing(Err(error))?;
                        continue;
                    }
                }
                let bytes = socket.recv(&mut answer)?;
                if [UDP_ANSWER, OLD_UDP_ANSWER]
                    .iter()
                    .any(|one| answer[..bytes] == *one)
                {
                    return Ok(socket);
                }
            }
            Err(TimedOut.into())
        };
        hello().map_err(|source| match source.kind() {
            TimedOut => StreamError::NoAnswer {
                address: server,
                seconds: PATIENCE.as_secs(),
            },
            _ => StreamError::Open { number, source },
        })
    }

    fn carry(
        &mut self,
        flows: &[Flow],
        on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
    ) -> Result<Ran, StreamError> {
        let mut ending = TestEnding::of(self.plan, &self.manner);
        let carrying = Carrying::new(&self.manner, ending.most_bytes());
        let control = &mut self.control;
        let look = |turn: Duration, passed: Duration| {
            // After a stop both ends still report what they counted until then.
            if sys::stop::heard().is_some() {
                return Ok(ControlFlow::Break(clock::monotonic_ns()));
            }
            if let Some(broken) = carrying.broke() {
                return Err(broken);
            }
            let turn = ending.turn(turn, passed);
            let during = "the test ran";
            if let Some(state) = control.next(turn, during)? {
                return Err(StreamError::OutOfTurn { state, during });
            }
            Ok(match ending.is_over(passed + turn, flows)? {
                true => ControlFlow::Break(clock::monotonic_ns()),
                false => ControlFlow::Continue(()),
            })
        };
        session::run(flows, &carrying, self.plan.interval, look, on_interval)
    }

    /// Ends the test, sends the results of this end and reads those of the server.
    fn exchange(&mut self, flows: &[Flow], ran: &Ran) -> Result<ServerReport, StreamError> {
        self.control.say(State::TestEnd, "the test ended")?;
        let during = "the results were exchanged";
        self.control.expect(State::ExchangeResults, during)?;
        let congestion = congestion(flows);
        self.control
            .say_json(&ran.results(flows, congestion, false), during)?;
        let json = self.control.json(MOST_RESULT_BYTES, during)?;
        let ids: Vec<u32> = flows.iter().map(|flow| flow.id).collect();
        // A field `linerate` from iperf3 would not mean what ours means; ignore it.
        let report = match self.plan.is_to_iperf3 {
            true => Results::<IgnoredAny>::read(&json, &ids).map(without_own),
            false => ServerReport::read(&json, &ids),
        };
        let report = report.map_err(not_taken(during))?;
        let passed_ns = clock::monotonic_ns().saturating_sub(self.begun_ns);
        account::check(&report, flows, ran, passed_ns as f64 / 1e9).map_err(not_taken(during))?;
        self.control
            .expect(State::DisplayResults, "the results were to be shown")?;
        self.control
            .say(State::IperfDone, "the line was to be closed")?;
        Ok(report)
    }

    fn streamed(
        &self,
        flows: &[Flow],
        ran: Ran,
        report: Option<ServerReport>,
        broken: Option<String>,
    ) -> Streamed {
        let streams = account::totals(flows, &ran, report.as_ref());
        let is_ours = match &report {
            Some(report) => Some(report.linerate.is_some()),
            None => self.plan.is_to_iperf3.then_some(false),
        };
        let is_known = report.is_some();
        let report = report.unwrap_or_default();
        let own = report.linerate;
        // iperf3 reports the CPU time of its process, which has one thread up to version 3.15.
        #[expect(clippy::cast_possible_truncation, reason = "a part of the window")]
        let ns = |percent: f64| (percent / 100.0 * ran.window_ns as f64) as u64;
        let of_iperf3 = EndCost {
            cpu_ns: ns(report.cpu_util_total),
            user_ns: ns(report.cpu_util_user),
            system_ns: ns(report.cpu_util_system),
            busy_share: (report.cpu_util_total / 100.0).clamp(0.0, 1.0),
            ..EndCost::default()
        };
        Streamed {
            window_ns: ran.window_ns,
            streams,
            client: ran.cost,
            server: is_known.then(|| own.as_ref().map_or(of_iperf3, |own| own.cost)),
            is_ours,
            server_totals: own.as_ref().map_or(Vec::new(), |own| own.totals.clone()),
            server_intervals: own.map(|own| own.intervals).unwrap_or_default(),
            intervals: ran.readings.intervals,
            write_bytes: self.manner.write_bytes as u64,
            congestion: [congestion(flows), report.congestion_used],
            echoes: None,
            broken,
        }
    }
}

/// Whether the other end has gone, without having broken the protocol before.
const fn is_gone(error: &StreamError) -> bool {
    use StreamError::{Closed, Ended, Line, Silent};
    matches!(error, Line { .. } | Closed { .. } | Silent { .. } | Ended)
}

fn without_own(results: Results<IgnoredAny>) -> ServerReport {
    ServerReport {
        cpu_util_total: results.cpu_util_total,
        cpu_util_user: results.cpu_util_user,
        cpu_util_system: results.cpu_util_system,
        sender_has_retransmits: results.sender_has_retransmits,
        congestion_used: results.congestion_used,
        streams: results.streams,
        linerate: None,
    }
}
