//! The services that were started by name and keep running. Each has a file in the runtime folder,
//! which the process in charge of the service keeps locked. The kernel releases the lock when that
//! process ends in any way, so a service left by a crash can be told from one that runs.

mod place;
mod slot;
pub mod studies;

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machine::journal::Owner;
use model::failure::Failure;
use model::service::is_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sys::pidfd::{self, EndSignal};

use super::leftovers;
use place::StateFolder;
use slot::{MOMENT, Slot, SlotOwner};

/// A service that runs on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The service's name.
    pub name: String,
    /// What readers call it.
    pub title: String,
    /// What the program calls its version.
    pub version: String,
    /// The process in charge of it.
    #[serde(flatten)]
    pub owner: Owner,
    /// The service's own folder, which is removed with it.
    pub folder: PathBuf,
    /// The address where it answers; `None` until it is ready, and where it listens on its socket
    /// alone.
    pub address: Option<SocketAddr>,
    /// The socket that it listens on; `None` until it is ready, and where it has none.
    pub socket: Option<String>,
    /// The file with its password, if it has one and is ready.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// The shell command that connects to it, if it is ready.
    #[serde(default)]
    pub connect: Option<String>,
    /// How long it may take to end, ms.
    pub grace_ms: u32,
    /// Why it ended without being asked to, where nobody was there to be told; `None` while it
    /// runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The folder of entries.
#[derive(Clone, Debug)]
pub struct Register {
    place: Arc<StateFolder>,
}

/// An entry of this process's own. Dropping it removes the entry.
#[derive(Debug)]
pub struct Claim {
    file: File,
    slot: Slot,
    /// Whether the entry stays for the next look at the register.
    stays: bool,
}

/// What became of a service that was to be stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It ran and has ended.
    Ended,
    /// It had ended without being asked to, for this reason; its entry is removed now.
    Failed(String),
    /// It was left by a crash, and what was left of it has been removed.
    Cleared,
}

impl Register {
    /// The register of this user on this host.
    ///
    /// # Errors
    /// When its folder cannot be made, or is somebody else's.
    pub fn here() -> Result<Self, Failure> {
        Self::below("services")
    }

    fn below(name: &str) -> Result<Self, Failure> {
        let place = Arc::new(place::state()?.below(name)?);
        Ok(Self { place })
    }

    /// Enters a service that is about to be started. Removes what a crash left under its name.
    ///
    /// # Errors
    /// When one of that name runs, the file cannot be written, or its folder would not be safe where
    /// it is to be made.
    pub fn claim(&self, entry: &Entry) -> Result<Claim, Failure> {
        leftovers::place_of(&entry.folder)?;
        let slot = self.slot_of(&entry.name)?;
        let mut file = Ok(None);
        sys::clock::wait_until(MOMENT, || {
            file = slot.take();
            !matches!(file, Ok(None)) || slot.living_entry().is_some()
        });
        let Some(file) = file.map_err(|error| slot.cannot(&error))? else {
            return Err(runs_already(&entry.name, &slot));
        };
        clear(&slot);
        let claim = Claim {
            file,
            slot,
            stays: false,
        };
        claim.publish(entry)?;
        Ok(claim)
    }

    /// The services that run, and those that ended without being asked to, by name. Removes what
    /// crashes left.
    pub fn entries(&self) -> Vec<Entry> {
        let entries = fs::read_dir(self.place.folder.inside())
            .into_iter()
            .flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names = names.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned()));
        let mut running: Vec<Entry> = names.filter_map(|name| self.look(&name)).collect();
        running.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        running
    }

    /// Removes what crashes left under any name.
    fn clear_left(&self) {
        // Reading all entries does that.
        let _ = self.entries();
    }

    /// Ends the service of that name and waits until it has ended.
    ///
    /// # Errors
    /// When that is no valid name, there is no such service, it is somebody else's, or it does not
    /// end.
    pub fn stop(&self, name: &str) -> Result<Stopped, Failure> {
        let slot = self.slot_of(name)?;
        let held = slot.hold().map_err(|error| slot.cannot(&error))?;
        match held {
            None => Err(self.runs_not(name)),
            Some(SlotOwner::Left(_held)) => {
                let failed = slot.entry().and_then(|entry| entry.failed);
                clear(&slot);
                slot.remove().map_err(|error| slot.cannot(&error))?;
                Ok(failed.map_or(Stopped::Cleared, Stopped::Failed))
            }
            Some(SlotOwner::Living(entry)) => {
                end(&entry, &slot)?;
                Ok(Stopped::Ended)
            }
            Some(SlotOwner::Looked) => {
                let why = "another program is using it and does not finish";
                Err(slot.cannot(&why))
            }
        }
    }

    /// The entry of that name if its service runs or has failed; any other is removed.
    fn look(&self, name: &str) -> Option<Entry> {
        let slot = self.slot_of(name).ok()?;
        match slot.hold().ok()?? {
            SlotOwner::Living(entry) => Some(*entry),
            SlotOwner::Left(_held) => {
                let entry = slot.entry().filter(|entry| entry.failed.is_some());
                if entry.is_none() {
                    clear(&slot);
                    let _ = slot.remove();
                }
                entry
            }
            SlotOwner::Looked => None,
        }
    }

    /// The file of a service. A text that is no valid name could lead to any file of this machine.
    fn slot_of(&self, name: &str) -> Result<Slot, Failure> {
        if is_name(name) {
            return Ok(Slot::new(&self.place, name));
        }
        Err(Failure {
            what: format!("`{name}` is not the name of a service"),
            advice: "`linerate service list` shows the names of those that run".to_owned(),
        })
    }

    fn runs_not(&self, name: &str) -> Failure {
        let running = self
            .entries()
            .into_iter()
            .filter(|entry| entry.failed.is_none());
        let running: Vec<String> = running.map(|entry| entry.name).collect();
        Failure {
            what: format!("no service `{name}` was started here"),
            advice: match running.as_slice() {
                [] => "none is running".to_owned(),
                names => format!("running are: {}", names.join(", ")),
            },
        }
    }
}

impl Claim {
    /// Writes to the entry what is known of the service by now.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&self, entry: &Entry) -> Result<(), Failure> {
        let write = || {
            let text = serde_json::to_string(entry)? + "\n";
            self.file.write_all_at(text.as_bytes(), 0)?;
            self.file.set_len(text.len() as u64)
        };
        write().map_err(|error: io::Error| self.slot.cannot(&error))
    }
}

impl Claim {
    /// Records why the service has ended, for the next look at the register.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn fail(mut self, entry: Entry, why: String) -> Result<(), Failure> {
        let failed = Some(why);
        self.publish(&Entry { failed, ..entry })?;
        self.stays = true;
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.stays {
            // Closing the file releases the lock, so the entry must be removed before.
            let _ = self.slot.remove();
        }
    }
}

/// Asks the owner of a service to end it, and waits until it has ended.
fn end(entry: &Entry, slot: &Slot) -> Result<(), Failure> {
    let (owner, title) = (entry.owner, &entry.title);
    // Its number could be another's by now, but not while the pidfd is open: so we check then.
    if let Ok(process) = pidfd::open_any(owner.pid)
        && owner.is_alive()
    {
        pidfd::send(&process, EndSignal::End).map_err(|error| slot.cannot(&error))?;
    }
    let limit = Duration::from_millis(entry.grace_ms.into()) + super::KEEPERS_GRACE;
    let is_let_go = || matches!(slot.look(), Ok(None | Some(SlotOwner::Left(_))));
    let ended = || is_let_go() || !owner.is_alive();
    if sys::clock::wait_until(limit, ended) {
        return Ok(());
    }
    Err(Failure {
        what: format!("{title} does not end; {owner} keeps it"),
        advice: format!("`kill -9 {}` ends it at once", owner.pid),
    })
}

fn runs_already(name: &str, slot: &Slot) -> Failure {
    let at = slot.living_entry().and_then(|entry| match entry.address {
        Some(address) => Some(address.to_string()),
        None => entry.socket,
    });
    let at = at.map_or_else(String::new, |place| format!(" on {place}"));
    Failure {
        what: format!("`{name}` runs already{at}"),
        advice: format!("stop it with `linerate service stop {name}`"),
    }
}

/// This process, as the owner in an entry.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn ourselves() -> Result<Owner, Failure> {
    Owner::this_process().map_err(|error| Failure {
        what: format!("/proc/self/stat: {error}"),
        advice: "mount /proc".to_owned(),
    })
}

/// Removes what the service of an entry that we hold has left, if there is an entry.
fn clear(slot: &Slot) {
    if let Some(entry) = slot.entry() {
        leftovers::clear(&entry.folder);
    }
}
