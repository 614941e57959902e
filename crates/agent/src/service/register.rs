//! The services that were started by name and run on: a file each in the runtime folder, which
//! whoever has the service in his charge keeps locked. The kernel takes the lock from a process
//! that ends in any way, so that a service left by a crash is told from one that runs.

mod place;
pub mod studies;

use std::fs::{self, File, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::journal::Owner;
use model::message::Failure;
use model::service::is_name;
use serde::{Deserialize, Serialize};
use sys::pidfd::{self, Order};

use super::leftovers;

/// How long an entry may be unreadable or held by somebody who only looks.
const MOMENT: Duration = Duration::from_secs(1);

/// A service that runs on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The service's name.
    pub name: String,
    /// What readers call it.
    pub title: String,
    /// What the program calls its version.
    pub version: String,
    /// The process that has it in its charge.
    #[serde(flatten)]
    pub owner: Owner,
    /// The service's own folder, which goes with it.
    pub folder: PathBuf,
    /// The address where it answers; `None` until it is ready, and where it has its socket alone.
    pub address: Option<SocketAddr>,
    /// The socket that it listens on; `None` until it is ready, and where it has none.
    pub socket: Option<String>,
    /// The file with its password, if it has one and is ready.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// The command of a shell that speaks with it, if it is ready.
    #[serde(default)]
    pub connect: Option<String>,
    /// How long it may take to end, ms.
    pub grace_ms: u32,
    /// Why it has ended unasked, where nobody was there to be told; `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The folder of entries.
#[derive(Clone, Debug)]
pub struct Register {
    folder: PathBuf,
}

/// One's own entry. Dropping it takes it away.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
    /// Whether it is left for whoever looks.
    stays: bool,
}

/// What became of a service that was to be stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It ran and has ended.
    Ended,
    /// It had ended unasked, which is forgotten now.
    Failed(String),
    /// It was left by a crash, and what was left of it has been taken away.
    Cleared,
}

/// Whose a file of the register is.
enum Held {
    /// Of a process that lives, and says this.
    Living(Box<Entry>),
    /// Of nobody any more; ours for as long as this is open.
    Left(File),
    /// Of nobody any more, but somebody else looks at it.
    Looked,
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
        let folder = place::runtime_folder()?.join(name);
        fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
        Ok(Self { folder })
    }

    /// Enters a service that is about to be started. What a crash left under its name is taken away.
    ///
    /// # Errors
    /// When one of that name runs, or the file cannot be written.
    pub fn claim(&self, entry: &Entry) -> Result<Claim, Failure> {
        let path = self.path_of(&entry.name)?;
        let mut file = Ok(None);
        sys::clock::wait_until(MOMENT, || {
            file = take(&path);
            !matches!(file, Ok(None)) || living_entry(&path).is_some()
        });
        let Some(file) = file.map_err(|error| cannot(&path, &error))? else {
            return Err(runs_already(&entry.name, &path));
        };
        clear(&path);
        let claim = Claim {
            file,
            path,
            stays: false,
        };
        claim.publish(entry)?;
        Ok(claim)
    }

    /// The services that run, and those that ended unasked, by name; what crashes left is taken
    /// away on the way.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names = names.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned()));
        let mut running: Vec<Entry> = names.filter_map(|name| self.look(&name)).collect();
        running.sort_by(|one, other| one.name.cmp(&other.name));
        running
    }

    /// Takes away what crashes left, whatever its name.
    fn clear_left(&self) {
        // Whoever looks at them all does so on the way.
        let _ = self.entries();
    }

    /// Ends the service of that name and waits until it has ended.
    ///
    /// # Errors
    /// When that can be no name, there is none, it is somebody else's, or does not end.
    pub fn stop(&self, name: &str) -> Result<Stopped, Failure> {
        let path = self.path_of(name)?;
        let held = hold(&path).map_err(|error| cannot(&path, &error))?;
        match held {
            None => Err(self.runs_not(name)),
            Some(Held::Left(_held)) => {
                let failed = read_entry(&path).and_then(|entry| entry.failed);
                clear(&path);
                fs::remove_file(&path).map_err(|error| cannot(&path, &error))?;
                Ok(failed.map_or(Stopped::Cleared, Stopped::Failed))
            }
            Some(Held::Living(entry)) => {
                end(&entry, &path)?;
                Ok(Stopped::Ended)
            }
            Some(Held::Looked) => {
                let why = "another program looks at it and does not come to an end";
                Err(cannot(&path, &why))
            }
        }
    }

    /// The entry of that name if its service runs or has failed; any other is taken away.
    fn look(&self, name: &str) -> Option<Entry> {
        let path = self.path_of(name).ok()?;
        match hold(&path).ok()?? {
            Held::Living(entry) => Some(*entry),
            Held::Left(_held) => {
                let entry = read_entry(&path).filter(|entry| entry.failed.is_some());
                if entry.is_none() {
                    clear(&path);
                    let _ = fs::remove_file(&path);
                }
                entry
            }
            Held::Looked => None,
        }
    }

    /// The file of a service. What is no name could lead to any file of this machine.
    fn path_of(&self, name: &str) -> Result<PathBuf, Failure> {
        if is_name(name) {
            return Ok(self.folder.join(format!("{name}.json")));
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
    /// Says what is known of the service by now.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&self, entry: &Entry) -> Result<(), Failure> {
        let write = || {
            let text = serde_json::to_string(entry)? + "\n";
            self.file.write_all_at(text.as_bytes(), 0)?;
            self.file.set_len(text.len() as u64)
        };
        write().map_err(|error: io::Error| cannot(&self.path, &error))
    }
}

impl Claim {
    /// Leaves word of why the service has ended, for whoever looks at the register next.
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
            // Before the lock goes with the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Asks the owner of a service to end it, and waits until it has ended.
fn end(entry: &Entry, path: &Path) -> Result<(), Failure> {
    let (owner, title) = (entry.owner, &entry.title);
    // Its number could be another's by now; once it is open, it will not be.
    if let Ok(process) = pidfd::open_any(owner.pid)
        && owner.is_alive()
    {
        pidfd::send(&process, Order::End).map_err(|error| cannot(path, &error))?;
    }
    let limit = Duration::from_millis(entry.grace_ms.into()) + super::KEEPERS_GRACE;
    let is_let_go = || matches!(look_at(path), Ok(None | Some(Held::Left(_))));
    let ended = || is_let_go() || !owner.is_alive();
    if sys::clock::wait_until(limit, ended) {
        return Ok(());
    }
    Err(Failure {
        what: format!("{title} does not end; {owner} has it"),
        advice: format!("`kill -9 {}` ends it at once", owner.pid),
    })
}

fn runs_already(name: &str, path: &Path) -> Failure {
    let at = living_entry(path).and_then(|entry| match entry.address {
        Some(address) => Some(address.to_string()),
        None => entry.socket,
    });
    let at = at.map_or_else(String::new, |place| format!(" on {place}"));
    Failure {
        what: format!("`{name}` runs already{at}"),
        advice: format!("stop it with `linerate service stop {name}`"),
    }
}

/// This process, as an entry names it.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn ourselves() -> Result<Owner, Failure> {
    Owner::this_process().map_err(|error| Failure {
        what: format!("/proc/self/stat: {error}"),
        advice: "mount /proc".to_owned(),
    })
}

/// Makes and locks a file; `None` where somebody else holds it.
fn take(path: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false);
    let file = file.open(path)?;
    lock(file, path)
}

/// Whose a file is; `None` where there is none. Who only looks at it is given a moment.
fn hold(path: &Path) -> io::Result<Option<Held>> {
    let mut held = Ok(None);
    sys::clock::wait_until(MOMENT, || {
        held = look_at(path);
        !matches!(held, Ok(Some(Held::Looked)))
    });
    held
}

/// The same at this moment.
fn look_at(path: &Path) -> io::Result<Option<Held>> {
    let file = match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    Ok(Some(match lock(file, path)? {
        Some(file) => Held::Left(file),
        None => living_entry(path).map_or(Held::Looked, |entry| Held::Living(Box::new(entry))),
    }))
}

/// A lock on a file that was taken away meanwhile is worth nothing: as good as held by another.
fn lock(file: File, path: &Path) -> io::Result<Option<File>> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) => {
            let there = fs::metadata(path).map(|found| found.ino()).ok();
            let same = there == Some(file.metadata()?.ino());
            Ok(same.then_some(file))
        }
    }
}

/// Takes away what the service of an entry that we hold has left, if there is an entry.
fn clear(path: &Path) {
    if let Some(entry) = read_entry(path) {
        leftovers::clear(&entry.folder);
    }
}

/// The entry of an owner that lives.
fn living_entry(path: &Path) -> Option<Entry> {
    read_entry(path).filter(|entry| entry.owner.is_alive())
}

/// An entry; `None` also while its owner writes it.
fn read_entry(path: &Path) -> Option<Entry> {
    let text = fs::read_to_string(path).ok()?;
    serde_json::from_str(&text).ok()
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure {
        what: format!("{}: {error}", path.display()),
        advice: "the list of running services is kept there".to_owned(),
    }
}
