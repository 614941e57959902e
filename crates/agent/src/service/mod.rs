//! Runs a service as its description says. A keeper starts it without root, watches it and stops
//! it: a process of ours that outlives us until nothing of the service is left.

mod cache;
mod commands;
mod find;
mod folder;
mod keeper;
pub(crate) mod leftovers;
pub(crate) mod likeness;
mod logs;
mod offer;
mod order;
mod password;
mod places;
mod readiness;
pub mod register;

use std::io::{BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use model::expected::Expected;
use model::failure::Failure;
use model::{Doubt, Service};
use serde::{Deserialize, Serialize};
use sys::descent::Descent;
use sys::process::ChildSetup;

use order::{Order, Request, Word};

pub use find::{find, find_program, locate, names};
pub use keeper::keep;
pub(crate) use offer::client_of_a_lab;
pub use offer::{Offer, Pems};
pub use order::Up;

/// The arguments that make the program a keeper.
pub const KEEPER_ARGUMENTS: [&str; 2] = ["service", "keep"];

/// How much longer than the grace of its service a keeper may take to end.
const KEEPERS_GRACE: Duration = Duration::from_secs(20);

/// How a service is to be started.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Wish {
    /// The address of this host on which it shall listen; `None` for its socket alone where it has one, and for
    /// loopback otherwise.
    pub address: Option<IpAddr>,
    /// Its port there; `None` for any free one.
    pub port: Option<u16>,
    pub workers: u32,
    /// The CPUs it may run on; empty for the inherited ones.
    pub cpus: Vec<usize>,
    /// What its keeper takes on and hands down to it. How it becomes an ordinary user is not taken
    /// from here: [`RunningService::start`] decides that.
    #[serde(skip)]
    pub setup: ChildSetup,
    /// Its own folder, which does not exist yet; see [`new_folder`].
    pub folder: PathBuf,
    pub offer: Offer,
    /// A folder to run its commands in, as our user and with our environment, since they are that
    /// user's own. `None` for its own folder, an ordinary user and little of our environment.
    pub site: Option<PathBuf>,
}

/// A service that was started. Dropping it stops it and removes its folder.
pub struct RunningService {
    keeper: Keeper,
    pub up: Up,
}

/// A path for the folder of a service that is about to be started.
pub fn new_folder() -> PathBuf {
    leftovers::new_path(&std::env::temp_dir(), "service")
}

impl RunningService {
    /// Starts a service and waits until it is ready. `program` is Linerate itself, for the keeper.
    ///
    /// # Errors
    /// When it cannot be told the address, or has no use for what it is offered; when it is absent,
    /// cannot be prepared, ends, or is not ready in time, with its logs.
    pub fn start(program: &Path, service: &Service, mut wish: Wish) -> Result<Self, Failure> {
        wish.address = place(service, wish.address)?;
        wish.offer.check(service)?;
        let found = find::program_of(service)?;
        let descent = match wish.site {
            Some(_) => Descent::Stay,
            None => Descent::of_service(&service.name)
                .map_err(|error| failed("/proc/self/uid_map", &error))?,
        };
        let setup = ChildSetup {
            descent,
            ..std::mem::take(&mut wish.setup)
        };
        let order = Order {
            service: service.clone(),
            program: found,
            cache: cache::folder(service, descent)?,
            wish,
        };
        let mut keeper = Keeper::start(program, setup, &order)?;
        match keeper.ask(&Request::Start(Box::new(order)))? {
            Word::Up(up) => {
                // Only now: a service keeps what it is started with, and must not be spared itself.
                // Where we may not spare the keeper, we go on.
                let _ = sys::memory_killer::spare(keeper.child.id());
                Ok(Self { keeper, up: *up })
            }
            Word::Well { .. } => Err(keeper.silent()),
            Word::Failed(failure) => Err(failure),
        }
    }

    /// Whether its socket exists: some programs listen on a socket or an address, never on both.
    pub fn listens_on_its_socket(&self) -> bool {
        let socket = self.up.service.socket.as_deref();
        socket.is_some_and(|socket| Path::new(socket).exists())
    }

    /// The address at which it answers over the network.
    ///
    /// # Errors
    /// When it was asked to listen on its socket alone.
    pub(crate) fn network_address(&self) -> Result<SocketAddr, Failure> {
        self.up.address.ok_or_else(|| Failure {
            what: format!("{} listens only on its socket", self.up.service.title),
            advice: "give it an address".to_owned(),
        })
    }

    /// What the answer to a request for this path must be.
    pub(crate) fn expected_of(&self, path: &str) -> Result<Expected, Failure> {
        let paths = &self.up.service.serves;
        paths.get(path).cloned().ok_or_else(|| Failure {
            what: format!("{} serves no `{path}`", self.up.service.title),
            advice: format!(
                "it serves {}",
                paths.keys().cloned().collect::<Vec<_>>().join(" and ")
            ),
        })
    }

    /// Checks that it is still up. Returns a doubt when it has written more than it may.
    ///
    /// # Errors
    /// When it has ended, with the ends of its logs.
    pub fn check(&mut self) -> Result<Option<Doubt>, Failure> {
        match self.keeper.ask(&Request::Check)? {
            Word::Well { flooded } => Ok(flooded.map(|file| Doubt::LogFlooded {
                service: self.up.service.title.clone(),
                file,
                limit_bytes: self.up.service.logs.limit_bytes,
            })),
            Word::Up(_) => Err(self.keeper.silent()),
            Word::Failed(failure) => Err(failure),
        }
    }

    /// Makes a failure of what is wrong with it, with the ends of its logs.
    pub(crate) fn failure(&mut self, what: &str) -> Failure {
        match self.keeper.ask(&Request::Blame(what.to_owned())) {
            Ok(Word::Failed(failure)) | Err(failure) => failure,
            Ok(Word::Up(_) | Word::Well { .. }) => self.keeper.silent(),
        }
    }
}

/// The descriptor becomes readable when the service has ended.
impl AsFd for RunningService {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.keeper.said.get_ref().as_fd()
    }
}

/// The process that looks after a service, and the line to it. It stops the service when the line
/// breaks, so also when we are killed.
struct Keeper {
    child: Child,
    line: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
    /// Title of the service.
    title: String,
    folder: PathBuf,
    grace: Duration,
}

impl Keeper {
    fn start(program: &Path, setup: ChildSetup, order: &Order) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        if order.wish.site.is_none() {
            // Its service can read the environment of its keeper, as both are the same user.
            crate::environment::little(&mut command);
        }
        command
            .args(KEEPER_ARGUMENTS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        sys::process::prepare_keeper(&mut command, setup);
        let not_started = |error| failed(&format!("starting {}", program.display()), &error);
        let mut child = command.spawn().map_err(not_started)?;
        let said = child.stdout.take().expect("it was asked for above");
        Ok(Self {
            line: child.stdin.take(),
            child,
            said: BufReader::new(said),
            title: order.service.title.clone(),
            folder: order.wish.folder.clone(),
            grace: Duration::from_millis(order.service.stop.grace_ms.into()) + KEEPERS_GRACE,
        })
    }

    /// Sends a request, and waits for its answer or a signal that asks us to stop.
    fn ask(&mut self, request: &Request) -> Result<Word, Failure> {
        let text = serde_json::to_string(request).map_err(|error| failed("a request", &error))?;
        let Some(line) = &mut self.line else {
            return Err(self.silent());
        };
        // A keeper that has ended may have said why before.
        let _ = writeln!(line, "{text}");
        let answer = crate::next_line(&mut self.said).ok().flatten();
        let word = answer.and_then(|answer| serde_json::from_slice(&answer).ok());
        match word {
            Some(word) => Ok(word),
            None if sys::stop::heard().is_some() => Err(Failure::plain(format!(
                "{} was given up, as we were stopped",
                self.title
            ))),
            None => Err(self.silent()),
        }
    }

    fn silent(&self) -> Failure {
        Failure {
            what: format!(
                "the process that keeps {} ended without a message",
                self.title
            ),
            advice: "check with `dmesg` whether the kernel killed it for lack of memory".to_owned(),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.line.take());
        let mut status = None;
        sys::clock::wait_until(self.grace, || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        });
        if !status.is_some_and(|status| status.success()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
            leftovers::clear(&self.folder);
        }
    }
}

/// The address on which a service is to listen, if it needs one. A service whose description has no
/// variable for it listens on 127.0.0.1.
fn place(service: &Service, asked: Option<IpAddr>) -> Result<Option<IpAddr>, Failure> {
    if asked.is_none() && service.start.on_socket.is_some() {
        return Ok(None);
    }
    let address = asked.unwrap_or_else(|| Ipv4Addr::LOCALHOST.into());
    if address == Ipv4Addr::LOCALHOST || service.takes_an_address() {
        return Ok(Some(address));
    }
    Err(Failure {
        what: format!(
            "{} cannot be told to listen on {address}: its description has neither `{{address}}` \
             nor `{{listen}}`",
            service.title
        ),
        advice:
            "write `{listen}` where its file has `127.0.0.1:{port}`; or leave `--address` out, \
                 or measure it on the rig `loopback`"
                .to_owned(),
    })
}

fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::plain(format!("{doing}: {error}"))
}
