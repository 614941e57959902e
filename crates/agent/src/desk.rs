//! From an ask to a tell.

use std::collections::BTreeMap;

use machine::cpus::CpuSplit;
use model::lever::{LeverSetting, LeverState};
use model::message::{Failure, PROTOCOL};
use model::run::Rig;
use model::study::Program;
use model::{Ask, Service, Tell, Workload};

use crate::Setup;
use crate::block;
use crate::live::LiveLevers;
use crate::target::{self, Target};

/// Everything that an agent holds. Dropping it stops the targets first and takes the levers off
/// after them.
pub(crate) struct Desk {
    setup: Setup,
    rig: Rig,
    targets: BTreeMap<String, Target>,
    /// Those that were found, by name.
    services: BTreeMap<String, Service>,
    live: LiveLevers,
    cpus: CpuSplit,
}

impl Desk {
    pub(crate) fn new(setup: Setup) -> Self {
        let rig = if setup.private_namespace {
            private_or_loopback()
        } else {
            Rig::Loopback { reason: None }
        };
        Self {
            setup,
            rig,
            targets: BTreeMap::new(),
            services: BTreeMap::new(),
            live: LiveLevers::default(),
            cpus: machine::cpus::here().unwrap_or_default(),
        }
    }

    /// Carries out one ask.
    pub(crate) fn handle(&mut self, ask: Ask) -> Result<Tell, Failure> {
        match ask {
            Ask::Hello { protocol } => self.hello(protocol),
            Ask::Facts { full } => Ok(Tell::Facts(Box::new(machine::facts::collect(full)))),
            Ask::Levers => Ok(Tell::Levers { levers: levers() }),
            Ask::Watch { watch_ms } => Ok(Tell::Watched(machine::watch(watch_ms))),
            Ask::Find { service } => self.find(*service),
            Ask::Start {
                target,
                program,
                levers,
                workload,
            } => self.start(target, &program, &levers, &workload),
            Ask::Block(ask) => self.block(&ask),
            Ask::Stop { target } => self.stop(target),
        }
    }

    fn hello(&self, protocol: u32) -> Result<Tell, Failure> {
        if protocol != PROTOCOL {
            return Err(Failure {
                what: format!("this agent speaks protocol {PROTOCOL}, not {protocol}"),
                advice: "use the same version of Linerate on both ends".to_owned(),
            });
        }
        let linerate_version = self.setup.linerate_version.clone();
        Ok(Tell::Hello {
            protocol,
            linerate_version,
            rig: self.rig.clone(),
        })
    }

    fn find(&mut self, service: Service) -> Result<Tell, Failure> {
        let found = crate::service::find(&service)?;
        self.services.insert(service.name.clone(), service);
        Ok(Tell::Found(found))
    }

    fn start(
        &mut self,
        name: String,
        program: &Program,
        levers: &[LeverSetting],
        workload: &Workload,
    ) -> Result<Tell, Failure> {
        // A target of that name that is up already goes first, or its port would stay taken.
        drop(self.targets.remove(&name));
        let sizes = self.targets.values().find_map(Target::exchange);
        let plan = target::Plan::from_levers(levers)?;
        let (target, doubts) = match program {
            Program::Serve => target::serve(&self.setup, plan, workload, &self.cpus)?,
            Program::Echo => target::echo(&self.setup, plan, sizes, &self.cpus)?,
            Program::Service(name) => {
                let service = self.services.get(name).ok_or_else(|| not_found(name))?;
                target::service(&self.setup, service, plan, workload, &self.cpus)?
            }
            Program::Url(url) => target::running(&name, url, plan, &self.cpus)?,
        };
        self.targets.insert(name.clone(), target);
        Ok(Tell::Started {
            target: name,
            doubts,
        })
    }

    fn stop(&mut self, name: String) -> Result<Tell, Failure> {
        match self.targets.remove(&name) {
            Some(_) => Ok(Tell::Stopped { target: name }),
            None => Err(unknown(&name)),
        }
    }

    fn block(&mut self, ask: &model::message::BlockAsk) -> Result<Tell, Failure> {
        let target = self
            .targets
            .get_mut(&ask.target)
            .ok_or_else(|| unknown(&ask.target))?;
        self.live.become_these(&target.live_levers)?;
        let measured = block::measure(target, ask, &self.cpus);
        // A target that has ended explains a block that failed, and voids one that did not.
        let doubt = target.check()?;
        let mut reading = measured?;
        reading.doubts.extend(doubt);
        self.live.verify()?;
        Ok(Tell::Reading(Box::new(reading)))
    }
}

/// Our own namespace, or the reason why there is none.
fn private_or_loopback() -> Rig {
    match machine::namespace::enter() {
        Ok(_) => Rig::PrivateNamespace,
        Err(error) => Rig::Loopback {
            reason: Some(format!("no namespace of our own: {error}")),
        },
    }
}

fn levers() -> Vec<LeverState> {
    let state = |lever: &&dyn machine::levers::Lever| LeverState {
        name: lever.name().to_owned(),
        binds: lever.binds(),
        unavailable: lever.unavailable(),
        only_serve: lever.only_serve(),
    };
    machine::levers::all().iter().map(state).collect()
}

fn not_found(service: &str) -> Failure {
    Failure {
        what: format!("the service `{service}` was not looked for"),
        advice: "ask whether it is here first".to_owned(),
    }
}

fn unknown(target: &str) -> Failure {
    Failure {
        what: format!("no target `{target}` is up"),
        advice: "start it first".to_owned(),
    }
}
