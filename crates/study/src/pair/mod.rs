//! Two hosts as one: an agent on the server's host and an agent on the client's host, which
//! together answer as a single agent would. This module does not know how each is reached.

mod clocks;
mod look;
mod window;

use std::net::IpAddr;

use model::cpus::{CpuShare, CpuWish, Side};
use model::failure::Failure;
use model::message::{BlockAsk, Reach, ServerFolder, Speaks, Whom};
use model::run::{ClientHost, ClockComparison};
use model::{Ask, Reading, Tell};

use crate::clock::Clock;
use crate::transport::{Agent, AgentError};

/// Round trips that compare the clocks before a run.
const TRIPS_AT_FIRST: u32 = 16;
/// Round trips that compare the clocks again before each block. The clocks drift apart, which makes
/// a block's window shorter, and after some minutes would leave nothing of it.
const TRIPS_PER_BLOCK: u32 = 3;

/// Most times a block is measured before its server's host is given up. A host that is busy with
/// other work may miss several of the shortest blocks in a row.
const TRIES: u32 = 10;
/// Largest request of the floor, bytes. It is as long as a request of the other arms, which is only
/// a head.
const MOST_REQUEST_BYTES: usize = 1 << 20;

/// An agent, and the name of its host in errors.
pub struct NamedAgent<'a> {
    pub agent: &'a mut dyn Agent,
    pub title: String,
}

impl Agent for NamedAgent<'_> {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        let at = |why| AgentError::At {
            host: self.title.clone(),
            why: Box::new(why),
        };
        self.agent.ask(ask).map_err(at)
    }
}

/// The server's host and the client's host.
pub struct Pair<'a> {
    server: NamedAgent<'a>,
    client: NamedAgent<'a>,
    /// Address of the server's host, as the client's host reaches it.
    address: IpAddr,
    clock: &'a dyn Clock,
    seen: ClientHost,
}

impl<'a> Pair<'a> {
    pub fn new(
        server: NamedAgent<'a>,
        client: NamedAgent<'a>,
        address: IpAddr,
        clock: &'a dyn Clock,
    ) -> Self {
        Self {
            server,
            client,
            address,
            clock,
            seen: ClientHost::default(),
        }
    }

    fn hello(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        self.client.ask(ask)?;
        let hello = self.server.ask(ask)?;
        self.seen.clocks = self.compare_clocks(TRIPS_AT_FIRST)?;
        Ok(hello)
    }

    fn compare_clocks(&mut self, trips: u32) -> Result<ClockComparison, AgentError> {
        let server = clocks::read(&mut self.server, self.clock, trips)?;
        let client = clocks::read(&mut self.client, self.clock, trips)?;
        self.seen.same_machine = !server.boot_id.is_empty() && server.boot_id == client.boot_id;
        Ok(clocks::compared(&server, &client))
    }

    fn facts(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        match self.client.ask(ask)? {
            Tell::Facts(facts) => self.seen.facts = *facts,
            _ => return Err(strange("facts")),
        }
        self.server.ask(ask)
    }

    /// Shares out CPUs. Two machines each give all their CPUs to one end.
    fn cpus(&mut self, wish: &CpuWish) -> Result<Tell, AgentError> {
        let (mut server, mut client) = (wish.clone(), wish.clone());
        if !self.seen.same_machine {
            (server.side, server.client) = (Side::Server, None);
            (client.side, client.server) = (Side::Client, None);
        }
        let (Tell::Cpus(its), Tell::Cpus(ours)) = (
            self.server.ask(&Ask::Cpus(server))?,
            self.client.ask(&Ask::Cpus(client))?,
        ) else {
            return Err(strange("CPUs"));
        };
        Ok(Tell::Cpus(CpuShare {
            client: ours.client,
            client_cpus: ours.client_cpus,
            shared_cpus: if self.seen.same_machine {
                its.shared_cpus
            } else {
                0
            },
            ..its
        }))
    }

    /// Sets levers. Those of a device are for the device that the load arrives by.
    fn levers(&mut self, mut ask: Ask) -> Result<Tell, AgentError> {
        if let Ask::Levers { leave, .. } = &mut ask {
            leave.card_at = Some(self.address);
        }
        self.server.ask(&ask)
    }

    /// Watches the hosts. One machine that is both is watched once.
    fn watch(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        let tell = self.server.ask(ask)?;
        let seen = if self.seen.same_machine {
            tell.clone()
        } else {
            self.client.ask(ask)?
        };
        match seen {
            Tell::Watched(watched) => self.seen.watched = watched,
            _ => return Err(strange("watch")),
        }
        Ok(tell)
    }

    /// Makes a folder for commands on each host.
    fn make_folders(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        match (self.server.ask(ask)?, self.client.ask(ask)?) {
            (Tell::Folder { path: there, .. }, Tell::Folder { path, .. }) => Ok(Tell::Folder {
                path,
                server: Some(ServerFolder {
                    path: there,
                    address: self.address,
                }),
            }),
            _ => Err(strange("folders")),
        }
    }

    /// Starts a target on the server's host, and has the client's host connect to it.
    fn start(&mut self, mut ask: Ask) -> Result<Tell, AgentError> {
        if let Ask::Start { listen, .. } = &mut ask {
            *listen = Some(self.address);
        }
        let tell = self.server.ask(&ask)?;
        let Tell::Started { target, reach, .. } = &tell else {
            return Err(strange("start"));
        };
        let reach = reach.clone().ok_or_else(|| out_of_reach(target))?;
        self.may_be_met(&reach)?;
        self.meet(target, reach)?;
        Ok(tell)
    }

    /// Checks where the load would go: to the address that the owner of the hosts gave, whatever
    /// the server's host says.
    fn may_be_met(&self, reach: &Reach) -> Result<(), AgentError> {
        let what = match reach.speaks {
            _ if reach.address.ip() != self.address => {
                format!("to load {}, which is not its address", reach.address)
            }
            Speaks::Echo { request_bytes, .. } if request_bytes > MOST_REQUEST_BYTES => {
                format!("to send it {request_bytes} bytes at once")
            }
            _ => return Ok(()),
        };
        Err(AgentError::At {
            host: self.server.title.clone(),
            why: Box::new(AgentError::Garbled(format!(
                "it asked {what}, and only {} is loaded",
                self.address
            ))),
        })
    }

    fn meet(&mut self, target: &str, reach: Reach) -> Result<(), AgentError> {
        let target = target.to_owned();
        match self.client.ask(&Ask::Meet { target, reach })? {
            Tell::Met { .. } => Ok(()),
            _ => Err(strange("meet")),
        }
    }

    /// Measures a block. If the reader of the counters did not get its CPU, the block says too
    /// little about the server. It is measured again, and the reading says how often.
    fn block(&mut self, ask: &BlockAsk) -> Result<Reading, AgentError> {
        let mut clocks = ClockComparison::default();
        for missed_before in 0..TRIES {
            let begun_ns = self.clock.now_ns();
            clocks = self.compare_clocks(TRIPS_PER_BLOCK)?;
            if let Some(mut reading) = self.try_block(ask, clocks, begun_ns)? {
                reading.cpu.missed_before = missed_before;
                return Ok(reading);
            }
        }
        Err(missed(&ask.target, clocks))
    }

    /// Measures one block, with clocks whose comparison began at `compared_ns`; `None` if the
    /// reading of its counters was missed.
    fn try_block(
        &mut self,
        ask: &BlockAsk,
        clocks: ClockComparison,
        compared_ns: u64,
    ) -> Result<Option<Reading>, AgentError> {
        self.count(ask)?;
        let loaded = match self.client.ask(&Ask::Load(Box::new(ask.clone()))) {
            Ok(Tell::Loaded(loaded)) => *loaded,
            Ok(_) => return Err(strange("load")),
            Err(error) => {
                // If the load failed because its target had ended, that is the error to report.
                let ended = self.counted(&ask.target, (0, u64::MAX)).err();
                return Err(ended.unwrap_or(error));
            }
        };
        let client_ns = loaded.reading.window_ns;
        let since_ns = self.clock.now_ns().saturating_sub(compared_ns);
        let clocks = clocks::after(since_ns, clocks);
        match self.counted(&ask.target, window::certain(&loaded, clocks))? {
            Tell::Counts { counts, doubts } if window::is_near(counts.window_ns, client_ns) => {
                let same_machine = self.seen.same_machine;
                let mut reading = window::put_together(loaded, &counts, same_machine);
                reading.doubts.extend(doubts);
                Ok(Some(reading))
            }
            Tell::Counts { .. } | Tell::Uncounted { .. } => Ok(None),
            _ => Err(strange("counted")),
        }
    }

    fn count(&mut self, ask: &BlockAsk) -> Result<(), AgentError> {
        let count = Ask::Count {
            target: ask.target.clone(),
            interval_ms: window::interval_ms(ask.score_ms),
        };
        match self.server.ask(&count)? {
            Tell::Counting { .. } => Ok(()),
            _ => Err(strange("count")),
        }
    }

    fn counted(&mut self, target: &str, (from_ns, to_ns): (u64, u64)) -> Result<Tell, AgentError> {
        self.server.ask(&Ask::Counted {
            target: target.to_owned(),
            from_ns,
            to_ns,
        })
    }
}

impl Agent for Pair<'_> {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        match ask {
            Ask::Hello { .. } => self.hello(ask),
            Ask::Facts { .. } => self.facts(ask),
            Ask::Watch { .. } => self.watch(ask),
            Ask::Cpus(wish) => self.cpus(wish),
            Ask::Levers { .. } => self.levers(ask.clone()),
            Ask::Start { .. } => self.start(ask.clone()),
            Ask::Block(block) => Ok(Tell::Reading(Box::new(self.block(block)?))),
            Ask::Observe(look) => match &look.whom {
                Whom::Loaded(block) => self.look(block, look),
                _ => self.server.ask(ask),
            },
            Ask::Stop { .. } => {
                self.client.ask(ask)?;
                self.server.ask(ask)
            }
            Ask::MakeFolder { .. } => self.make_folders(ask),
            Ask::FindProgram { need } if need.on_server => self.server.ask(ask),
            Ask::Meet { .. } | Ask::Load(_) | Ask::FindProgram { .. } | Ask::Run(_) => {
                self.client.ask(ask)
            }
            // Everything else is for the host that has the program under test.
            _ => self.server.ask(ask),
        }
    }

    fn client(&self) -> Option<&ClientHost> {
        Some(&self.seen)
    }
}

fn strange(asked: &str) -> AgentError {
    AgentError::Garbled(format!("another answer than the one to {asked}"))
}

fn missed(target: &str, clocks: ClockComparison) -> AgentError {
    let uncertainty_ms = clocks.uncertainty_ns as f64 / 1e6;
    AgentError::Refused(Failure {
        what: format!(
            "in none of {TRIES} blocks were the counters of `{target}` read near both ends of the \
             client's window; the clocks of the two hosts are known to {uncertainty_ms:.1} ms"
        ),
        advice: "give blocks more time, the server's host less other work, or the hosts a line \
                 with shorter round trips"
            .to_owned(),
    })
}

fn out_of_reach(target: &str) -> AgentError {
    AgentError::Refused(Failure {
        what: format!("`{target}` cannot be reached from the client's host"),
        advice: "run the study on the rig `loopback`".to_owned(),
    })
}
