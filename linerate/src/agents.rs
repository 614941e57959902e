//! The agents of a run, where its rig puts them: one that is both client and server, or one on each
//! of two hosts.

use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::link::{Carried, LinkProcess};
use anyhow::{Context as _, ensure};
use machine::rig::{Host, Lab};
use model::Topology;
use model::link::{LinkPlan, LinkRecord, LinkSpec};
use model::rig::RigKind;
use study::hosts::{Hosts, Roles};
use study::pair::{NamedAgent, Pair};
use study::ssh::{self, Program};
use study::transport::LineAgent;
use study::{Agent, Clock};

use crate::failure::words;
use crate::ourselves::OURSELVES;

/// Where a run takes place.
pub(crate) enum Place {
    /// The loopback of a namespace of our own, where the kernel allows one.
    PrivateNamespace,
    /// The machine's own loopback, where the targets are running already.
    Loopback,
    /// Two hosts of a rig that is built for the run.
    Lab(Topology),
    /// Two hosts of a rig that is built for the run, with an emulated link between them.
    Linked(LinkPlan),
    /// Two machines.
    Hosts(Hosts),
    /// One machine, by the name that is given to `ssh`.
    Machine(String),
}

impl Place {
    /// The place for a rig of this kind, with a link or without; `hosts` finds the machines if the
    /// rig needs any.
    pub(crate) fn of(
        kind: RigKind,
        link: Option<&LinkSpec>,
        hosts: impl FnOnce() -> anyhow::Result<Hosts>,
    ) -> anyhow::Result<Self> {
        if let Some(link) = link {
            ensure!(
                kind == RigKind::Netns,
                "this study has a link, which is emulated on the rig `netns` and not on `{}`; \
                 leave `--rig` out, or remove the table [link] from a copy of the study",
                kind.name()
            );
            return Ok(Self::Linked(link.plan()?));
        }
        Ok(match kind {
            RigKind::Loopback => Self::PrivateNamespace,
            RigKind::Netns => Self::Lab(Topology::Netns),
            RigKind::Router => Self::Lab(Topology::Router),
            RigKind::Tunnel => Self::Lab(Topology::Tunnel),
            RigKind::Hosts => Self::Hosts(hosts()?),
        })
    }

    /// This place, with the seed of a run for the random numbers of a link whose study gives no
    /// seed.
    pub(crate) fn drawing(self, seed: u64) -> Self {
        match self {
            Self::Linked(plan) => Self::Linked(plan.drawing(seed)),
            other => other,
        }
    }
}

/// The agents of a run. Dropping them first undoes what they did, then removes what they run on.
pub(crate) enum Agents {
    One(LineAgent),
    Two(Box<Two>),
}

/// The agents on the client's host and on the server's, and what lies between them.
pub(crate) struct Two {
    client: Seat,
    server: Seat,
    /// Address of the server's host, as the client's host reaches it.
    address: IpAddr,
    link: Option<LinkProcess>,
    _lab: Option<Lab>,
}

/// An agent on a host of its own.
struct Seat {
    agent: LineAgent,
    /// What its host is called in errors.
    title: String,
}

impl Agents {
    pub(crate) fn start(place: &Place) -> anyhow::Result<Self> {
        let two = |two| Self::Two(Box::new(two));
        match place {
            Place::PrivateNamespace => start_private().map(Self::One),
            Place::Loopback => start(own_agent()?).map(Self::One),
            Place::Lab(topology) => Two::in_a_lab(*topology, None).map(two),
            Place::Linked(plan) => Two::in_a_lab(Topology::Wire, Some(plan)).map(two),
            Place::Hosts(hosts) => Two::over_ssh(hosts).map(two),
            Place::Machine(name) => {
                let program = Program::at(&own_program()?)?;
                Ok(Self::One(ssh::start_agent(
                    name, &program, prepare, is_stopped,
                )?))
            }
        }
    }

    /// Makes them work as one agent.
    pub(crate) fn as_one<T>(
        &mut self,
        clock: &dyn Clock,
        work: impl FnOnce(&mut dyn Agent) -> T,
    ) -> T {
        match self {
            Self::One(agent) => work(agent),
            Self::Two(two) => {
                let (server, client) = (two.server.end(), two.client.end());
                work(&mut Pair::new(server, client, two.address, clock))
            }
        }
    }

    /// Ends the link between them, if there is one, and returns what it carried.
    pub(crate) fn link_record(&mut self) -> anyhow::Result<Option<LinkRecord>> {
        let link = match self {
            Self::One(_) => None,
            Self::Two(two) => two.link.take(),
        };
        let carried = link.map(LinkProcess::finish).transpose();
        Ok(carried.map_err(words)?.as_ref().map(Carried::record))
    }

    /// Ends the agents at once: one within a block would otherwise go on to the block's end.
    pub(crate) fn end(&self) {
        let all: &[&LineAgent] = match self {
            Self::One(agent) => &[agent],
            Self::Two(two) => &[&two.client.agent, &two.server.agent],
        };
        for agent in all {
            let _ = sys::process::terminate(agent.process());
        }
    }
}

impl Two {
    fn in_a_lab(topology: Topology, plan: Option<&LinkPlan>) -> anyhow::Result<Self> {
        let program = Path::new(OURSELVES);
        let lab = Lab::build(program, topology)?;
        let link = plan.map(|plan| LinkProcess::start(program, &lab, plan));
        let link = link.transpose().map_err(words)?;
        let [(client, _), (server, address)] = lab.ends().context("the rig has no two ends")?;
        Ok(Self {
            client: Seat::in_a_lab(client, topology)?,
            server: Seat::in_a_lab(server, topology)?,
            address: address.into(),
            link,
            _lab: Some(lab),
        })
    }

    fn over_ssh(hosts: &Hosts) -> anyhow::Result<Self> {
        let program = Program::at(&own_program()?)?;
        let (client, server) = (&hosts.host.client, &hosts.host.server);
        Ok(Self {
            server: Seat::over_ssh("server", &server.ssh, &program)?,
            client: Seat::over_ssh("client", &client.ssh, &program)?,
            address: server.address,
            link: None,
            _lab: None,
        })
    }
}

impl Seat {
    fn in_a_lab(host: &Host, topology: Topology) -> anyhow::Result<Self> {
        let mut command = own_agent()?;
        let namespace = host.namespace().to_string();
        // An agent knows no rig with a link; to it this one is `netns`.
        let rig = match topology {
            Topology::Wire => Topology::Netns,
            other => other,
        };
        command.args(["--rig", rig.name(), "--namespace", &namespace]);
        host.put(&mut command)
            .with_context(|| format!("entering the rig's {}", host.name()))?;
        Ok(Self {
            agent: start(command)?,
            title: host.name().to_owned(),
        })
    }

    fn over_ssh(role: &str, name: &str, program: &Program) -> anyhow::Result<Self> {
        Ok(Self {
            agent: ssh::start_agent(name, program, prepare, is_stopped)?,
            title: format!("{role} ({name})"),
        })
    }

    fn end(&mut self) -> NamedAgent<'_> {
        NamedAgent {
            agent: &mut self.agent,
            title: self.title.clone(),
        }
    }
}

/// Starts an agent that is client and server, in a namespace of its own where the kernel allows it.
pub(crate) fn start_private() -> anyhow::Result<LineAgent> {
    let mut command = own_agent()?;
    command.arg("--private-namespace");
    start(command)
}

/// Longest silence of a far end: one that has nothing to do says something sooner.
pub(crate) const FAR_SILENCE: Duration = Duration::from_secs(30);

/// The commands that start a process of ours on the client's machine and on the server's, to play a
/// role there.
pub(crate) fn far_roles(hosts: &Hosts) -> anyhow::Result<[Command; 2]> {
    let program = Program::at(&own_program()?)?;
    let role = |name: &str| -> anyhow::Result<Command> {
        let mut command = ssh::command(name, &program, agent::PLAY, prepare, is_stopped)?;
        // Whatever it has to say comes on its standard output.
        command.stderr(Stdio::null());
        Ok(command)
    };
    let Roles { client, server } = &hosts.host;
    Ok([role(&client.ssh)?, role(&server.ssh)?])
}

fn own_program() -> anyhow::Result<std::path::PathBuf> {
    std::env::current_exe().context("finding the program itself")
}

fn own_agent() -> anyhow::Result<Command> {
    let mut command = Command::new(own_program()?);
    command.arg("agent");
    Ok(command)
}

fn start(mut command: Command) -> anyhow::Result<LineAgent> {
    prepare(&mut command);
    Ok(LineAgent::start(&mut command, is_stopped)?)
}

/// Puts an agent into a process group of its own: Ctrl-C on a terminal then reaches us alone, and
/// we tell the agent, which undoes what it did.
fn prepare(command: &mut Command) {
    command.process_group(0);
    sys::process::outlive_to_undo(command);
}

fn is_stopped() -> bool {
    sys::stop::heard().is_some()
}
