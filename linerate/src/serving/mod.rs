//! What `serve` and `echo` have in common: flags, the ready line, one worker or several.

mod confinement;
mod limits;
mod record;
mod supervised;
mod systemd;

use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context as _;
use schemars::JsonSchema;
use serde::Serialize;
use sys::address::Address;
use sys::orders::{self, Order, Orders};
use sys::root_folder::RootFolder;
use sys::stop::{Again, StopSignal};
use sys::tally_page::TallyPage;
use traffic::engine::life::{Life, Listener, Moment};
use traffic::engine::{Engine, Place, Settings};
use traffic::tls::Common;

use crate::console::Console;
use crate::engine_flag::{Chosen, EngineFlag};
use crate::listening::{self, Listening};
use crate::shape;
use crate::socket_flags::SocketFlags;
use crate::tls_flags::{BY_RING, KernelPart, ON_FILE, Speaking};
use confinement::{Confinement, ConfinementFlags};
use limits::LimitFlags;
pub(crate) use record::Record;
use systemd::Notifier;

/// Descriptors that belong to no connection: listener, epoll, timer, signals, standard streams.
const OTHER_DESCRIPTORS: u64 = 32;

/// One line, printed once clients can connect to the port. Lines of serve-end.json follow: on each
/// SIGUSR1, and when the server ends.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ready<'a> {
    /// Version of the program.
    linerate_version: &'static str,
    /// Where it listens, as ADDR:PORT or unix:PATH.
    listening: String,
    /// Port of that address; null for a Unix socket.
    port: Option<u16>,
    /// Kernel interface for the connections.
    #[schemars(extend("enum" = ["epoll", "uring"]))]
    engine: &'static str,
    /// Why this engine was chosen.
    engine_reason: String,
    /// How TLS is spoken; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<&'a KernelPart>,
}

/// What a service needs from its server, beyond the flags that all services have.
#[derive(Clone, Copy)]
pub(crate) struct Needs<'a> {
    pub(crate) tls: Option<&'a Speaking>,
    /// Descriptors that a connection may hold at a time: its socket, and a file that is being sent.
    pub(crate) per_connection: u64,
    /// Folder below which it reads files.
    pub(crate) root: Option<&'a RootFolder>,
    /// Reads the certificates again; `None` if they come from no files.
    pub(crate) reload: Option<&'a dyn Fn() -> anyhow::Result<Option<Speaking>>>,
}

/// A server that is made where it is to run, and serves there.
pub(crate) type Service<'a> = Box<
    dyn FnOnce(Engine, Place<'_>, Option<Common>, (Settings, Life)) -> std::io::Result<()> + 'a,
>;

/// Heading of the flags that cost something and gain nothing.
pub(crate) const MEASURED: &str = "For measurements";

#[derive(clap::Args)]
pub(crate) struct Serving {
    /// Where to listen; a port alone means loopback, port 0 any free port; or unix:PATH
    ///
    /// Everyone who may enter the folder of a Unix socket may connect to it. A socket that a server
    /// left behind is taken over, one that somebody listens on is not; it is removed at the end. All
    /// workers accept connections from it, whichever is first.
    #[arg(long, value_name = "[ADDR:]PORT", default_value = "127.0.0.1:8080", value_parser = listening::parse)]
    listen: Address,

    /// Worker processes [default: one per CPU]
    ///
    /// Each has its own listener on the shared port and is bound to a CPU of the list, in turn. One
    /// that dies is started again. With `--workers 1` the server is this process itself, for
    /// measurements, and is not started again. With --tls-cert, and on a Unix socket as root or
    /// without `--sandbox off`, there is still a second process for what a worker may not do.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    workers: Option<u16>,

    /// CPUs to run on, such as 1 or 0-3,8 [default: those this process may use]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    // With its whole path: clap takes a bare `Vec` for a flag that may be repeated.
    cpus: Option<std::vec::Vec<usize>>,

    #[command(flatten)]
    limits: LimitFlags,

    #[command(flatten)]
    confinement: ConfinementFlags,

    /// Arm each connection for one event and again after each request (`EPOLLONESHOT`)
    ///
    /// It costs a system call per request; servers that share one epoll between threads need it,
    /// this one does not. With --engine uring each receive is asked for again. The flag exists for
    /// measurements.
    #[arg(long, hide_short_help = true, help_heading = MEASURED)]
    rearm_oneshot: bool,

    #[command(flatten)]
    engine: EngineFlag,

    #[command(flatten)]
    sockets: SocketFlags,

    /// Print the ready line and the counts as JSON (docs/schema/serve.json)
    #[arg(long)]
    json: bool,

    /// Be one worker of several: the listener is standard input, and it counts in this descriptor
    #[arg(long, value_name = "COUNTS", hide = true)]
    worker: Option<u32>,
}

impl Serving {
    /// Serves until a signal ends it. `service` is called in the process where the service runs,
    /// after that was bound to its CPU.
    pub(crate) fn run(
        &self,
        console: &Console,
        needs: Needs<'_>,
        service: Service<'_>,
    ) -> anyhow::Result<ExitCode> {
        let engine = self.engine.choose(self.sockets.busy_poll())?;
        let confinement = self.confinement.confinement()?;
        if let Some(counts) = self.worker {
            return self.run_as_worker((engine.engine, confinement), counts, needs, service);
        }
        let stop = StopSignal::listen(Again::Kills)?;
        let cpus = self.cpus()?;
        let count = self.worker_count(&cpus);
        let held_bytes = self.limits.held_bytes(count)?;
        let listening = self.listen(count, &cpus)?;
        self.confinement.tell_lacks(console);
        let ready = self.ready_line(&listening.address, &engine, needs.tls, console);
        let file_is_lost = listening.file.is_some() && confinement.keeps_from_files();
        if self.workers == Some(1) && needs.reload.is_none() && !file_is_lost {
            let place = (listening, cpus[0]);
            let worker = (engine.engine, confinement, held_bytes);
            return self.run_alone(console, (place, &stop), worker, needs, (ready, service));
        }
        self.supervise(
            console,
            (listening, &cpus),
            &stop,
            needs,
            (ready, held_bytes),
        )?;
        Ok(ExitCode::SUCCESS)
    }

    /// Runs as one worker of several. Its parent passes on what signals ask for.
    fn run_as_worker(
        &self,
        (engine, confinement): (Engine, Confinement),
        counts: u32,
        needs: Needs<'_>,
        service: Service<'_>,
    ) -> anyhow::Result<ExitCode> {
        let stop = StopSignal::listen(Again::Waits)?;
        orders::ignore(&[Order::Reload, Order::Report])?;
        let listener = TcpListener::from(sys::standard_input::take()?);
        let counts = Arc::new(TallyPage::take(counts).context("the page of counts")?);
        // The parent waits for this line and passes it on when all workers have said it.
        let on_moment = move |moment| match moment {
            Moment::Ready => Console::tell("ready"),
            Moment::Second | Moment::Draining => Ok(()),
        };
        let life = (counts, on_moment);
        let worker = (engine, confinement, 0);
        self.work(worker, (listener, &stop), needs, service, life)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Runs the whole server in this process.
    fn run_alone(
        &self,
        console: &Console,
        ((mut listening, cpu), stop): ((Listening, usize), &StopSignal),
        worker: (Engine, Confinement, u64),
        needs: Needs<'_>,
        (ready, service): (String, Service<'_>),
    ) -> anyhow::Result<ExitCode> {
        let orders = Orders::listen(&[Order::Report])?;
        let notifier = Notifier::from_environment();
        sys::cpu::pin(&[cpu]).with_context(|| format!("running on CPU {cpu}"))?;
        let counts = Arc::new(TallyPage::new()?);
        let counted = counts.clone();
        let (is_json, told) = (self.json, console.clone());
        let on_moment = move |moment| match moment {
            Moment::Ready => {
                told.say(&ready);
                notifier.ready();
                Ok(())
            }
            Moment::Second if orders.take(Order::Report) => {
                told.say(&Record::of([&*counted]).line(is_json));
                Ok(())
            }
            Moment::Second => Ok(()),
            Moment::Draining => {
                notifier.stopping();
                Ok(())
            }
        };
        let place = (listening.listeners.remove(0), stop);
        let life = (counts.clone(), on_moment);
        self.work(worker, place, needs, service, life)?;
        self.say_end(Record::of([&*counts]), console);
        Ok(ExitCode::SUCCESS)
    }

    /// Returns why the kernel cannot make TLS records for the server, if it cannot.
    pub(crate) fn without_kernel_tls(&self) -> Option<&'static str> {
        match self.listen {
            Address::Unix(_) => Some(ON_FILE),
            Address::Tcp(_) => self.is_by_ring().then_some(BY_RING),
        }
    }

    /// Listens on the address asked for, or on the socket of a service manager. Flags that do not
    /// go with it are refused first.
    fn listen(&self, count: usize, cpus: &[usize]) -> anyhow::Result<Listening> {
        let handed_over = systemd::listening(count)?;
        // Workers share a socket that was handed over, so flags are set on one of its clones.
        let is_shared = handed_over.is_some();
        let listening = match handed_over {
            Some(listening) => listening,
            None => {
                self.refuse_on_file(&self.listen)?;
                listening::open(&self.listen, count, self.sockets.backlog())?
            }
        };
        let listeners = match is_shared {
            true => &listening.listeners[..1],
            false => &listening.listeners[..],
        };
        match &listening.address {
            Address::Tcp(_) => self.sockets.set(listeners, cpus)?,
            address @ Address::Unix(_) => {
                self.refuse_on_file(address)?;
                self.sockets.has_backlog(&listeners[0])?;
            }
        }
        Ok(listening)
    }

    /// Refuses flags that do not go with a Unix socket.
    fn refuse_on_file(&self, address: &Address) -> anyhow::Result<()> {
        match address {
            Address::Unix(_) => self.sockets.refuse_those_of_tcp(),
            Address::Tcp(_) => Ok(()),
        }
    }

    /// Whether a ring receives for the server, ahead of what it reads.
    fn is_by_ring(&self) -> bool {
        self.engine.is_ring()
    }

    /// Returns the line that says that the server is ready. If any free port was asked for, it is
    /// known only now.
    fn ready_line(
        &self,
        address: &Address,
        engine: &Chosen,
        tls: Option<&Speaking>,
        console: &Console,
    ) -> String {
        let kernel = tls.map(|tls| &tls.kernel);
        if !self.json {
            self.engine.explain(engine, console);
            if let Some(remark) = kernel.and_then(KernelPart::remark) {
                console.note(&remark);
            }
            return format!("listening on {address}");
        }
        shape::line(Ready {
            linerate_version: shape::VERSION,
            listening: address.to_string(),
            port: listening::port(address),
            engine: engine.engine.name(),
            engine_reason: engine.reason.clone(),
            tls: kernel,
        })
    }

    /// Prints what became of connections, for programs.
    fn say_end(&self, record: Record, console: &Console) {
        if self.json {
            console.say(&record.at_the_end().line(true));
        }
    }

    /// Works as a worker does; it is confined as soon as everything that it needs is open.
    fn work(
        &self,
        (engine, confinement, held_bytes): (Engine, Confinement, u64),
        (listener, stop): (TcpListener, &StopSignal),
        needs: Needs<'_>,
        service: Service<'_>,
        (counts, mut on_moment): (
            Arc<TallyPage>,
            impl FnMut(Moment) -> std::io::Result<()> + 'static,
        ),
    ) -> anyhow::Result<()> {
        let open_files = sys::process::raise_open_file_limit()?;
        let by_limit = (open_files.saturating_sub(OTHER_DESCRIPTORS) / needs.per_connection).max(1);
        let mut settings = self.limits.settings(by_limit, held_bytes);
        settings.rearm_oneshot = self.rearm_oneshot;
        settings.busy_poll = self.sockets.busy_poll();
        let root = needs.root.map(RootFolder::try_clone).transpose()?;
        // The engine passes on only errors of the kernel, so one of ours goes around it.
        let refusal = Rc::new(RefCell::new(None));
        let refused = refusal.clone();
        let on_moment: Listener = Box::new(move |moment| {
            if moment == Moment::Ready
                && let Err(error) = confinement.enter(root.as_ref())
            {
                *refused.borrow_mut() = Some(error);
                return Err(ErrorKind::PermissionDenied.into());
            }
            on_moment(moment)
        });
        let life = Life {
            counts,
            listener: on_moment,
        };
        let (place, manner) = ((listener, stop.as_fd()), (settings, life));
        let tls = needs.tls.map(|tls| Common::new(tls.config.clone()));
        let worked = service(engine, place, tls, manner);
        match refusal.take() {
            Some(refusal) => Err(refusal),
            None => Ok(worked?),
        }
    }

    fn cpus(&self) -> anyhow::Result<Vec<usize>> {
        let Some(wanted) = &self.cpus else {
            return sys::cpu::allowed().context("asking which CPUs may be used");
        };
        sys::cpu::all_allowed(wanted).context("--cpus")?;
        Ok(wanted.clone())
    }

    /// Returns the number of workers. A CPU quota below the number of CPUs counts too, unless the
    /// CPUs were named.
    fn worker_count(&self, cpus: &[usize]) -> usize {
        let by_quota = std::thread::available_parallelism().map_or(1, usize::from);
        match (self.workers, &self.cpus) {
            (Some(workers), _) => usize::from(workers),
            (None, Some(_)) => cpus.len(),
            (None, None) => cpus.len().min(by_quota),
        }
    }
}

/// Parses a list of CPUs; returns at least one, in ascending order.
pub(crate) fn parse_cpus(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = sys::cpu::parse_list(text)?;
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}
