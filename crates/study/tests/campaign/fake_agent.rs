//! An agent that touches nothing: it answers as a quiet machine would.

use model::cpus::CpuShare;
use model::facts::{Facts, Watched};
use model::lever::{LeverSetting, LeverState};
use std::net::SocketAddr;

use model::failure::Failure;
use model::message::{ProbeAsk, Reach, Speaks};
use model::observation::{Observation, SeenLoad, SeenThread};
use model::reading::CpuReading;
use model::reboot::{Boot, BootChange, BootTell};
use model::run::Rig;
use model::service::FoundService;
use model::{Ask, Binds, Reading, Tell};
use study::Agent;
use study::transport::AgentError;

/// An agent that answers everything, until the failure that a test asks for.
pub(crate) struct FakeAgent {
    /// Requests answered in each block.
    pub(crate) answered: u64,
    pub(crate) asked: Vec<Ask>,
    /// Whether a target's requests cost half again as much as those of the others.
    pub(crate) is_costly: fn(&str) -> bool,
    pub(crate) facts: Facts,
    pub(crate) watched: Watched,
    pub(crate) rig: Rig,
    pub(crate) blocks_until_failure: Option<usize>,
    pub(crate) meetings_until_failure: Option<usize>,
    pub(crate) counts_until_failure: Option<usize>,
    pub(crate) service_version: String,
    pub(crate) boot: Boot,
}

impl Default for FakeAgent {
    fn default() -> Self {
        Self {
            answered: 1000,
            asked: Vec::new(),
            is_costly: |_| false,
            facts: Facts {
                cpus_allowed: "0-1".to_owned(),
                ..Facts::default()
            },
            watched: Watched::default(),
            rig: Rig::PrivateNamespace,
            blocks_until_failure: None,
            meetings_until_failure: None,
            counts_until_failure: None,
            service_version: "1.22.1".to_owned(),
            boot: Boot::default(),
        }
    }
}

impl FakeAgent {
    /// An agent whose server is gone once it has measured this many blocks.
    pub(crate) fn failing_after(blocks: usize) -> Self {
        Self {
            blocks_until_failure: Some(blocks),
            ..Self::default()
        }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &model::message::BlockAsk> {
        self.asked.iter().filter_map(|ask| match ask {
            Ask::Block(block) => Some(&**block),
            _ => None,
        })
    }

    fn answer(&mut self, ask: &Ask) -> Tell {
        match ask {
            Ask::Hello { protocol } => Tell::Hello {
                protocol: *protocol,
                linerate_version: String::new(),
                rig: self.rig.clone(),
            },
            Ask::Facts { .. } => Tell::Facts(Box::new(self.facts.clone())),
            Ask::Cpus(_) => Tell::Cpus(CpuShare {
                server_cpus: 1,
                client_cpus: 1,
                ..CpuShare::default()
            }),
            Ask::Levers { wanted, .. } => Tell::Levers {
                levers: wanted.iter().cloned().map(offered).collect(),
            },
            Ask::Boot { wanted } => Tell::Boot(Box::new(BootTell {
                boot: self.boot.clone(),
                change: BootChange {
                    make: vec![format!("add {wanted}")],
                    undo: vec![format!("take {wanted} out")],
                    ..BootChange::default()
                },
            })),
            Ask::Watch { .. } => Tell::Watched(self.watched.clone()),
            Ask::Find { .. } => Tell::Found(FoundService {
                sha256: None,
                program: "/usr/sbin/nginx".to_owned(),
                version: self.service_version.clone(),
            }),
            Ask::Start { target, listen, .. } => Tell::Started {
                target: target.clone(),
                doubts: Vec::new(),
                reach: listen.map(|address| Reach {
                    address: SocketAddr::new(address, 4000),
                    speaks: Speaks::Http {
                        path: "/json".to_owned(),
                        varies: false,
                    },
                }),
                answers: Vec::new(),
            },
            Ask::Block(block) => self.block(&block.target),
            Ask::Probe(ask) => probed(ask),
            Ask::Observe(_) => Tell::Observed(Box::new(self.observed())),
            Ask::Meet { target, .. } => self.meet(target),
            Ask::Clock
            | Ask::Count { .. }
            | Ask::Load(_)
            | Ask::Hinder(_)
            | Ask::Counted { .. } => {
                panic!("only an agent with a clock answers {ask:?}")
            }
            Ask::Stop { target } => Tell::Stopped {
                target: target.clone(),
            },
            Ask::Build(_)
            | Ask::FindProgram { .. }
            | Ask::MakeFolder { .. }
            | Ask::Run(_)
            | Ask::Serve(_)
            | Ask::EndServing => Tell::Failed(Failure {
                what: "it runs no commands".to_owned(),
                advice: String::new(),
            }),
        }
    }

    /// One thread that is busy all the time.
    fn observed(&self) -> Observation {
        Observation {
            window_ns: 200_000_000,
            load: Some(SeenLoad {
                answered: self.answered,
                ..SeenLoad::default()
            }),
            threads: vec![SeenThread {
                running_ns: 200_000_000,
                waits: 2 * self.answered,
                cpus: 1,
                ..SeenThread::default()
            }],
            ..Observation::default()
        }
    }

    fn meet(&mut self, target: &str) -> Tell {
        if is_over(&mut self.meetings_until_failure) {
            return failed("no way to the server");
        }
        Tell::Met {
            target: target.to_owned(),
        }
    }

    pub(crate) fn count(&mut self, target: &str) -> Tell {
        if is_over(&mut self.counts_until_failure) {
            return failed("the server is gone");
        }
        Tell::Counting {
            target: target.to_owned(),
        }
    }

    fn block(&mut self, target: &str) -> Tell {
        if is_over(&mut self.blocks_until_failure) {
            return failed("the server is gone");
        }
        let cpu = CpuReading {
            server_ns: Some(if (self.is_costly)(target) {
                9_000_000
            } else {
                6_000_000
            }),
            ..CpuReading::default()
        };
        let reading = Reading {
            window_ns: 500_000_000,
            answered: self.answered,
            cpu,
            ..Reading::default()
        };
        Tell::Reading(Box::new(reading))
    }
}

impl Agent for FakeAgent {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        self.asked.push(ask.clone());
        match self.answer(ask) {
            Tell::Failed(failure) => Err(AgentError::Refused(failure)),
            tell => Ok(tell),
        }
    }
}

/// Counts one more, and returns whether that is one too many.
fn is_over(left: &mut Option<usize>) -> bool {
    match left {
        Some(0) => true,
        Some(left) => {
            *left -= 1;
            false
        }
        None => false,
    }
}

fn probed(ask: &ProbeAsk) -> Tell {
    let values = ask.names.iter().map(|name| (name.clone(), vec![100.0]));
    Tell::Probed {
        values: values.collect(),
    }
}

fn failed(what: &str) -> Tell {
    Tell::Failed(Failure {
        what: what.to_owned(),
        advice: String::new(),
    })
}

/// Offers a lever. `mitigations` binds at boot, so it is unavailable.
fn offered(setting: LeverSetting) -> LeverState {
    let binds_at_boot = setting.name == "mitigations";
    LeverState {
        setting,
        is_so: false,
        binds: if binds_at_boot {
            Binds::Boot
        } else {
            Binds::Live
        },
        unavailable: binds_at_boot.then(|| "it takes a reboot".to_owned()),
        only_serve: false,
    }
}
