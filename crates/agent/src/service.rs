//! A service at work: configured in a folder of its own, started without root on a free loopback
//! port, awaited, watched and stopped, all as its description says.

mod find;
mod folder;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::message::Failure;
use model::service::StopSignal;
use model::{Doubt, Service};
use sys::process::{ChildSetup, Signal};
use traffic::load::http::HttpProtocol;
use wire::response::BodyMark;

use folder::Folder;

pub use find::{find, locate};

/// What the answers of a service say: the same as those of `linerate serve`.
const MESSAGE: &str = "Hello, World!";
/// One per CPU that a target is given, which is one.
const WORKERS: u32 = 1;
/// How long one question whether it is ready may take.
const QUESTION: Duration = Duration::from_secs(1);

/// A service that was started. Dropping it stops it and takes its folder away.
pub(crate) struct RunningService {
    child: Child,
    /// With every variable filled in.
    service: Service,
    folder: Folder,
    pub(crate) address: SocketAddr,
}

impl RunningService {
    /// Starts a service and waits until it is ready.
    pub(crate) fn start(service: &Service, setup: ChildSetup) -> Result<Self, Failure> {
        let program = locate(service)?;
        let doing = |what: &str, error: std::io::Error| Failure {
            what: format!("{}: {what}: {error}", service.title),
            advice: String::new(),
        };
        let folder = Folder::new(setup.descent.owner())
            .map_err(|error| doing("making its folder", error))?;
        let address = free_address().map_err(|error| doing("finding a free port", error))?;
        let service = filled(service, &folder, address, &setup.cpus);
        for (file, text) in &service.files {
            let written = folder.write(file, text);
            written.map_err(|error| doing(&format!("writing {file}"), error))?;
        }
        let output = folder
            .output()
            .map_err(|error| doing("making its log", error))?;
        let errors = output
            .try_clone()
            .map_err(|error| doing("making its log", error))?;
        let mut command = Command::new(&program);
        command
            .args(&service.start.arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        let setup = ChildSetup {
            file_limit_bytes: Some(service.logs.limit_bytes),
            ..setup
        };
        sys::process::prepare_child(&mut command, setup);
        let child = command
            .spawn()
            .map_err(|error| doing(&format!("starting {}", program.display()), error))?;
        let mut running = Self {
            child,
            service,
            folder,
            address,
        };
        running.await_ready()?;
        Ok(running)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the answer to a request for this path must hold.
    pub(crate) fn body_of(&self, path: &str) -> Result<BodyMark, Failure> {
        let bodies = &self.service.serves;
        let body = bodies.get(path).ok_or_else(|| Failure {
            what: format!("{} serves no `{path}`", self.service.title),
            advice: format!(
                "it serves {}",
                bodies.keys().cloned().collect::<Vec<_>>().join(" and ")
            ),
        })?;
        Ok(BodyMark::of(body.as_bytes()))
    }

    /// Whether it is still up.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.failure(&format!("ended in the midst: {status}"))),
            Err(error) => Err(self.failure(&format!("cannot be watched: {error}"))),
        }
    }

    /// Said when what it writes has come to its limit.
    pub(crate) fn flood(&self) -> Option<Doubt> {
        let limit_bytes = self.service.logs.limit_bytes;
        let file = self
            .folder
            .full_log(&self.service.logs.files, limit_bytes)?;
        Some(Doubt::LogFlooded {
            service: self.service.title.clone(),
            file,
            limit_bytes,
        })
    }

    /// What happened to it, with the ends of its logs.
    pub(crate) fn failure(&self, what: &str) -> Failure {
        let words = self.folder.last_words(&self.service.logs.files);
        Failure {
            what: format!("{} {what}", self.service.title),
            advice: match words {
                Some(words) => format!("its logs end so:{words}"),
                None => "it logged nothing".to_owned(),
            },
        }
    }

    fn await_ready(&mut self) -> Result<(), Failure> {
        let path = self.service.ready.path.clone();
        let host = self.address.to_string();
        let request = HttpProtocol::new("GET", &host, &path, &[], &[])
            .map_err(|error| self.failure(&format!("cannot be asked for {path}: {error}")))?;
        let limit = Duration::from_millis(self.service.ready.within_ms.into());
        let mut seen = String::new();
        let mut ended = None;
        let ready = sys::clock::wait_until(limit, || {
            ended = self.child.try_wait().ok().flatten();
            ended.is_some()
                || sys::stop::heard().is_some()
                || self.answers(&request, limit, &mut seen)
        });
        match ended {
            Some(status) => Err(self.failure(&format!("ended before it was ready: {status}"))),
            None if sys::stop::heard().is_some() => {
                Err(self.failure("was not waited for any longer"))
            }
            None if ready => Ok(()),
            None => Err(self.failure(&format!(
                "was not ready within {} ms: {seen}",
                limit.as_millis()
            ))),
        }
    }

    fn answers(&self, request: &HttpProtocol, limit: Duration, seen: &mut String) -> bool {
        let patience_ns = u64::try_from(QUESTION.min(limit).as_nanos()).unwrap_or(u64::MAX);
        match traffic::load::probe(self.address, request, patience_ns) {
            Ok(answer) if answer.status == 200 => return true,
            Ok(answer) => {
                let path = &self.service.ready.path;
                *seen = format!("`GET {path}` has status {}", answer.status);
            }
            Err(error) => *seen = error.to_string(),
        }
        false
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        let signal = match self.service.stop.signal {
            StopSignal::Terminate => Signal::Terminate,
            StopSignal::Interrupt => Signal::Interrupt,
            StopSignal::Quit => Signal::Quit,
        };
        let _ = sys::process::ask_to_end(&self.child, signal);
        let grace = Duration::from_millis(self.service.stop.grace_ms.into());
        sys::clock::wait_until(grace, || !matches!(self.child.try_wait(), Ok(None)));
        // Also what it started and did not stop itself.
        let _ = sys::process::kill_group(&self.child);
        let _ = self.child.wait();
    }
}

/// A port that nobody has now. Somebody else could take it before the service does; then the
/// service says so and ends.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn filled(service: &Service, folder: &Folder, address: SocketAddr, cpus: &[usize]) -> Service {
    service.filled(|variable| match variable {
        "dir" => Some(folder.path().display().to_string()),
        "port" => Some(address.port().to_string()),
        "workers" => Some(WORKERS.to_string()),
        "cpus" => Some(sys::cpu::format_list(cpus)),
        "message" => Some(MESSAGE.to_owned()),
        _ => None,
    })
}
