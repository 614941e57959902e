//! A server that already runs under traffic of its own: we watch it and send it no requests.

use std::net::SocketAddr;
use std::time::Duration;

use machine::instruments::carried::{CarriedWatch, Known};
use machine::instruments::cpu::CpuWatch;
use machine::targets::{self, TargetError};
use model::Reading;
use model::failure::Failure;
use model::message::{BlockAsk, Loaded};
use model::reading::CarriedReading;
use sys::clock;
use traffic::load::Observer;
use wire::url::HttpUrl;

use crate::speaks::Speaks;
use crate::target::{Plan, Target, resolve};

/// Most windows measured in search of one in which new connections carry nearly all traffic.
const MOST_WINDOWS: u32 = 10;

/// A server that others load, by the address at which it listens.
pub(crate) struct WatchedServer(SocketAddr);

/// Makes such a server the target, provided that its CPU time can be read: of a server that we do
/// not load, no other figure says what a lever buys.
pub(crate) fn watched(url: &str, plan: Plan) -> Result<Target, Failure> {
    let url = HttpUrl::parse(url).map_err(|error| Failure::plain(error.to_string()))?;
    let address = resolve(&url)?;
    let watched = WatchedServer(address);
    watched.pids()?;
    let speaks = Speaks::Watched(watched);
    Ok(Target::met(address.into(), speaks, plan.into_live()))
}

impl WatchedServer {
    /// Its processes at this moment: a server may replace its workers at any time.
    pub(crate) fn pids(&self) -> Result<Vec<u32>, Failure> {
        targets::listening_on(self.0).map_err(|error| Failure {
            what: error.to_string(),
            advice: match error {
                // The socket of a server that was just killed outlives it for a moment.
                TargetError::NobodyListens(_) | TargetError::NoProcess(_) => {
                    "see whether the server has ended"
                }
                _ => "run as the server's user or as root: its CPU time is what is measured",
            }
            .to_owned(),
        })
    }

    /// Waits for one window, and reads the counters at both of its ends. With `of_new` it repeats
    /// the window, `MOST_WINDOWS` times at most, until connections that are opened from now on
    /// carry nearly all traffic.
    pub(crate) fn measure(
        &self,
        ask: &BlockAsk,
        of_new: bool,
        beside: &mut dyn Observer,
    ) -> Result<Loaded, Failure> {
        let pids = self.pids()?;
        let listens = targets::addresses_of_all(&pids);
        let known = of_new.then(|| Known::now(&listens)).transpose();
        let known = known.map_err(|error| uncounted(&error))?;
        wait(ask.settle_ms, || ());
        let mut left = MOST_WINDOWS;
        loop {
            let loaded = scored((&pids, &listens), ask.score_ms, known.as_ref(), beside)?;
            left -= 1;
            let is_of_new = |carried: CarriedReading| carried.is_of_new();
            if left == 0 || loaded.reading.carried.is_none_or(is_of_new) {
                return Ok(loaded);
            }
        }
    }
}

/// Measures one window of a server's traffic.
fn scored(
    (pids, listens): (&[u32], &[SocketAddr]),
    score_ms: u32,
    known: Option<&Known>,
    beside: &mut dyn Observer,
) -> Result<Loaded, Failure> {
    let mut cpu = CpuWatch::new(pids);
    let mut carried = CarriedWatch::open(listens.to_vec()).map_err(|error| uncounted(&error))?;
    beside.window_opens();
    cpu.open();
    let opened_ns = clock::monotonic_ns();
    wait(score_ms, || carried.hear());
    // Closed in the order in which they were opened, so that both windows have the same length.
    let carried = carried.close(known).map_err(|error| uncounted(&error))?;
    cpu.close();
    beside.window_closes();
    let closed_ns = clock::monotonic_ns();
    if sys::stop::heard().is_some() {
        return Err(Failure::plain("the block was cut short by a signal"));
    }
    let window_ns = closed_ns - opened_ns;
    let reading = Reading {
        window_ns,
        carried: Some(carried),
        cpu: cpu.reading(window_ns, 0, 0.0),
        ..Reading::default()
    };
    Ok(Loaded {
        opened_ns,
        closed_ns,
        reading,
    })
}

/// Waits for `ms` milliseconds or until a signal arrives, and calls `meanwhile` again and again.
fn wait(ms: u32, mut meanwhile: impl FnMut()) {
    clock::wait_until(Duration::from_millis(ms.into()), || {
        meanwhile();
        sys::stop::heard().is_some()
    });
}

fn uncounted(error: &std::io::Error) -> Failure {
    Failure {
        what: format!("what the server's connections carry cannot be read: {error}"),
        advice: "load the kernel's module of socket diagnostics: modprobe tcp_diag".to_owned(),
    }
}
