//! Streams between the hosts of a rig, over this machine's loopback, or between two other machines.
//! Both ends are processes of ours.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use machine::cpus::CpuSplit;
use machine::rig::Lab;
use model::failure::Failure;
use serde::{Deserialize, Serialize};
use traffic::stream::{
    ReceiveBy, StreamInterval, StreamPlan, StreamServer, StreamServing, StreamUntil, Streamed, run,
};

use crate::role::{self, Role, RoleProcess, Said, dismissed, say};

/// The longest test.
pub const LONGEST: Duration = Duration::from_secs(86_400);

/// The order to the server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamEndServing {
    address: IpAddr,
    cpus: Vec<usize>,
    receive: ReceiveBy,
}

/// The order to the client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StreamAsking {
    server: SocketAddr,
    cpus: Vec<usize>,
    plan: StreamPlan,
}

/// What a client reports while it runs, and at the end.
#[derive(Debug, Serialize, Deserialize)]
enum StreamTold {
    Interval(StreamInterval),
    Outcome(Box<Streamed>),
}

/// The commands that start both ends, and where the server is to listen.
#[derive(Debug)]
pub struct StreamEnds {
    pub client: Command,
    pub server: Command,
    /// Address of the server, as the client reaches it.
    pub address: IpAddr,
    /// The CPUs on which both ends run; none where the kernel decides.
    pub cpus: CpuSplit,
    /// How long an end may be silent, beyond the interval between two readings, before it is given
    /// up.
    pub silence: Duration,
}

impl StreamEnds {
    /// The ends of a rig, or of loopback where there is none; `program` is Linerate.
    ///
    /// # Errors
    /// When the rig has no client and server with addresses.
    pub fn here(program: &Path, lab: Option<&Lab>, cpus: CpuSplit) -> Result<Self, Failure> {
        let ends = lab.map(|lab| lab.ends().ok_or_else(no_ends)).transpose()?;
        let host = |at: usize| ends.map(|ends| ends[at].0);
        Ok(Self {
            client: role::here(program, host(0))?,
            server: role::here(program, host(1))?,
            address: ends
                .map_or(Ipv4Addr::LOCALHOST, |[_, (_, address)]| address)
                .into(),
            cpus,
            silence: Duration::MAX,
        })
    }
}

/// Runs streams between two ends, and calls `report` with each interval until it breaks. Returns
/// where the server listened, and the result.
///
/// # Errors
/// Says what could not be done, and where.
pub fn stream(
    ends: StreamEnds,
    plan: &StreamPlan,
    report: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
) -> Result<(SocketAddr, Streamed), Failure> {
    let role = Role::StreamServer(StreamEndServing {
        address: ends.address,
        cpus: ends.cpus.server,
        receive: plan.receive,
    });
    let silence = ends.silence.saturating_add(plan.interval);
    let mut serving = RoleProcess::start_held(ends.server, &role, silence)?;
    // Only the port is taken over: the far end does not decide where the load goes.
    let listening: SocketAddr = serving.said()?;
    let server = SocketAddr::new(ends.address, listening.port());
    let role = Role::StreamClient(StreamAsking {
        server,
        cpus: ends.cpus.client,
        plan: plan.clone(),
    });
    let mut asking = RoleProcess::start_held(ends.client, &role, silence)?;
    let mut left = most_intervals(plan);
    loop {
        match asking.said()? {
            StreamTold::Interval(_) if left == 0 => return Err(too_many()),
            // The client finishes when its input ends.
            StreamTold::Interval(interval) => {
                left -= 1;
                if report(&interval).is_break() {
                    asking.dismiss();
                }
            }
            StreamTold::Outcome(streamed) => return Ok((server, *streamed)),
        }
    }
}

/// More readings than a test can have.
fn most_intervals(plan: &StreamPlan) -> u64 {
    let time = match plan.until {
        StreamUntil::Time(time) => time,
        StreamUntil::Bytes(_) => LONGEST,
    };
    let longest_ms = (time + Duration::from_secs(60)).as_millis();
    u64::try_from(2 * longest_ms / plan.interval.as_millis().max(1)).unwrap_or(u64::MAX)
}

fn too_many() -> Failure {
    Failure {
        what: "the client of streams reports more than is possible".to_owned(),
        advice: "is it the same version of Linerate?".to_owned(),
    }
}

fn no_ends() -> Failure {
    Failure {
        what: "this rig has no client and server with addresses".to_owned(),
        advice: "streams run on the rigs `loopback`, `netns` and `hosts`".to_owned(),
    }
}

/// Reports where it listens, and serves until the process is ended.
pub(crate) fn serve(
    serving: &StreamEndServing,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    let of_server = StreamServing {
        receive: serving.receive,
        longest: LONGEST,
        ours_only: true,
    };
    let listening = role::pin(&serving.cpus).and_then(|()| {
        let listener = TcpListener::bind((serving.address, 0))?;
        let address = listener.local_addr()?;
        Ok((
            StreamServer::on(listener, address.into(), of_server)?,
            address,
        ))
    });
    let (server, address) = match listening {
        Ok(server) => server,
        Err(why) => return say(output, &Said::<()>::Err(why.to_string())),
    };
    let serve = move || server.serve(&|_| ());
    if let Err(why) = std::thread::Builder::new().spawn(serve) {
        return say(output, &Said::<()>::Err(why.to_string()));
    }
    say(output, &Said::Ok(address))?;
    dismissed(input)
}

/// Runs the streams, and reports each interval and the result.
pub(crate) fn ask(asking: &StreamAsking, output: &mut impl Write) -> io::Result<()> {
    if let Err(why) = role::pin(&asking.cpus) {
        return say(output, &Said::<()>::Err(why.to_string()));
    }
    let mut report = |interval: &StreamInterval| {
        // When nobody listens any more, the other end ends this process.
        let _ = say(output, &Said::Ok(StreamTold::Interval(interval.clone())));
        // The end of the input asks to stop like a signal.
        match sys::stop::heard() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    };
    let came = run(&asking.plan, &asking.server.into(), &mut report);
    let came = came.map(|streamed| StreamTold::Outcome(Box::new(streamed)));
    say(output, &came.map_err(|error| error.to_string()))
}
