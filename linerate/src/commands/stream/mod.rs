//! `linerate stream`: how much a path carries, between our own ends or iperf3's.

mod arguments;
mod iperf3_json;
mod kept;
mod rates;
mod shape;
mod spending;
pub(crate) mod units;

use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use agent::stream::{LONGEST, StreamEnds};
use anyhow::{Context as _, bail};
use machine::cpus::CpuSplit;
use machine::instruments::cpu::MachineWatch;
use machine::rig::Lab;
use model::Topology;
use model::cpus::CpuWish;
use model::rig::RigKind;
use model::run::Rig;
use report::numbers;
use study::hosts::Hosts;
use sys::address::Address;
use sys::socket_file::SocketFile;
use sys::stop::{Again, StopSignal};
use traffic::stream::{
    StreamError, StreamInterval, StreamPlan, StreamServed, StreamServer, StreamServing, Streamed,
    USUAL_PORT, Way,
};

use super::traffic_price;
use crate::agents::{FAR_SILENCE, far_roles};
use crate::console::Console;
use crate::failure::words;
use crate::listening::{self, Listening, UNIX};
use crate::ourselves::OURSELVES;
use crate::told::{self, template};
use crate::{ownership, shown, stopping};
pub(crate) use arguments::Arguments;
use kept::KeptTest;
use rates::WayRates;
use shape::StreamPlace;
pub(crate) use shape::Streams;

/// Connections that may wait to be accepted, as many as with TCP.
const BACKLOG: u32 = 128;

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    // Whatever signal ends us, the other end is told, and both ends are stopped.
    let stop = StopSignal::listen(Again::Kills)?;
    if let Some(address) = &arguments.listen {
        return listen(address, arguments, console);
    }
    let plan = arguments.plan()?;
    let begun_ns = sys::clock::wall_ns();
    let mut rates = WayRates::of(&plan.ways, arguments.until_sure);
    let mut kept = kept(arguments, &plan)?;
    let mut on_interval = |interval: &StreamInterval| {
        if let Some(kept) = &mut kept {
            kept.note(interval, console);
        }
        console.note(&line(interval));
        match rates.note(interval) || sys::stop::heard().is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let went = match &arguments.host {
        Some(host) => at_host(host, arguments, console, &mut on_interval),
        None => at_both_ends(arguments, console, &mut on_interval),
    };
    let stopped = sys::stop::heard();
    drop(stop);
    let streams = went.map(|(setting, went)| Streams::of(&plan, setting, went, &rates));
    if let Some(signal) = stopped {
        console.error(&format!("stopped by {}", stopping::name(signal)));
    }
    let code = stopped.map_or(ExitCode::SUCCESS, stopping::exit_code);
    let streams = match streams {
        Err(_) if stopped.is_some() => return Ok(code),
        streams => streams?,
    };
    if arguments.iperf3_json {
        let said = iperf3_json::of(&plan, &streams, begun_ns);
        console.say(&format!("{said:#}"));
    } else {
        told::say(&streams, template!("stream"), arguments.json, console);
    }
    // The figures were printed, so a report that cannot be written does not fail the command.
    if let Some((kept, folder)) = kept.zip(arguments.out.as_deref())
        && kept.end(&streams, console)
        && let Err(error) = shown::write_streams(folder, console)
    {
        console.error(&format!("{error:#}"));
    }
    match &streams.broken {
        Some(broken) if stopped.is_none() => bail!("{broken}"),
        _ => Ok(code),
    }
}

/// Claims the run folder, if one is asked for.
fn kept(arguments: &Arguments, plan: &StreamPlan) -> anyhow::Result<Option<KeptTest>> {
    let Some(folder) = &arguments.out else {
        return Ok(None);
    };
    let target = arguments.host.as_deref();
    let rig = match (target, arguments.rig()) {
        (Some(_), _) => Rig::Hosts,
        (None, RigKind::Netns) => Rig::Netns,
        (None, _) => Rig::Loopback { reason: None },
    };
    let target = target.unwrap_or_else(|| arguments.rig().name());
    KeptTest::begin(folder, plan, target, rig).map(Some)
}

/// Runs a test between two ends of ours: on this machine, or on two that the hosts file names.
fn at_both_ends(
    arguments: &Arguments,
    console: &Console,
    on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
) -> anyhow::Result<(StreamPlace, Streamed)> {
    let plan = arguments.plan()?;
    let rig = arguments.rig();
    let lab = match rig {
        RigKind::Netns => Some(Lab::build(Path::new(OURSELVES), Topology::Netns)?),
        _ => None,
    };
    let is_far = rig == RigKind::Hosts;
    let ends = match is_far {
        true => far_ends(&arguments.hosts.find(console)?, &plan, console)?,
        false => {
            let cpus = machine::cpus::here(&CpuWish::default()).context("asking for CPUs")?;
            StreamEnds::here(Path::new(OURSELVES), lab.as_ref(), cpus).map_err(words)?
        }
    };
    let doubts = ends.cpus.doubt().into_iter().collect();
    let mut watch = MachineWatch::new();
    watch.open();
    let (server, went) = agent::stream::stream(ends, &plan, on_interval).map_err(words)?;
    let setting = StreamPlace {
        place: rig.name(),
        server: server.into(),
        machine: watch.spent().filter(|_| !is_far),
        doubts,
    };
    Ok((setting, went))
}

/// Starts a client and a server on machines over SSH, where the kernel chooses their CPUs.
fn far_ends(hosts: &Hosts, plan: &StreamPlan, console: &Console) -> anyhow::Result<StreamEnds> {
    let address = hosts.host.server.address;
    console.note(&spending::spending(plan).forecast());
    let [client, server] = far_roles(hosts)?;
    Ok(StreamEnds {
        client,
        server,
        address,
        cpus: CpuSplit::default(),
        silence: FAR_SILENCE,
    })
}

/// Runs a test against a server that is already running.
fn at_host(
    host: &str,
    arguments: &Arguments,
    console: &Console,
    on_interval: &mut dyn FnMut(&StreamInterval) -> ControlFlow<()>,
) -> anyhow::Result<(StreamPlace, Streamed)> {
    let plan = arguments.plan()?;
    let mut refusal = None;
    let servers = addresses(host, arguments)?;
    if let Some(Address::Tcp(server)) = servers.first()
        && !traffic_price::is_ours(server.ip())
    {
        console.note(&spending::spending(&plan).forecast());
    }
    for server in servers {
        match traffic::stream::run(&plan, &server, on_interval) {
            Err(error @ StreamError::Connect { .. }) => refusal = Some(error),
            went => {
                let setting = StreamPlace {
                    place: "host",
                    server,
                    machine: None,
                    doubts: Vec::new(),
                };
                return Ok((setting, went?));
            }
        }
    }
    refusal.map_or_else(
        || bail!("the host has no address"),
        |error| Err(error.into()),
    )
}

/// Returns the addresses of a host that may be loaded.
fn addresses(host: &str, arguments: &Arguments) -> anyhow::Result<Vec<Address>> {
    if host.starts_with(UNIX) {
        let path = listening::parse(host).map_err(anyhow::Error::msg)?;
        return Ok(vec![path]);
    }
    let found = ownership::machine(host, USUAL_PORT, &arguments.hosts, &arguments.mine)?;
    Ok(found.into_iter().map(Address::Tcp).collect())
}

fn listen(address: &Address, arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let serving = StreamServing {
        receive: arguments.receive,
        longest: LONGEST,
        ours_only: !arguments.iperf3,
    };
    let (listener, address, _file) = listener(address)?;
    console.say(&format!("listening on {address}"));
    let server = StreamServer::on(listener, address, serving)?;
    server.serve(&|served| console.say(&said(served)))?;
    Ok(sys::stop::heard().map_or(ExitCode::SUCCESS, stopping::exit_code))
}

/// Opens the listener for clients; the file of a Unix socket is removed when its handle is dropped.
fn listener(address: &Address) -> anyhow::Result<(TcpListener, Address, Option<SocketFile>)> {
    let Address::Tcp(address) = address else {
        let Listening {
            mut listeners,
            address,
            file,
        } = listening::open(address, 1, BACKLOG)?;
        return Ok((listeners.remove(0), address, file));
    };
    let listener = listening::bind(*address)?;
    let at = listener.local_addr()?.into();
    Ok((listener, at, None))
}

/// Describes a test that a listener has served, in one line.
fn said(served: &StreamServed) -> String {
    let StreamServed {
        client, at_once, ..
    } = served;
    let beside = match at_once {
        0 | 1 => String::new(),
        others => format!(", one of {others} at once"),
    };
    match &served.came_to {
        Err(error) => format!("{client}: {error}"),
        Ok(([received, sent], time)) => {
            let seconds = time.as_secs_f64();
            let rate = |bytes: &u64| numbers::bit_rate(*bytes as f64 * 8.0 / seconds.max(1e-9));
            format!(
                "{client}: received {}, sent {} for {seconds:.1} s{beside}",
                rate(received),
                rate(sent)
            )
        }
    }
}

/// Describes an interval in one line, as progress.
fn line(interval: &StreamInterval) -> String {
    let of_way = |way: Way| {
        let streams: Vec<_> = interval
            .streams
            .iter()
            .filter(|one| one.way == way)
            .collect();
        let tcp = || streams.iter().filter_map(|one| one.tcp);
        let rate = interval.bytes(way) as f64 * 8.0 / interval.seconds.max(1e-9);
        let rate = numbers::bit_rate(rate);
        let rtt = tcp().map(|tcp| tcp.rtt_us).max().filter(|_| way == Way::Up);
        let rtt = rtt.map(|us| format!(", rtt {:.2} ms", f64::from(us) / 1e3));
        let again: u64 = tcp().map(|tcp| tcp.retransmits).sum();
        let again = (again > 0).then(|| format!(", {again} sent again"));
        let rest = [rtt, again].map(Option::unwrap_or_default).concat();
        (!streams.is_empty()).then(|| format!("{way} {rate}{rest}"))
    };
    let ways: Vec<String> = [Way::Up, Way::Down]
        .into_iter()
        .filter_map(of_way)
        .collect();
    let end = interval.start_seconds + interval.seconds;
    format!("  {end:.1} s  {}", ways.join("; "))
}
