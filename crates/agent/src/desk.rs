//! Carries out each ask of an agent and makes the tell that answers it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use machine::cpus::CpuSplit;
use model::command::FolderCommand;
use model::cpus::CpuWish;
use model::failure::Failure;
use model::gate::Build;
use model::lever::LeverSetting;
use model::message::{BlockAsk, ClockTell, HinderAsk, ObserveAsk, PROTOCOL, Reach, Whom};
use model::request::RequestSpec;
use model::run::Rig;
use model::study::Program;
use model::{Ask, Service, Tell, Workload};

use crate::block;
use crate::counting::Counting;
use crate::gate::{self, Trees};
use crate::live::LiveLevers;
use crate::observing;
use crate::own_command;
use crate::probing;
use crate::running;
use crate::speaks::ExchangeBytes;
use crate::target::{self, Target};
use crate::watched;
use crate::workshop::Workshop;
use crate::{Place, Setup};

/// Everything that an agent holds. Dropping it stops the targets first and takes the levers back
/// after that.
pub(crate) struct Desk {
    setup: Setup,
    rig: Rig,
    targets: BTreeMap<String, Target>,
    /// The builds of commits, once they were asked for. Dropped after `targets`, which may run
    /// them.
    trees: Option<Trees>,
    /// The sizes of an exchange with the first target, which is the baseline. An echo uses the
    /// same.
    exchange: Option<ExchangeBytes>,
    /// The services that were found, by name.
    services: BTreeMap<String, Service>,
    live: LiveLevers,
    /// The target whose counters are being read, and the thread that reads them.
    counting: Option<(String, Counting)>,
    /// The folder in which commands run, once it was asked for.
    workshop: Option<Workshop>,
    cpus: CpuSplit,
}

impl Desk {
    pub(crate) fn new(setup: Setup) -> Self {
        let rig = match &setup.place {
            Place::Here => Rig::Loopback { reason: None },
            Place::PrivateNamespace => private_or_loopback(),
            Place::Host(rig) => rig.clone(),
        };
        Self {
            setup,
            rig,
            targets: BTreeMap::new(),
            trees: None,
            exchange: None,
            services: BTreeMap::new(),
            live: LiveLevers::default(),
            counting: None,
            workshop: None,
            cpus: machine::cpus::here(&CpuWish::default()).unwrap_or_default(),
        }
    }

    /// Carries out one ask.
    pub(crate) fn handle(&mut self, ask: Ask) -> Result<Tell, Failure> {
        match ask {
            Ask::Hello { protocol } => self.hello(protocol),
            Ask::Facts { full } => Ok(Tell::Facts(Box::new(machine::facts::collect(full)))),
            Ask::Cpus(wish) => self.share_cpus(&wish),
            Ask::Levers {
                wanted,
                first,
                leave,
                workers,
            } => {
                let cpus = self.cpus.for_workers(workers).server;
                let levers = self.live.states(wanted, &first, leave, &cpus)?;
                Ok(Tell::Levers { levers })
            }
            Ask::Boot { wanted } => Ok(Tell::Boot(Box::new(machine::boot::tell(&wanted)))),
            Ask::Watch { watch_ms } => Ok(Tell::Watched(machine::watch(watch_ms))),
            Ask::Find { service } => self.find(*service),
            Ask::Build(build) => self.build(*build),
            Ask::Start {
                target,
                program,
                levers,
                workload,
                listen,
            } => self.start(target, &program, &levers, &workload, listen),
            Ask::Block(ask) => self.block(&ask),
            Ask::Observe(ask) => self.observe(&ask),
            Ask::Hinder(ask) => self.hinder(&ask),
            Ask::Probe(ask) => Ok(Tell::Probed {
                values: probing::values(&ask, &self.setup.program),
            }),
            Ask::Meet { target, reach } => self.meet(target, &reach),
            Ask::Load(ask) => self.load(&ask),
            Ask::Count {
                target,
                interval_ms,
            } => self.count(target, interval_ms),
            Ask::Counted {
                target,
                from_ns,
                to_ns,
            } => self.counted(&target, from_ns, to_ns),
            Ask::Clock => Ok(Tell::Clock(clock())),
            Ask::Stop { target } => self.stop(target),
            Ask::FindProgram { need } => {
                crate::service::find_program(&need.title, &need.find).map(Tell::Found)
            }
            Ask::MakeFolder {
                files,
                with_linerate,
            } => self.make_folder(&files, with_linerate),
            Ask::Run(command) => self.run(&command),
            Ask::Serve(command) => self.serve(&command),
            Ask::EndServing => self.end_serving(),
        }
    }

    fn hello(&self, protocol: u32) -> Result<Tell, Failure> {
        if protocol != PROTOCOL {
            return Err(Failure {
                what: format!("this agent speaks protocol {PROTOCOL}, not {protocol}"),
                advice: "use the same version of Linerate on both ends".to_owned(),
            });
        }
        Ok(Tell::Hello {
            protocol,
            linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
            rig: self.rig.clone(),
        })
    }

    fn share_cpus(&mut self, wish: &CpuWish) -> Result<Tell, Failure> {
        self.cpus = machine::cpus::here(wish).map_err(|error| Failure::plain(error.to_string()))?;
        Ok(Tell::Cpus(self.cpus.told()))
    }

    fn find(&mut self, service: Service) -> Result<Tell, Failure> {
        let found = crate::service::find(&service)?;
        self.services.insert(service.name.clone(), service);
        Ok(Tell::Found(found))
    }

    fn build(&mut self, build: Build) -> Result<Tell, Failure> {
        let name = build.name.clone();
        let trees = match self.trees.take() {
            Some(trees) => self.trees.insert(trees),
            None => self.trees.insert(Trees::new()?),
        };
        trees.build(build)?;
        Ok(Tell::Built { name })
    }

    fn start(
        &mut self,
        name: String,
        program: &Program,
        levers: &[LeverSetting],
        workload: &Workload,
        listen: Option<IpAddr>,
    ) -> Result<Tell, Failure> {
        // A target of that name that is already up is stopped first, or its port would stay in use.
        drop(self.targets.remove(&name));
        let mut plan = target::Plan::from_levers(levers, self.live.leave)?;
        let at_start = plan.take_at_start();
        let listen = listen.into();
        let (target, doubts) = match program {
            Program::Serve => target::serve(&self.setup, plan, workload, listen, &self.cpus)?,
            Program::Echo => target::echo(&self.setup, plan, self.exchange, listen, &self.cpus)?,
            Program::Service(name) => {
                let service = self.services.get(name).ok_or_else(|| not_found(name))?;
                target::service(&self.setup, service, plan, workload, listen, &self.cpus)?
            }
            Program::Built(name) => {
                let tree = self.trees.as_ref().and_then(|trees| trees.get(name));
                let tree = tree.ok_or_else(|| not_built(name))?;
                (gate::start(&self.setup, tree, &self.cpus)?, Vec::new())
            }
            Program::Url(url) => running::running(&name, &RequestSpec::get(url), plan, &self.cpus)?,
            Program::Watched(url) => (watched::watched(url, plan)?, Vec::new()),
            Program::Request(request) => running::running(&name, request, plan, &self.cpus)?,
        };
        at_start.end()?;
        let (reach, answers) = (target.reach.clone(), target.answers.clone());
        self.exchange = self.exchange.or_else(|| target.exchange());
        self.targets.insert(name.clone(), target);
        Ok(Tell::Started {
            target: name,
            doubts,
            reach,
            answers,
        })
    }

    fn meet(&mut self, name: String, reach: &Reach) -> Result<Tell, Failure> {
        self.targets.insert(name.clone(), target::met(reach)?);
        Ok(Tell::Met { target: name })
    }

    fn make_folder(
        &mut self,
        files: &BTreeMap<String, String>,
        with_linerate: bool,
    ) -> Result<Tell, Failure> {
        let workshop = Workshop::new(&self.setup, files, with_linerate)?;
        let path = workshop.folder().display().to_string();
        self.workshop = Some(workshop);
        Ok(Tell::Folder { path, server: None })
    }

    fn run(&mut self, command: &FolderCommand) -> Result<Tell, Failure> {
        let ran = there(&mut self.workshop)?.run(command, &self.cpus)?;
        Ok(Tell::Ran(Box::new(ran)))
    }

    fn serve(&mut self, command: &FolderCommand) -> Result<Tell, Failure> {
        let port = there(&mut self.workshop)?.serve(command, &self.cpus)?;
        Ok(Tell::Serving { port })
    }

    fn end_serving(&mut self) -> Result<Tell, Failure> {
        there(&mut self.workshop)?.end_serving()?;
        Ok(Tell::Served)
    }

    fn stop(&mut self, name: String) -> Result<Tell, Failure> {
        self.targets.remove(&name).ok_or_else(|| unknown(&name))?;
        if self.targets.is_empty() {
            self.live.become_these(&[])?;
        }
        Ok(Tell::Stopped { target: name })
    }

    fn block(&mut self, ask: &BlockAsk) -> Result<Tell, Failure> {
        // Where one arm has such a lever, the arm without it is measured in the same way.
        let of_new = self.targets.values().any(Target::binds_at_a_connection);
        let target = known(&mut self.targets, &ask.target)?;
        self.live.become_these(&target.live_levers)?;
        let measured = block::measure(target, ask, &self.cpus, of_new);
        // A target that has ended explains why a block failed, and voids a block that did not fail.
        let doubt = target.check()?;
        let mut reading = measured?.reading;
        reading.doubts.extend(doubt);
        self.live.verify()?;
        Ok(Tell::Reading(Box::new(reading)))
    }

    fn observe(&mut self, ask: &ObserveAsk) -> Result<Tell, Failure> {
        let seen = match &ask.whom {
            Whom::Loaded(block) => {
                let target = known(&mut self.targets, &block.target)?;
                self.live.become_these(&target.live_levers)?;
                observing::under_load(target, block, ask, &self.cpus)?
            }
            Whom::Target { name, settle_ms } => {
                let target = known(&mut self.targets, name)?;
                self.live.become_these(&target.live_levers)?;
                observing::wait_ms(*settle_ms);
                observing::at_work(&target.pids, ask, &self.cpus)?
            }
            Whom::Process(pid) => observing::at_work(&[*pid], ask, &self.cpus)?,
            Whom::Listener { address } => {
                observing::at_work(&observing::listening_on(*address)?, ask, &self.cpus)?
            }
            Whom::Command { words } => own_command::at_work(words, ask, &self.cpus.client)?,
        };
        Ok(Tell::Observed(Box::new(seen)))
    }

    fn hinder(&mut self, ask: &HinderAsk) -> Result<Tell, Failure> {
        let target = known(&mut self.targets, &ask.block.target)?;
        let hindered = observing::hindered(target, ask, &self.cpus)?;
        Ok(Tell::Hindered(Box::new(hindered)))
    }

    fn load(&mut self, ask: &BlockAsk) -> Result<Tell, Failure> {
        let target = known(&mut self.targets, &ask.target)?;
        let loaded = block::measure(target, ask, &self.cpus, false)?;
        Ok(Tell::Loaded(Box::new(loaded)))
    }

    fn count(&mut self, name: String, interval_ms: u32) -> Result<Tell, Failure> {
        let target = known(&mut self.targets, &name)?;
        self.live.become_these(&target.live_levers)?;
        let counting = Counting::begin(&target.pids, interval_ms, &self.cpus.client);
        self.counting = Some((name.clone(), counting));
        Ok(Tell::Counting { target: name })
    }

    fn counted(&mut self, name: &str, from_ns: u64, to_ns: u64) -> Result<Tell, Failure> {
        let counting = self.counting.take_if(|(counted, _)| counted == name);
        let (_, counting) = counting.ok_or_else(|| not_counted(name))?;
        let series = counting.end();
        let doubt = known(&mut self.targets, name)?.check()?;
        self.live.verify()?;
        Ok(match series.within(from_ns, to_ns) {
            Some(counts) => Tell::Counts {
                counts,
                doubts: doubt.into_iter().collect(),
            },
            None => Tell::Uncounted {
                target: name.to_owned(),
            },
        })
    }
}

fn there(workshop: &mut Option<Workshop>) -> Result<&mut Workshop, Failure> {
    workshop.as_mut().ok_or_else(|| Failure {
        what: "there is no folder for commands".to_owned(),
        advice: "ask for one first".to_owned(),
    })
}

fn known<'a>(
    targets: &'a mut BTreeMap<String, Target>,
    name: &str,
) -> Result<&'a mut Target, Failure> {
    targets.get_mut(name).ok_or_else(|| unknown(name))
}

/// The time of this machine's clock. The boot id is empty where the machine does not tell it, and
/// then equals no other machine's.
fn clock() -> ClockTell {
    ClockTell {
        monotonic_ns: sys::clock::monotonic_ns(),
        boot_id: machine::journal::boot_id().unwrap_or_default(),
    }
}

/// Enters a network namespace of our own, or gives the reason why that failed.
fn private_or_loopback() -> Rig {
    match machine::namespace::enter() {
        Ok(_) => Rig::PrivateNamespace,
        Err(error) => Rig::Loopback {
            reason: Some(format!("no namespace of our own: {error}")),
        },
    }
}

fn not_found(service: &str) -> Failure {
    Failure {
        what: format!("the service `{service}` was not looked for"),
        advice: "ask whether it is here first".to_owned(),
    }
}

fn not_built(name: &str) -> Failure {
    Failure {
        what: format!("`{name}` was not built"),
        advice: "ask for that first".to_owned(),
    }
}

fn not_counted(target: &str) -> Failure {
    Failure {
        what: format!("the counters of `{target}` are not being read"),
        advice: "ask to count first".to_owned(),
    }
}

fn unknown(target: &str) -> Failure {
    Failure {
        what: format!("no target `{target}` is up"),
        advice: "start it first".to_owned(),
    }
}
