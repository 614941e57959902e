//! The targets of load: our own server, our bare echo, a service, a server that is already running,
//! or a target of another host.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::process::Command;

use machine::cpus::CpuSplit;
use machine::levers::program::Start;
use machine::planted::{ChildPart, Held, PlantedError, SetLever};
use model::failure::Failure;
use model::lever::{Leave, LeverSetting};
use model::message::{self, Reach, ServerAnswer};
use model::{Binds, Doubt, Service, Workload};
use sys::address::Address;
use traffic::floor::protocol::EchoProtocol;
use wire::url::HttpUrl;

use crate::Setup;
use crate::children::ServerProcess;
use crate::environment;
use crate::gate::Runs;
use crate::held_server::HeldServer;
use crate::live;
use crate::service::register::studies;
use crate::service::{self, RunningService, Wish};
use crate::speaks::{ExchangeBytes, Speaks, as_expected, speak_http};
use crate::starting::Starting;

/// How long the first answer of a target may take.
pub(crate) const PROBE_TIMEOUT_NS: u64 = 5_000_000_000;
/// Switches off our server's own filter of system calls. The only filter of a target is the one
/// that a lever plants, whose cost is measured against no filter. A target runs as an ordinary user
/// in any case.
pub(crate) const UNCONFINED: [&str; 2] = ["--sandbox", "off"];

/// A target that is up.
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) speaks: Speaks,
    /// What it answers to each kind of a user's request; empty where we know the answers.
    pub(crate) answers: Vec<ServerAnswer>,
    /// The processes whose CPU time is the target's; empty where they are hidden.
    pub(crate) pids: Vec<u32>,
    pub(crate) live_levers: Vec<LeverSetting>,
    /// What a client's agent on another host must know; `None` where the target cannot be reached
    /// from there.
    pub(crate) reach: Option<Reach>,
    /// The server, which is stopped with the target; `None` where this agent did not start it.
    process: Option<HeldServer>,
    /// What must outlive the process.
    _start: Start,
}

impl Target {
    /// The sizes of an HTTP exchange with this target.
    pub(crate) fn exchange(&self) -> Option<ExchangeBytes> {
        match &self.speaks {
            Speaks::Http(_, sizes) => Some(*sizes),
            Speaks::Echo(_) | Speaks::Asked(_) | Speaks::Runs(_) | Speaks::Watched(_) => None,
        }
    }

    /// A target of which no process is known, and none is held.
    pub(crate) fn met(address: Address, speaks: Speaks, live_levers: Vec<LeverSetting>) -> Self {
        Self {
            address,
            speaks,
            answers: Vec::new(),
            pids: Vec::new(),
            live_levers,
            reach: None,
            process: None,
            _start: Start::default(),
        }
    }

    /// A command that is started when it is measured.
    pub(crate) fn of_runs(runs: Box<Runs>) -> Self {
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self::met(nowhere.into(), Speaks::Runs(runs), Vec::new())
    }

    /// Whether a lever of its blocks takes hold when a connection is opened.
    pub(crate) fn binds_at_a_connection(&self) -> bool {
        let binds = |setting| live::find(setting).map(|lever| lever.binds());
        let mut levers = self.live_levers.iter();
        levers.any(|setting| matches!(binds(setting), Ok(Binds::Connect)))
    }

    /// Its processes now. Those of a watched server are looked up again, as they may change.
    pub(crate) fn processes(&self) -> Result<Vec<u32>, Failure> {
        match &self.speaks {
            Speaks::Watched(watched) => watched.pids(),
            _ => Ok(self.pids.clone()),
        }
    }

    /// Holds a server, which is stopped with the target.
    pub(crate) fn hold(&mut self, process: HeldServer) {
        self.process = Some(process);
    }

    /// Checks that it is still up, as far as that can be known. Returns a doubt about the
    /// measurement if there is one.
    pub(crate) fn check(&mut self) -> Result<Option<Doubt>, Failure> {
        self.process.as_mut().map_or(Ok(None), HeldServer::check)
    }
}

/// An arm's levers, sorted by where they take hold.
pub(crate) struct Plan {
    arguments: Vec<String>,
    child: ChildPart,
    live: Vec<LeverSetting>,
    /// Levers that must be on while the target starts; dropping them takes them back.
    at_start: AtStart,
}

/// Levers that bind when a program starts or listens.
#[derive(Default)]
pub(crate) struct AtStart(Vec<(LeverSetting, Box<dyn Held + Send>)>);

impl AtStart {
    /// Takes them back, once the target is up.
    pub(crate) fn end(self) -> Result<(), Failure> {
        for (setting, held) in self.0.into_iter().rev() {
            held.undo()
                .map_err(|error| live::lever_failure(&setting, &error))?;
        }
        Ok(())
    }
}

impl Plan {
    pub(crate) fn from_levers(levers: &[LeverSetting], leave: Leave) -> Result<Self, Failure> {
        let mut plan = Self {
            arguments: Vec::new(),
            child: ChildPart::default(),
            live: Vec::new(),
            at_start: AtStart::default(),
        };
        for setting in levers {
            plan.add(setting, leave)
                .map_err(|error| live::lever_failure(setting, &error))?;
        }
        Ok(plan)
    }

    /// The levers that are put on in each block.
    pub(crate) fn into_live(self) -> Vec<LeverSetting> {
        self.live
    }

    /// Takes out the levers that must stay on until the target is up.
    pub(crate) fn take_at_start(&mut self) -> AtStart {
        std::mem::take(&mut self.at_start)
    }

    fn add(&mut self, setting: &LeverSetting, leave: Leave) -> Result<(), PlantedError> {
        let lever = live::find(setting)?;
        if live::is_of_blocks(lever.binds()) {
            self.live.push(setting.clone());
            return Ok(());
        }
        match lever.set(live::wanted(setting, leave))? {
            SetLever::ServeArgument(arguments) => self.arguments.extend(arguments),
            SetLever::Child(part) => {
                self.child.seccomp.extend(part.seccomp);
                self.child.program.extend(part.program);
            }
            SetLever::Held(held) => self.at_start.0.push((setting.clone(), held)),
        }
        Ok(())
    }
}

/// Starts our own server.
pub(crate) fn serve(
    setup: &Setup,
    plan: Plan,
    workload: &Workload,
    listen: Listen,
    cpus: &CpuSplit,
) -> Result<(Target, Vec<Doubt>), Failure> {
    let mut command = Command::new(&setup.program);
    let workers = workers(workload);
    let cpus = cpus.for_workers(workers);
    command
        .args(["serve", "--listen", &listen.any_port()])
        .args(["--workers", &workers.to_string()])
        .args(UNCONFINED)
        .args(&plan.arguments);
    let target = ours(command, plan, listen, &cpus, |address| {
        let (protocol, sizes, _) = speak_http(address, &workload.path)?;
        Ok((Speaks::Http(protocol, sizes), http(workload, false)))
    })?;
    Ok((target, more_than_one(workers, &cpus)))
}

/// Starts a service, and checks that it answers what its description says.
pub(crate) fn service(
    setup: &Setup,
    service: &Service,
    plan: Plan,
    workload: &Workload,
    listen: Listen,
    cpus: &CpuSplit,
) -> Result<(Target, Vec<Doubt>), Failure> {
    let folder = service::new_folder();
    let found_by = studies::enter(service, &folder)?;
    let workers = workers(workload);
    let cpus = cpus.for_workers(workers);
    let mut starting = Starting::new(plan.child, &cpus)?;
    let wish = Wish {
        address: Some(listen.0),
        workers,
        // The keeper itself is not pinned; it takes on the rest of the setup to hand it down.
        cpus: starting.take_cpus(),
        setup: starting.setup.clone(),
        folder,
        ..Wish::default()
    };
    let mut process = RunningService::start(&setup.program, service, wish)
        .map_err(|failure| starting.explain(failure))?;
    starting.verify(process.up.pid)?;
    let (address, path) = (process.network_address()?, &workload.path);
    let expected = process.expected_of(path)?;
    let (speaks, varies) =
        as_expected(address, path, &expected).map_err(|what| process.failure(&what))?;
    let target = Target {
        pids: vec![process.up.pid],
        reach: listen.reach(address, http(workload, varies)),
        process: Some(HeldServer::Service(Box::new(process), found_by)),
        _start: starting.into_start(),
        ..Target::met(address.into(), speaks, plan.live)
    };
    Ok((target, more_than_one(workers, &cpus)))
}

/// Starts the bare echo with the sizes of an HTTP target that is up.
pub(crate) fn echo(
    setup: &Setup,
    plan: Plan,
    sizes: Option<ExchangeBytes>,
    listen: Listen,
    cpus: &CpuSplit,
) -> Result<(Target, Vec<Doubt>), Failure> {
    let ExchangeBytes { request, answer } = sizes.ok_or_else(|| Failure {
        what: "the echo needs the sizes of an exchange, and no HTTP target is up".to_owned(),
        advice: "start the other arms first".to_owned(),
    })?;
    let mut command = Command::new(&setup.program);
    // A single worker is the process itself, whose CPU time is read.
    command.args(["echo", "--listen", &listen.any_port(), "--workers", "1"]);
    command.args(UNCONFINED);
    command.args([
        "--request-bytes",
        &request.to_string(),
        "--answer-bytes",
        &answer.to_string(),
    ]);
    let target = ours(command, plan, listen, &cpus.for_workers(1), |_| {
        let told = message::Speaks::Echo {
            request_bytes: request,
            answer_bytes: answer,
        };
        Ok((Speaks::Echo(EchoProtocol::new(request, answer)), told))
    })?;
    Ok((target, Vec::new()))
}

/// Starts a server of ours. Once it is up, `speaks` says what it speaks: to us, and in the form for
/// a client's agent.
fn ours(
    mut command: Command,
    plan: Plan,
    listen: Listen,
    cpus: &CpuSplit,
    speaks: impl FnOnce(SocketAddr) -> Result<(Speaks, message::Speaks), Failure>,
) -> Result<Target, Failure> {
    let starting = Starting::new(plan.child, cpus)?;
    environment::little(&mut command);
    let process = ServerProcess::start(command, starting.setup.clone())
        .map_err(|failure| starting.explain(failure))?;
    starting.verify(process.pid())?;
    let address = process.address;
    let (speaks, told) = speaks(address)?;
    Ok(Target {
        pids: vec![process.pid()],
        reach: listen.reach(address, told),
        process: Some(HeldServer::Ours(process)),
        _start: starting.into_start(),
        ..Target::met(address.into(), speaks, plan.live)
    })
}

/// Makes a target of one on another host, and checks that it answers from here.
pub(crate) fn met(reach: &Reach) -> Result<Target, Failure> {
    let address = reach.address;
    let speaks = match &reach.speaks {
        message::Speaks::Http { path, varies } => {
            let (protocol, sizes, _) = speak_http(address, path)?;
            Speaks::http(protocol, sizes, *varies)
        }
        message::Speaks::Echo {
            request_bytes,
            answer_bytes,
        } => Speaks::Echo(EchoProtocol::new(*request_bytes, *answer_bytes)),
    };
    Ok(Target::met(address.into(), speaks, Vec::new()))
}

/// Where a target is to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(IpAddr);

impl Default for Listen {
    fn default() -> Self {
        Self(Ipv4Addr::LOCALHOST.into())
    }
}

impl From<Option<IpAddr>> for Listen {
    fn from(address: Option<IpAddr>) -> Self {
        address.map_or_else(Self::default, Self)
    }
}

impl Listen {
    fn any_port(self) -> String {
        SocketAddr::new(self.0, 0).to_string()
    }

    /// How another host reaches the target; `None` on loopback, which leads elsewhere from there.
    fn reach(self, address: SocketAddr, speaks: message::Speaks) -> Option<Reach> {
        (!self.0.is_loopback()).then_some(Reach { address, speaks })
    }
}

/// The doubt that workers and client share CPUs. For a single worker the study raises it.
fn more_than_one(workers: u32, cpus: &CpuSplit) -> Vec<Doubt> {
    let doubt = cpus.doubt().filter(|_| workers > 1);
    doubt.into_iter().collect()
}

/// How many workers a target is to have: the study has settled on one number.
fn workers(workload: &Workload) -> u32 {
    workload.workers.counts(1)[0]
}

fn http(workload: &Workload, varies: bool) -> message::Speaks {
    message::Speaks::Http {
        path: workload.path.clone(),
        varies,
    }
}

/// The first address of a URL's host, which is used for the whole run.
pub(crate) fn resolve(url: &HttpUrl) -> Result<SocketAddr, Failure> {
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let first = found
        .map_err(|error| Failure::plain(format!("{}: {error}", url.host)))?
        .next();
    first.ok_or_else(|| Failure::plain(format!("{} has no address", url.host)))
}
