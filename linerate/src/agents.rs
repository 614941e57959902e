//! The agents of a run, where its rig puts them: one that is both client and server, or one on each
//! of two hosts.

use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use machine::rig::{Host, Lab};
use model::Topology;
use model::study::RigKind;
use study::pair::{End, Pair};
use study::transport::LineAgent;
use study::{Agent, Clock};

/// Where a run is to take place.
pub(crate) enum Place {
    /// The loopback of a namespace of our own, where the kernel allows one.
    PrivateNamespace,
    /// The machine's own loopback, where the targets run already.
    Loopback,
    /// Two hosts of a rig that is built for the run.
    Lab(Topology),
}

impl Place {
    pub(crate) fn of(kind: RigKind) -> anyhow::Result<Self> {
        Ok(match kind {
            RigKind::Loopback => Self::PrivateNamespace,
            RigKind::Netns => Self::Lab(Topology::Netns),
            RigKind::Router => Self::Lab(Topology::Router),
            RigKind::Tunnel => Self::Lab(Topology::Tunnel),
            RigKind::Hosts => bail!("the rig `hosts` needs to know them"),
        })
    }
}

/// The agents of a run. Dropping them undoes everything, and then takes the rig away.
pub(crate) enum Agents {
    One(LineAgent),
    Two(Box<Two>),
}

/// A server's host and a client's. What they stand on goes last.
pub(crate) struct Two {
    client: LineAgent,
    server: LineAgent,
    /// Of the server's host, as the client's reaches it.
    address: IpAddr,
    _lab: Lab,
}

impl Agents {
    pub(crate) fn start(place: &Place) -> anyhow::Result<Self> {
        match place {
            Place::PrivateNamespace => start_private().map(Self::One),
            Place::Loopback => start(own_agent()?).map(Self::One),
            Place::Lab(topology) => Two::in_a_lab(*topology).map(|two| Self::Two(Box::new(two))),
        }
    }

    /// Has them work as one agent.
    pub(crate) fn as_one<T>(
        &mut self,
        clock: &dyn Clock,
        work: impl FnOnce(&mut dyn Agent) -> T,
    ) -> T {
        match self {
            Self::One(agent) => work(agent),
            Self::Two(two) => {
                let server = end(&mut two.server, "server");
                let client = end(&mut two.client, "client");
                work(&mut Pair::new(server, client, two.address, clock))
            }
        }
    }

    /// Has them end at once: one in the midst of a block would go on to the block's end.
    pub(crate) fn end(&self) {
        let all: &[&LineAgent] = match self {
            Self::One(agent) => &[agent],
            Self::Two(two) => &[&two.client, &two.server],
        };
        for agent in all {
            let _ = sys::process::terminate(agent.process());
        }
    }
}

fn end<'a>(agent: &'a mut LineAgent, title: &str) -> End<'a> {
    End {
        agent,
        title: title.to_owned(),
    }
}

impl Two {
    fn in_a_lab(topology: Topology) -> anyhow::Result<Self> {
        let lab = Lab::build(Path::new("/proc/self/exe"), topology)?;
        let host = |name| {
            lab.host(name)
                .with_context(|| format!("the rig has no {name}"))
        };
        let (client, server) = (host("client")?, host("server")?);
        let address = server
            .address()
            .context("the rig's server has no address")?;
        Ok(Self {
            client: start(agent_on(client, topology)?)?,
            server: start(agent_on(server, topology)?)?,
            address: address.into(),
            _lab: lab,
        })
    }
}

fn agent_on(host: &Host, topology: Topology) -> anyhow::Result<Command> {
    let mut command = own_agent()?;
    let namespace = host.namespace().to_string();
    command.args(["--rig", topology.name(), "--namespace", &namespace]);
    host.put(&mut command)
        .with_context(|| format!("entering the rig's {}", host.name()))?;
    Ok(command)
}

/// An agent that is client and server, in a namespace of its own where the kernel allows it.
pub(crate) fn start_private() -> anyhow::Result<LineAgent> {
    let mut command = own_agent()?;
    command.arg("--private-namespace");
    start(command)
}

fn own_agent() -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("finding the program itself")?;
    let mut command = Command::new(program);
    command.arg("agent");
    Ok(command)
}

fn start(mut command: Command) -> anyhow::Result<LineAgent> {
    // Ctrl-C on a terminal goes to us alone; we tell the agent, which undoes what it did.
    command.process_group(0);
    sys::process::outlive_to_undo(&mut command);
    let is_stopped = || sys::stop::heard().is_some();
    Ok(LineAgent::start(&mut command, is_stopped)?)
}
