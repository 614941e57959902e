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

/// Where a run is to take place.
pub(crate) enum Place {
    /// The loopback of a namespace of our own, where the kernel allows one.
    PrivateNamespace,
    /// The machine's own loopback, where the targets run already.
    Loopback,
    /// Two hosts of a rig that is built for the run.
    Lab(Topology),
    /// Two hosts of such a rig with an emulated link between them.
    Linked(LinkPlan),
    /// Two machines.
    Hosts(Hosts),
    /// One machine, by what is typed after `ssh`.
    Machine(String),
}

impl Place {
    /// Where a rig of that kind is, with a link or without; `hosts` finds the machines, where it
    /// takes some.
    pub(crate) fn of(
        kind: RigKind,
        link: Option<&LinkSpec>,
        hosts: impl FnOnce() -> anyhow::Result<Hosts>,
    ) -> anyhow::Result<Self> {
        if let Some(link) = link {
            ensure!(
                kind == RigKind::Netns,
                "this study has a link, which is emulated on the rig `netns` and not on `{}`; \
                 leave `--rig` away, or the table [link] out of a copy of the study",
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

    /// This place with the seed of a run for what a link draws, where its study gives none.
    pub(crate) fn drawing(self, seed: u64) -> Self {
        match self {
            Self::Linked(plan) => Self::Linked(plan.drawing(seed)),
            other => other,
        }
    }
}

/// The agents of a run. Dropping them undoes everything, and then takes away what they stand on.
pub(crate) enum Agents {
    One(LineAgent),
    Two(Box<Two>),
}

/// A client's host and a server's.
pub(crate) struct Two {
    client: Seat,
    server: Seat,
    /// Of the server's host, as the client's reaches it.
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

    /// Has them work as one agent.
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

    /// What the link between them carried, where there is one; the last that is asked of it.
    pub(crate) fn link_record(&mut self) -> anyhow::Result<Option<LinkRecord>> {
        let link = match self {
            Self::One(_) => None,
            Self::Two(two) => two.link.take(),
        };
        let carried = link.map(LinkProcess::finish).transpose();
        Ok(carried.map_err(words)?.as_ref().map(Carried::record))
    }

    /// Has them end at once: one in the middle of a block would go on to the block's end.
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
        // To an agent a link is no rig of its own.
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

/// An agent that is client and server, in a namespace of its own where the kernel allows it.
pub(crate) fn start_private() -> anyhow::Result<LineAgent> {
    let mut command = own_agent()?;
    command.arg("--private-namespace");
    start(command)
}

/// A far end that has nothing to do says something sooner.
pub(crate) const FAR_SILENCE: Duration = Duration::from_secs(30);

/// What starts a process of ours on the client's machine, and on the server's, to play a role there.
pub(crate) fn far_roles(hosts: &Hosts) -> anyhow::Result<[Command; 2]> {
    let program = Program::at(&own_program()?)?;
    let role = |name: &str| -> anyhow::Result<Command> {
        let mut command = ssh::command(name, &program, agent::PLAY, prepare, is_stopped)?;
        // What is to be said of it comes on its output.
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

/// Ctrl-C on a terminal goes to us alone; we tell the agent, which undoes what it did.
fn prepare(command: &mut Command) {
    command.process_group(0);
    sys::process::outlive_to_undo(command);
}

fn is_stopped() -> bool {
    sys::stop::heard().is_some()
}
