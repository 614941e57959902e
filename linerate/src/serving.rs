//! What `serve` and `echo` have in common: flags, the ready line, one worker or several.

use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use sys::address::Address;
use sys::listener;
use sys::stop::{Again, StopSignal};
use sys::zero_copy::Tally;
use traffic::engine::supervisor::Workers;
use traffic::engine::{self, Engine, Service, Settings};
use traffic::tls::{Common, Secured};

use crate::console::Console;
use crate::engine_flag::{Chosen, EngineFlag};
use crate::listening::{self, Listening};
use crate::socket_flags::SocketFlags;
use crate::tls_flags::{BY_RING, KernelPart, ON_FILE, Speaking};
use crate::zero_copy::Account;

/// Descriptors that are no connection's: listener, epoll, timer, signals, standard streams.
const OTHER_DESCRIPTORS: u64 = 32;

/// What a service asks of its server, beyond the flags of all.
#[derive(Clone, Copy)]
pub(crate) struct Needs<'a> {
    pub(crate) tls: Option<&'a Speaking>,
    pub(crate) per_connection: Descriptors,
    /// Some of its answers are to leave without a copy.
    pub(crate) zero_copy: bool,
}

/// How many descriptors a connection may hold at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Descriptors {
    /// Its socket.
    One,
    /// A file that is on its way, too.
    Two,
}

impl Descriptors {
    /// How many connections there may be, at least one, where so many files may be open.
    fn connections(self, open_files: u64) -> u64 {
        let each = match self {
            Self::One => 1,
            Self::Two => 2,
        };
        (open_files.saturating_sub(OTHER_DESCRIPTORS) / each).max(1)
    }
}

const LIMITS: &str = "Limits";
/// Heading of what costs something and gains nothing.
pub(crate) const MEASURED: &str = "To be measured";
/// Version of the shape of the ready line with `--json`.
const FORMAT: u32 = 1;

#[derive(clap::Args)]
pub(crate) struct Serving {
    /// Where to listen; a port alone means loopback, port 0 any free port; or unix:PATH
    ///
    /// A socket among the files may be connected to by whoever may enter its folder. One that a server
    /// left behind is taken over, one that somebody listens on is not; it is removed at the end. All
    /// workers take connections from it, whoever comes first.
    #[arg(long, value_name = "[ADDR:]PORT", default_value = "127.0.0.1:8080", value_parser = listening::parse)]
    listen: Address,

    /// Worker processes [default: one per CPU]
    ///
    /// Each has its own listener on the shared port and is bound to a CPU of the list, in turn.
    /// With one, the server is this process itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// CPUs to run on, such as 1 or 0-3,8 [default: those this process may use]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    cpus: Option<Cpus>,

    /// Close a connection that sends no request, or does not read, for so long
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_seconds, help_heading = LIMITS)]
    idle_timeout: Seconds,

    /// Close a connection whose request is not complete so long after its first byte
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_seconds, help_heading = LIMITS)]
    request_timeout: Seconds,

    /// On SIGTERM, SIGINT or SIGHUP, let answers under way take so long to finish; a second signal
    /// ends them at once
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_seconds, help_heading = LIMITS)]
    drain_timeout: Seconds,

    /// Connections that each worker holds; more wait [default: by the limit of open files]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    max_connections: Option<u32>,

    /// Arm each connection for one event and again after each request (`EPOLLONESHOT`)
    ///
    /// It costs a system call per request; servers that share one epoll between threads need it,
    /// this one does not. A ring receives once then, and is asked again. It is here to be measured.
    #[arg(long, help_heading = MEASURED)]
    rearm_oneshot: bool,

    #[command(flatten)]
    engine: EngineFlag,

    #[command(flatten)]
    sockets: SocketFlags,

    /// Print the ready line as one JSON value (docs/schema/serve.json)
    #[arg(long)]
    json: bool,

    /// Be one worker of several; the listener is standard input
    #[arg(long, hide = true)]
    worker: bool,
}

/// CPUs in ascending order, at least one.
#[derive(Clone, Debug)]
pub(crate) struct Cpus(pub(crate) Vec<usize>);

/// A time in whole seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) u32);

impl Serving {
    /// Serves until a signal ends it. `service` is called where the service is to run, after
    /// the worker was bound to its CPU.
    pub(crate) fn run<S: Service>(
        &self,
        console: &Console,
        needs: Needs<'_>,
        service: impl FnOnce() -> S,
    ) -> anyhow::Result<ExitCode> {
        let engine = self.engine.choose(self.sockets.busy_poll())?;
        if self.worker {
            // Its parent passes on what the terminal has told it already.
            let stop = StopSignal::listen(Again::Waits)?;
            let listener = TcpListener::from(sys::standard_input::take()?);
            let service = service();
            // The parent waits for this line and passes it on when all workers have said it.
            console.say("ready");
            let tally = self.work(engine.engine, (listener, &stop), needs, service)?;
            if needs.zero_copy {
                console.say(&serde_json::to_string(&Account::from(tally))?);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let stop = StopSignal::listen(Again::Kills)?;
        let cpus = self.cpus()?;
        let count = self.worker_count(&cpus);
        let Listening {
            mut listeners,
            address,
            file: _file,
        } = self.listen(count, needs)?;
        match address {
            Address::Tcp(_) => self.sockets.set(&listeners, &cpus)?,
            Address::Unix(_) => self.sockets.has_backlog(&listeners[0])?,
        }
        if needs.zero_copy {
            let allow = |listener: &TcpListener| listener::allow_zero_copy(listener.as_fd());
            listeners
                .iter()
                .try_for_each(allow)
                .context("sending without a copy")?;
        }
        if listeners.len() > 1 {
            let handed_over = needs.tls.map(Speaking::hand_over).transpose()?;
            let arguments = handed_over.iter().flat_map(|(_, arguments)| arguments);
            let workers = Workers::start(listeners, &cpus, worker_command(arguments)?)?;
            self.say_ready(&address, &engine, needs.tls, console);
            let drain_timeout = Duration::from_secs(self.drain_timeout.0.into());
            let last_words = workers.supervise(stop.as_fd(), drain_timeout)?;
            self.say_end(needs, || Account::of_workers(&last_words), console);
            return Ok(ExitCode::SUCCESS);
        }
        sys::cpu::pin(&cpus[..1]).with_context(|| format!("running on CPU {}", cpus[0]))?;
        let service = service();
        self.say_ready(&address, &engine, needs.tls, console);
        let place = (listeners.remove(0), &stop);
        let tally = self.work(engine.engine, place, needs, service)?;
        self.say_end(needs, || Account::from(tally), console);
        Ok(ExitCode::SUCCESS)
    }

    /// Why the kernel can make no records of TLS for the server.
    pub(crate) fn without_kernel_tls(&self) -> Option<&'static str> {
        match self.listen {
            Address::Unix(_) => Some(ON_FILE),
            Address::Tcp(_) => self.is_by_ring().then_some(BY_RING),
        }
    }

    /// Listens where it was asked for, after what does not go with that was refused.
    fn listen(&self, count: usize, needs: Needs<'_>) -> anyhow::Result<Listening> {
        if let Address::Unix(_) = self.listen {
            self.sockets.refuse_those_of_tcp()?;
            ensure!(
                !needs.zero_copy,
                "a socket among the files sends nothing without a copy (`MSG_ZEROCOPY`): leave \
                 --zero-copy or --files-by zero-copy out, or --listen at a port"
            );
        }
        listening::open(&self.listen, count, self.sockets.backlog())
    }

    /// Whether a ring receives for the server, ahead of what it reads.
    pub(crate) fn is_by_ring(&self) -> bool {
        self.engine.is_ring()
    }

    /// The port that was taken is known only now, where any free one was asked for.
    fn say_ready(
        &self,
        address: &Address,
        engine: &Chosen,
        tls: Option<&Speaking>,
        console: &Console,
    ) {
        let kernel = tls.map(|tls| &tls.kernel);
        if !self.json {
            self.engine.explain(engine, console);
            if let Some(remark) = kernel.and_then(KernelPart::remark) {
                console.note(&remark);
            }
            return console.say(&format!("listening on {address}"));
        }
        let mut ready = serde_json::json!({
            "format": FORMAT,
            "linerate_version": env!("CARGO_PKG_VERSION"),
            "listening": address.to_string(),
            "port": listening::port(address),
            "engine": engine.name(),
            "engine_reason": engine.reason,
        });
        if let Some(kernel) = kernel {
            ready["tls"] = serde_json::json!(kernel);
        }
        console.say(&ready.to_string());
    }

    /// What became of answers that were to leave without a copy, if there could be any.
    fn say_end(&self, needs: Needs<'_>, account: impl FnOnce() -> Account, console: &Console) {
        if !needs.zero_copy {
            return;
        }
        let account = account();
        if self.json {
            let end = serde_json::json!({ "format": FORMAT, "zero_copy": account });
            return console.say(&end.to_string());
        }
        console.note(&format!("zero-copy: {account}"));
    }

    fn work<S: Service>(
        &self,
        engine: Engine,
        (listener, stop): (TcpListener, &StopSignal),
        needs: Needs<'_>,
        service: S,
    ) -> anyhow::Result<Tally> {
        let open_files = sys::process::raise_open_file_limit()?;
        let by_limit = needs.per_connection.connections(open_files);
        let (stop, settings) = (stop.as_fd(), self.settings(by_limit));
        Ok(match needs.tls.map(|tls| Common::new(tls.config.clone())) {
            None => engine::run(engine, listener, stop, service, settings)?,
            Some(common) => {
                let place = (listener, stop);
                engine::run_over::<S, Secured>(engine, place, service, common, settings)?
            }
        })
    }

    fn settings(&self, by_limit: u64) -> Settings {
        let max_connections = self.max_connections.map_or(by_limit, u64::from);
        Settings {
            idle_timeout_s: self.idle_timeout.0,
            request_timeout_s: self.request_timeout.0,
            drain_timeout_s: self.drain_timeout.0,
            max_connections: usize::try_from(max_connections).unwrap_or(usize::MAX),
            rearm_oneshot: self.rearm_oneshot,
            busy_poll: self.sockets.busy_poll(),
        }
    }

    fn cpus(&self) -> anyhow::Result<Vec<usize>> {
        let Some(Cpus(wanted)) = &self.cpus else {
            return sys::cpu::allowed().context("asking which CPUs may be used");
        };
        sys::cpu::all_allowed(wanted).context("--cpus")?;
        Ok(wanted.clone())
    }

    /// A CPU quota below the number of CPUs counts too, unless the CPUs were named.
    fn worker_count(&self, cpus: &[usize]) -> usize {
        let by_quota = std::thread::available_parallelism().map_or(1, usize::from);
        match (self.workers, &self.cpus) {
            (Some(workers), _) => usize::from(workers),
            (None, Some(_)) => cpus.len(),
            (None, None) => cpus.len().min(by_quota),
        }
    }
}

/// This program again, with the same arguments and some more.
fn worker_command<'a>(
    more: impl Iterator<Item = &'a String> + Clone,
) -> anyhow::Result<impl Fn() -> Command> {
    let program = std::env::current_exe().context("finding this program to start workers")?;
    Ok(move || {
        let mut command = Command::new(&program);
        command.args(std::env::args_os().skip(1)).arg("--worker");
        command.args(more.clone());
        command
    })
}

pub(crate) fn parse_cpus(text: &str) -> Result<Cpus, String> {
    let mut cpus = sys::cpu::parse_list(text)?;
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Cpus(cpus))
}

/// Rounded up: timeouts are kept to the second.
pub(crate) fn parse_seconds(text: &str) -> Result<Seconds, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; expected a time such as 30s or 2m"))?;
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    match u32::try_from(seconds) {
        Ok(seconds @ 1..) => Ok(Seconds(seconds)),
        _ => Err("expected a time between 1s and a hundred years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_seconds() {
        assert_eq!(parse_seconds("1500ms").unwrap().0, 2);
        assert_eq!(parse_seconds("1m").unwrap().0, 60);
        for wrong in ["0s", "10", "900y", ""] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
