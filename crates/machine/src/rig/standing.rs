//! Rigs that stand until they are cleaned: putting them up, listing, finding and taking them down.
//! Each is an entry of the journal, and taking it down is the entry's undo.

use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use model::Topology;
use model::rig::RigName;
use sys::pidfd::{self, EndSignal};
use thiserror::Error;

use super::Host;
use super::error::RigError;
use super::holder::{HeldHost, Holder};
use super::inside::{Ended, GRACE, Inside, LONGEST_END};
use crate::journal::{self, Change, Entry, Journal, JournalError, Owner, RigChange};

const LOOKING: &str = "looking at its holder";

/// The state of a standing rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Its holder lives.
    Up,
    /// Its holder has ended and nobody cleaned up.
    Left,
    /// The machine was restarted since, so nothing of the rig can be left but its journal entry.
    OfEarlierBoot,
}

/// A rig that the journal lists.
#[derive(Clone, Debug)]
pub struct Standing {
    entry: Entry,
    rig: RigChange,
    state: State,
}

/// A rig as `linerate rig` shows it.
#[derive(Serialize, JsonSchema)]
pub struct StandingRig {
    /// The name that its owner gave it.
    name: String,
    /// Its hosts and how they are linked.
    kind: Topology,
    /// up: its holder lives; left: its holder has ended and nobody cleaned up; of_earlier_boot:
    /// only its entry in the journal is left.
    #[schemars(with = "String", extend("enum" = ["up", "left", "of_earlier_boot"]))]
    state: State,
    /// Number of the process that holds it, or held it.
    holder: u32,
    /// Its hosts, the client first and the server last; empty while the rig is being built.
    hosts: Vec<HostShape>,
    /// Process ids of the programs that `rig exec` started in it, and of their descendants.
    programs: Vec<u32>,
}

/// A host of a standing rig.
#[derive(Serialize, JsonSchema)]
struct HostShape {
    /// Name of the host, as `rig exec` takes it.
    name: String,
    /// IPv4 address at which the other hosts reach it; null where it has none.
    address: Option<Ipv4Addr>,
    /// Inode of its network namespace.
    namespace: u64,
    /// Path of the namespace for other programs, as `nsenter --net=PATH`; null where the rig is
    /// not up.
    enter: Option<String>,
}

/// The result of taking a rig down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TakenDown {
    /// The name that its owner gave it.
    pub name: RigName,
    /// Process ids of the programs that `rig exec` started in it, and of their descendants, that
    /// were told to end and have ended.
    pub ended: Vec<u32>,
    /// Process ids of those that keep its namespaces alive until they end: somebody else put them
    /// there, or they do not end when killed.
    pub kept_by: Vec<u32>,
}

/// Why a standing rig could not be put up, found or taken down.
#[derive(Debug, Error)]
pub enum StandingError {
    #[error(transparent)]
    Rig(#[from] RigError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(
        "a rig `{name}` is up already, held by {holder}: use it, take it down with `linerate rig \
         clean {name}`, or put up another with --name"
    )]
    InUse { name: RigName, holder: Owner },
    #[error(
        "a rig `{name}` was left over, and {count} programs still run in it: end them with \
         `linerate rig clean {name}`"
    )]
    Haunted { name: RigName, count: usize },
    #[error(
        "a rig that stays needs Linux 5.14: before that a namespace cannot be told apart from a \
         later one with the same number"
    )]
    NoCookie,
    #[error("there is no rig `{name}`; {}", listed(.known))]
    Unknown { name: RigName, known: Vec<RigName> },
    #[error("no rig is up; `linerate rig up` puts one up")]
    NoneIsUp,
    #[error("which rig? Give its name with --name; {}", listed(.0))]
    Several(Vec<RigName>),
    #[error(
        "the rig `{0}` is no longer up: its holder has ended; remove what is left with `linerate \
         rig clean {0}`"
    )]
    NotUp(RigName),
    #[error("the rig `{rig}` has no host `{host}`; it has {}", .known.join(", "))]
    UnknownHost {
        rig: RigName,
        host: String,
        known: Vec<String>,
    },
    #[error("the rig `{rig}`, {doing}: {source}")]
    Io {
        rig: RigName,
        doing: &'static str,
        source: io::Error,
    },
}

fn listed(names: &[RigName]) -> String {
    let names: Vec<&str> = names.iter().map(RigName::as_str).collect();
    match names.len() {
        0 => "none is up".to_owned(),
        _ => format!("there are {}", names.join(", ")),
    }
}

impl Standing {
    /// Puts up a rig that outlives this process. If this process ends in any way before the rig is
    /// in the journal and its holder is told to stay, the rig ends with it.
    ///
    /// # Errors
    /// When a rig of that name exists, the journal cannot be written, or the kernel refuses.
    pub fn put_up(
        program: &Path,
        topology: Topology,
        name: &RigName,
    ) -> Result<Self, StandingError> {
        let mut journal = Journal::open()?;
        make_room(&mut journal, name)?;
        let holder = Holder::start(program, topology)?;
        let owner = Owner::of(holder.pid()).map_err(failed(name, LOOKING))?;
        let mut rig = RigChange {
            name: name.clone(),
            topology,
            hosts: Vec::new(),
            uts_namespace: 0,
        };
        let id = journal.add(owner, Change::Rig(rig.clone()))?;
        match build(holder, &mut journal, id, &mut rig) {
            Ok(()) => Self::find(Some(name)),
            Err(error) => {
                // The holder was dropped, and what it held went with it.
                journal.remove(id)?;
                Err(error)
            }
        }
    }

    /// Returns all rigs that stand or are left over, the oldest first.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn all() -> Result<Vec<Self>, StandingError> {
        Ok(rigs(&journal::read()?.entries))
    }

    /// Returns the rig of that name; without a name, the only rig.
    ///
    /// # Errors
    /// When there is none, or, without a name, more than one.
    pub fn find(name: Option<&RigName>) -> Result<Self, StandingError> {
        pick(Self::all()?, name)
    }

    /// Takes the rig down: ends its holder and the programs that were started in it, and removes
    /// its entry from the journal.
    ///
    /// # Errors
    /// When the journal cannot be written, or the holder does not end.
    pub fn take_down(name: &RigName) -> Result<TakenDown, StandingError> {
        let mut journal = Journal::open()?;
        let rig = pick(rigs(journal.entries()), Some(name))?;
        let taken = rig.undo()?;
        journal.remove(rig.entry.id)?;
        Ok(taken)
    }

    pub fn name(&self) -> &RigName {
        &self.rig.name
    }

    /// Describes the rig and the processes that run in it now.
    pub fn told(&self) -> StandingRig {
        let holder = self.entry.owner.pid;
        let host = |host: &HeldHost| HostShape {
            name: host.name.clone(),
            address: host.address,
            namespace: host.namespace,
            enter: (self.state == State::Up)
                .then(|| format!("/proc/{holder}/fd/{}", host.descriptor)),
        };
        StandingRig {
            name: self.rig.name.to_string(),
            kind: self.rig.topology,
            state: self.state,
            holder,
            hosts: self.rig.hosts.iter().map(host).collect(),
            programs: self.inside().ours(),
        }
    }

    /// Opens one of the rig's hosts.
    ///
    /// # Errors
    /// When the rig is not up, or has no such host.
    pub fn host(&self, name: &str) -> Result<Host, StandingError> {
        if self.state != State::Up {
            return Err(StandingError::NotUp(self.rig.name.clone()));
        }
        let hosts = &self.rig.hosts;
        let found = hosts.iter().find(|host| host.name == name);
        let held = found.ok_or_else(|| StandingError::UnknownHost {
            rig: self.rig.name.clone(),
            host: name.to_owned(),
            known: hosts.iter().map(|host| host.name.clone()).collect(),
        })?;
        let host = Host::open(self.entry.owner.pid, held.clone());
        let host = host.map_err(failed(self.name(), "opening its namespaces"))?;
        // The holder may have ended by now, and its process id may belong to another process.
        let is_same_namespace = host
            .place
            .inode()
            .is_ok_and(|inode| inode == held.namespace);
        match is_same_namespace && self.entry.owner.is_alive() {
            true => Ok(host),
            false => Err(StandingError::NotUp(self.rig.name.clone())),
        }
    }

    fn inside(&self) -> Inside {
        let (hosts, uts_namespace) = (&self.rig.hosts, self.rig.uts_namespace);
        match self.state {
            State::Up => Inside::of_holder(self.entry.owner.pid, hosts, uts_namespace),
            State::Left => Inside::left(hosts, uts_namespace),
            State::OfEarlierBoot => Inside::nowhere(),
        }
    }

    fn undo(&self) -> Result<TakenDown, StandingError> {
        let inside = self.inside();
        self.end_holder()
            .map_err(failed(self.name(), "ending its holder"))?;
        let Ended { ended, kept_by } = inside.end(GRACE);
        Ok(TakenDown {
            name: self.rig.name.clone(),
            ended,
            kept_by,
        })
    }

    /// Kills the holder. It has nothing to clean up, so there is no need to ask it to end.
    fn end_holder(&self) -> io::Result<()> {
        let owner = self.entry.owner;
        if self.state != State::Up {
            return Ok(());
        }
        let kill = |process| {
            if owner.is_alive() {
                pidfd::send(process, EndSignal::Kill)
            } else {
                Ok(())
            }
        };
        match pidfd::open_any(owner.pid).and_then(kill) {
            // It may have ended in the meantime.
            Err(error) if owner.is_alive() => return Err(error),
            _ => {}
        }
        if sys::clock::wait_until(LONGEST_END, || !owner.is_alive()) {
            Ok(())
        } else {
            Err(io::ErrorKind::TimedOut.into())
        }
    }
}

/// Makes sure that no rig has the name. A rig that a crash left over, and in which no process runs,
/// is only a journal entry, so it is removed.
fn make_room(journal: &mut Journal, name: &RigName) -> Result<(), StandingError> {
    let all = rigs(journal.entries());
    let Some(old) = all.iter().find(|rig| rig.name() == name) else {
        return Ok(());
    };
    let name = name.clone();
    match (old.state, old.inside().all().len()) {
        (State::Up, _) => Err(StandingError::InUse {
            name,
            holder: old.entry.owner,
        }),
        (_, 0) => Ok(journal.remove(old.entry.id)?),
        (_, count) => Err(StandingError::Haunted { name, count }),
    }
}

/// Returns a closure that wraps an I/O error with the rig and with what was being done.
fn failed(rig: &RigName, doing: &'static str) -> impl FnOnce(io::Error) -> StandingError {
    let rig = rig.clone();
    move |source| StandingError::Io { rig, doing, source }
}

/// Turns an entry without hosts into a rig that stays: builds its hosts, records them, and tells
/// the holder to stay.
fn build(
    mut holder: Holder,
    journal: &mut Journal,
    id: u64,
    rig: &mut RigChange,
) -> Result<(), StandingError> {
    rig.hosts = holder.build()?;
    if rig.hosts.iter().any(|host| host.cookie.is_none()) {
        return Err(StandingError::NoCookie);
    }
    let uts_namespace = sys::namespace::uts_inode_of(holder.pid());
    rig.uts_namespace = uts_namespace.map_err(failed(&rig.name, LOOKING))?;
    journal.amend(id, &Change::Rig(rig.clone()))?;
    Ok(holder.let_stay()?)
}

fn rigs(entries: &[Entry]) -> Vec<Standing> {
    let standing = entries.iter().filter_map(|entry| {
        let Change::Rig(rig) = &entry.change else {
            return None;
        };
        Some(Standing {
            entry: entry.clone(),
            rig: rig.clone(),
            state: state(entry),
        })
    });
    standing.collect()
}

fn state(entry: &Entry) -> State {
    match entry.is_of_another_boot() {
        Ok(true) => State::OfEarlierBoot,
        _ if entry.owner.is_alive() => State::Up,
        _ => State::Left,
    }
}

fn pick(mut all: Vec<Standing>, name: Option<&RigName>) -> Result<Standing, StandingError> {
    let known: Vec<RigName> = all.iter().map(|rig| rig.rig.name.clone()).collect();
    match name {
        Some(name) => {
            let found = all.into_iter().find(|rig| rig.name() == name);
            found.ok_or_else(|| StandingError::Unknown {
                name: name.clone(),
                known,
            })
        }
        None if all.len() > 1 => Err(StandingError::Several(known)),
        None => all.pop().ok_or(StandingError::NoneIsUp),
    }
}
