//! The flags of `linerate load`, and the plan made from them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::{ArgGroup, ValueHint};
use model::Pace;
use model::load_run::LoadWorkload;
use model::objective::Objective;
use model::random::SplitMix64;
use model::sweep::Sweep;
use model::workload::Arrivals;
use serde::Serialize;
use sys::address::{Address, SocketPath};
use traffic::load::{Engine, LoadPlan};

use super::watching::flags::WatchFlags;
use super::{OUTPUT, counted, unix_socket};
use crate::console::Console;
use crate::request::{REQUEST, RequestFlags, WHERE};
use crate::{shape, values};

/// Fewest rounds that give an interval at 95 %: with fewer, even the whole range covers less.
const DEFAULT_ROUNDS: u32 = 6;
const DEFAULT_CONNECTIONS: u32 = 64;
/// Time from the first request to the scored window, unless another is given.
const DEFAULT_SETTLE: Duration = Duration::from_millis(500);
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
/// Time from the first request to the scored window in each of the many blocks of a search.
const BLOCK_SETTLE: Duration = Duration::from_millis(250);
const BLOCK_DURATION: Duration = Duration::from_secs(1);
/// A block in which errors are counted is this many times as long as the timeout: what hangs in the
/// last of these times has not failed yet when the block ends.
pub(super) const TIMEOUTS_IN_A_BLOCK: u64 = 4;

/// Put load on an HTTP server and say how fast it answers
///
/// Closed loop (the default): every connection sends its next request when the answer to the last
/// has arrived. It shows capacity and CPU per request. Its latencies leave out the waiting that a
/// slow server causes, because a slow server is simply asked less often (coordinated omission).
///
/// Open loop (--rate): requests are due on a schedule that the server cannot slow down, as from
/// users who do not know of one another. A due request takes a free connection; when none is free
/// it waits for one, and that wait counts: latency runs from the moment it was due. Give it enough
/// connections, or the wait is for them and not for the server.
///
/// Two requests, or two of each kind of a mix, are sent beforehand to check that the target answers
/// and whether its body stays the same; if so, one body in 64 is compared with the first. Redirects
/// are answers and are not followed. Over https:// the handshakes have figures of their own: a
/// reopened connection counts as open when its handshake is done.
///
/// A command line of wrk works as it is, except for Lua scripts: -c, -t, -d, -H, --latency and
/// --timeout mean the same. Where they are left out the defaults differ: wrk uses 10 connections,
/// 2 threads and a timeout of 2 s. Of ab, hey and oha it accepts what means the same in all that
/// have it: -n, -c, -z, -m and -H.
///
/// The exit code is 1 when no request was answered correctly within the scored window; with
/// --download, when nothing arrived, or when bodies failed and none was whole. Single failures are
/// counted by kind and reported as a doubt, and do not change the exit code.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(group = ArgGroup::new("open").args(["rate", "slo", "sweep"]))]
#[command(group = ArgGroup::new("blocks").args(["slo", "sweep"]))]
pub(crate) struct Arguments {
    /// What to load, such as http://127.0.0.1:8080/json; several are mixed
    ///
    /// All must be of one server. Each is requested as often as the others, and one that is given
    /// twice twice as often. Which comes next is drawn from a generator that --seed repeats. In a
    /// URL, a header and --body TEXT, `{id:1..1000}` is a number that is drawn for each request,
    /// and `{id}` repeats it.
    #[arg(value_name = "URL", required = true, value_hint = ValueHint::Url, value_parser = values::parse_target)]
    pub(super) urls: Vec<String>,

    /// Connections held open at once [default: 64, with --download 1]
    #[arg(short, long, value_name = "N", value_parser = values::parse_count)]
    pub(super) connections: Option<u32>,
    /// Load threads; connections are dealt evenly between them
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = values::parse_count)]
    threads: u32,
    /// Stop after this many requests, over all connections and threads
    ///
    /// As with ab, hey and oha, a request that fails is one of them. All are scored, from the first
    /// on; a load that --settle TIME puts on before them is discarded and not counted. With -d it
    /// stops at whichever comes first, as with -t of ab, and the report says which; hey and oha then
    /// ignore -n.
    #[arg(short = 'n', long, value_name = "N", value_parser = values::parse_count, conflicts_with_all = ["slo", "sweep", "download"])]
    pub(super) requests: Option<u32>,
    /// Length of the scored window: 500ms, 10s, 2m; or -z [default: 10s]
    ///
    /// With --slo and --sweep, the length of each of their blocks [default: 1s]; with -n no limit.
    #[arg(short, short_alias = 'z', long, value_name = "TIME", value_parser = values::parse_duration)]
    duration: Option<Duration>,
    /// Load before the scored window [default: 500ms, or until throughput settles]
    ///
    /// Without it, if throughput turns out to have settled later than after 500 ms, the load is
    /// repeated with that much longer to settle. Before each block of --slo and --sweep it is
    /// 250ms, with --download 500ms, and with -n none.
    #[arg(long, value_name = "TIME", value_parser = values::parse_duration)]
    pub(super) settle: Option<Duration>,
    /// Time after which an unanswered request has failed [default: 5s]
    ///
    /// With --slo and a limit of errors the default is a quarter of -d where that is shorter: what
    /// hangs must fail within the block that counts it.
    #[arg(long, value_name = "TIME", value_parser = values::parse_duration, hide_short_help = true)]
    timeout: Option<Duration>,
    /// Throughput mode: move requests in batches, report no latency
    #[arg(long, conflicts_with_all = ["rate", "slo", "sweep", "latency"])]
    throughput: bool,

    /// Download mode, for long bodies: Gbit/s, CPU per GB, what was the limit
    ///
    /// Bodies are counted and discarded, and not compared. Only one head is requested beforehand. A
    /// request fails when nothing arrives for --timeout, however long all of it takes. For a server
    /// on this machine its CPU time is read too, and from the kernel's account of its connections
    /// what held its sending back: the client's window or its own buffer.
    #[arg(long, conflicts_with_all = ["rate", "slo", "sweep", "latency", "throughput", "http2", "pipeline", "mix"])]
    pub(super) download: bool,
    /// With --download: how long each body must be; another length is a failure
    #[arg(
        long,
        value_name = "BYTES",
        requires = "download",
        hide_short_help = true
    )]
    pub(super) length: Option<u64>,
    /// With --download: connect, and send no request before standard input ends
    ///
    /// So several processes can begin together, when all of them are connected: some servers accept
    /// no connection while they send to clients that read as fast.
    #[arg(long, requires = "download", hide_short_help = true)]
    pub(super) hold: bool,

    /// Requests per second to offer
    #[arg(long, value_name = "RPS", help_heading = OPEN)]
    rate: Option<f64>,
    /// Find the highest rate that meets an objective: 'p99<5ms and errors<0.1%'
    ///
    /// An objective limits the response time, from the moment a request was due (p50, p99, p99.9 or
    /// any other percentile, max and mean), and the share of errors. Several limits are joined by
    /// `and` or a comma. A request that failed counts as slower than any limit.
    ///
    /// After a block in closed loop, a walk brackets the rate, a bisection that no single block can
    /// mislead narrows it, and the answer is confirmed on both sides: one rate at which seven of
    /// eight blocks hold and one at which seven of eight fail. Rates at which the load generator
    /// itself was the limit are reported as such. -d is the length of a block. The exit code is 1
    /// when even the lowest rate that a block can judge fails.
    #[arg(long, value_name = "OBJECTIVE", help_heading = OPEN)]
    pub(super) slo: Option<Objective>,
    /// Measure level by level: 'connections=1..512' or 'rate=1000..50000'
    ///
    /// Levels double where that makes eight to sixteen of them; each is measured once per round, in
    /// random order, so that drift affects all alike. Throughput, latency and CPU time per request
    /// have intervals over the rounds. The knee is where throughput divided by the time to an
    /// answer is highest. For connections the Universal Scalability Law is fitted, and its peak is
    /// printed only where the data support one.
    #[arg(long, value_name = "RANGE", help_heading = OPEN)]
    pub(super) sweep: Option<Sweep>,
    /// Rounds of a sweep; six are the fewest that give 95 % intervals
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROUNDS, value_parser = clap::value_parser!(u32).range(2..=1000), requires = "sweep", hide_short_help = true, help_heading = OPEN)]
    pub(super) rounds: u32,
    /// How the requests are spread over time: uniform or poisson [default: uniform]
    #[arg(long, value_name = "SPREAD", value_parser = values::one_of::<Arrivals>(Arrivals::ALL.map(Arrivals::name)), hide_possible_values = true, hide_short_help = true, requires = "open", help_heading = OPEN)]
    pub(super) arrivals: Option<Arrivals>,

    #[command(flatten)]
    pub(super) request: RequestFlags,
    /// Seed of mixed requests, of Poisson arrivals and of the order of blocks [default: 1]
    ///
    /// With the same seed each connection sends the same sequence of requests.
    #[arg(long, value_name = "NUMBER", hide_short_help = true, conflicts_with = "download", help_heading = REQUEST)]
    pub(super) seed: Option<u64>,
    /// For those used to wrk: answered with what to use instead
    #[arg(short, long, hide = true, value_parser = values::refuse_script)]
    script: Option<String>,

    /// This host is mine: needed beyond this machine's loopback
    ///
    /// Load can put a server out of service, so it goes only where you say, by name, that it may.
    #[arg(long, value_name = "HOST", help_heading = WHERE)]
    pub(super) mine: Vec<String>,
    /// Connect to this Unix socket of the server, and not to the host of the URL
    ///
    /// A socket in the file system of this machine (AF_UNIX), such as `listen unix:PATH` of nginx
    /// makes. The URL still gives the Host header and the path. --download is for TCP only: it
    /// reads what the kernel reports about TCP connections.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, value_parser = unix_socket::parser(), conflicts_with_all = ["mine", "download"], hide_short_help = true, help_heading = WHERE)]
    pub(super) unix_socket: Option<SocketPath>,
    /// CPUs for the load threads, in turn: 0 or 0-3,8 [default: any]
    #[arg(long, value_name = "LIST", value_parser = sys::cpu::parse_list, help_heading = WHERE)]
    cpus: Option<std::vec::Vec<usize>>,
    /// What carries the bytes: epoll, uring or auto
    #[arg(long, default_value_t, value_parser = values::one_of::<Engine>(Engine::ALL.map(Engine::name)), hide_possible_values = true, hide_short_help = true, help_heading = WHERE)]
    engine: Engine,

    /// Print the distribution of the latency, a line for each quantile
    ///
    /// In closed loop it is that of the service time, from the send to the last byte; with --rate
    /// the response time, from when the request was due, is printed beside it. A quantile with
    /// fewer than ten requests beyond it is left out.
    #[arg(long, conflicts_with_all = ["slo", "sweep"], help_heading = OUTPUT)]
    pub(super) latency: bool,
    /// Print one JSON value (docs/schema/load*.json)
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,
    /// Save every block of --slo or --sweep in this folder, and resume from what it has
    ///
    /// Each block is on disk before the next begins. The same command resumes a stopped run, as
    /// does `linerate study resume FOLDER --trust`, and `linerate study report FOLDER` prints the
    /// report again. Headers, a typed body and queries are not saved, except two bytes of a hash of
    /// the whole request, by which the folder refuses another request.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath, requires = "blocks", hide_short_help = true, help_heading = OUTPUT)]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) watching: WatchFlags,
}

const OPEN: &str = "Open loop";

const EXAMPLES: &str = "\
Examples:
  How many requests can it answer, and at what cost to the client?
    linerate load http://127.0.0.1:8080/json -c 64 -d 10s
  As you would type it for wrk, or for ab, hey and oha:
    linerate load -t2 -c100 -d30s --latency http://127.0.0.1:8080/json
    linerate load -n 100000 -c 50 http://127.0.0.1:8080/json
  The most that this machine can carry, without latency:
    linerate load http://127.0.0.1:8080/json -c 64 --throughput
  How long do users wait at 20,000 requests/s?
    linerate load http://127.0.0.1:8080/json --rate 20000 --latency
  How many requests/s can it take while 99 % wait for less than 5 ms?
    linerate load http://127.0.0.1:8080/json --slo 'p99<5ms and errors<0.1%'
  From how many connections on does more load bring only more waiting?
    linerate load http://127.0.0.1:8080/json --sweep connections=1..512
  The same from CPUs that the server does not use:
    linerate load http://127.0.0.1:8080/json --rate 20000 -t 2 --cpus 0-1
  A POST with a body from a file:
    linerate load http://127.0.0.1:8080/items --body @item.json
  Nine requests in ten for some item, and one that orders it, the same ones each time:
    linerate load http://127.0.0.1:8080 --mix requests.toml --seed 7
    linerate load 'http://127.0.0.1:8080/items/{id:1..100000}'
  A server of yours with a self-signed certificate:
    linerate load https://127.0.0.1:8443/json --insecure
  The same over HTTP/2, with 32 requests at once on each of 4 connections:
    linerate load https://127.0.0.1:8443/json --insecure --http2 --streams 32 -c 4
  What is left of a request when sixteen at a time are sent and answered together?
    linerate load http://127.0.0.1:8080/plaintext --pipeline 16 --throughput
  How fast does a large file arrive, and which side is the limit?
    linerate load http://127.0.0.1:8080/big.img --download
  A server that listens on a Unix socket:
    linerate load http://localhost/ --unix-socket /run/app.sock
  Another machine of yours:
    linerate load http://10.0.0.7:8080/ --mine 10.0.0.7";

impl Arguments {
    /// The plan that the flags ask for. The address of a host is not looked up yet.
    pub(super) fn plan(&self) -> anyhow::Result<LoadPlan> {
        ensure!(
            !(self.request.http2 && self.engine == Engine::Uring),
            "--engine uring carries no HTTP/2: leave --engine out with --http2, or say epoll"
        );
        ensure!(
            !(self.request.pipeline > 1 && self.engine == Engine::Uring),
            "--engine uring carries no pipeline: leave --engine out with --pipeline, or say epoll"
        );
        self.request.check()?;
        let cpus = self.cpus.clone().unwrap_or_default();
        sys::cpu::all_allowed(&cpus).context("--cpus")?;
        let connections = self.most_connections();
        counted::check(self.requests, connections)?;
        let (settle, duration) = match self.requests {
            _ if self.slo.is_some() || self.sweep.is_some() => (BLOCK_SETTLE, BLOCK_DURATION),
            Some(_) => (Duration::ZERO, counted::LONGEST),
            None => (DEFAULT_SETTLE, DEFAULT_DURATION),
        };
        let settle = self
            .settle
            .filter(|_| self.requests.is_none())
            .unwrap_or(settle);
        Ok(LoadPlan {
            address: self.address(),
            connections,
            threads: self.threads,
            cpus,
            pace: self.pace(),
            settle_ns: nanoseconds(settle),
            score_ns: nanoseconds(self.duration.unwrap_or(duration)),
            requests: self.requests.map(u64::from),
            timeout_ns: nanoseconds(self.timeout.unwrap_or(DEFAULT_TIMEOUT)),
            record_latency: !self.throughput,
            engine: self.engine,
            bulk: false,
            tls: None,
            streams: self.request.streams(),
            pipeline: self.request.pipeline,
        })
    }

    /// Time after which a request of a block has failed, ns. Requests sent beforehand wait as long
    /// as the plan says.
    pub(super) fn timeout_ns(&self, plan: &LoadPlan) -> u64 {
        match (self.timeout, &self.slo) {
            (None, Some(slo)) if slo.limits_errors() => {
                plan.timeout_ns.min(plan.score_ns / TIMEOUTS_IN_A_BLOCK)
            }
            _ => plan.timeout_ns,
        }
    }

    /// Where to connect to, as far as it is known before the host is looked up.
    fn address(&self) -> Address {
        let unknown = || SocketAddr::from(([0, 0, 0, 0], 0)).into();
        self.unix_socket.clone().map_or_else(unknown, Address::Unix)
    }

    /// Seed of everything that is drawn at random.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Whether the load is an open loop, or one of many blocks.
    pub(super) fn is_searched_or_open(&self) -> bool {
        self.rate.is_some() || self.slo.is_some() || self.sweep.is_some()
    }

    /// Whether the load is not repeated where throughput settled late: the time to settle was
    /// given, or the figures are written already.
    pub(super) fn is_put_on_once(&self) -> bool {
        self.settle.is_some() || self.requests.is_some() || self.watching.writes()
    }

    /// Prints a result, as JSON or as its page, and not on standard output where that is taken.
    pub(super) fn tell(
        &self,
        result: &impl Serialize,
        page: impl FnOnce() -> String,
        console: &Console,
    ) {
        let text = match self.json {
            true => shape::lines(result),
            false => page(),
        };
        if self.watching.takes_standard_output() {
            console.note(&text);
        } else {
            console.say(&text);
        }
    }

    fn most_connections(&self) -> u32 {
        let default = if self.download {
            1
        } else {
            DEFAULT_CONNECTIONS.min(self.requests.unwrap_or(u32::MAX))
        };
        let held = self.connections.unwrap_or(default);
        self.sweep
            .map_or(held, |sweep| sweep.most_connections(held))
    }

    fn pace(&self) -> Pace {
        self.rate
            .map_or(Pace::Closed, |rate_rps| self.open(rate_rps, 0))
    }

    /// An open loop at a rate, with the arrivals asked for; each block draws others.
    pub(super) fn open(&self, rate_rps: f64, block: u32) -> Pace {
        Pace::Open {
            rate_rps,
            arrivals: self.arrivals(),
            seed: SplitMix64::new(self.seed()).stream(block).bits(),
        }
    }

    pub(super) fn arrivals(&self) -> Arrivals {
        self.arrivals.unwrap_or_default()
    }

    /// The workload of a search or a sweep; `None` for a single load.
    pub(super) fn many_blocks(&self) -> Option<LoadWorkload> {
        match (&self.slo, self.sweep) {
            (Some(objective), _) => Some(LoadWorkload::Capacity {
                objective: objective.clone(),
            }),
            (None, Some(range)) => Some(LoadWorkload::Sweep {
                range,
                rounds: self.rounds,
            }),
            (None, None) => None,
        }
    }
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn where_errors_are_limited_what_hangs_fails_within_its_block() {
        let timeout_ns = |typed: &str| {
            let declared = Arguments::augment_args(clap::Command::new("load"));
            let words = format!("load http://127.0.0.1/ {typed}");
            let read = declared.get_matches_from(words.split(' '));
            let arguments = Arguments::from_arg_matches(&read).unwrap();
            arguments.timeout_ns(&arguments.plan().unwrap())
        };
        assert_eq!(timeout_ns("--slo p99<5ms"), 5_000_000_000);
        assert_eq!(timeout_ns("--slo p99<5ms,errors<1%"), 250_000_000);
        assert_eq!(timeout_ns("--slo errors<1% -d 60s"), 5_000_000_000);
        assert_eq!(timeout_ns("--slo errors<1% --timeout 2s"), 2_000_000_000);
    }
}
