//! A server that runs already under the traffic that it has: it is watched, and never asked.

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

/// How many windows are looked at for one in which new connections carry nearly all.
const MOST_WINDOWS: u32 = 10;

/// Where it listens.
pub(crate) struct WatchedServer(SocketAddr);

/// Takes up with it, once its CPU time can be read: no other figure of a server that is not loaded says
/// what a lever buys.
pub(crate) fn watched(url: &str, plan: Plan) -> Result<Target, Failure> {
    let url = HttpUrl::parse(url).map_err(|error| Failure::plain(error.to_string()))?;
    let address = resolve(&url)?;
    let watched = WatchedServer(address);
    watched.pids()?;
    let speaks = Speaks::Watched(watched);
    Ok(Target::met(address.into(), speaks, plan.into_live()))
}

impl WatchedServer {
    /// Those of this moment: a server may start others in the place of its workers.
    pub(crate) fn pids(&self) -> Result<Vec<u32>, Failure> {
        targets::listening_on(self.0).map_err(|error| Failure {
            what: error.to_string(),
            advice: match error {
                // Of one that has just been killed the socket is there a moment longer.
                TargetError::NobodyListens(_) | TargetError::NoProcess(_) => {
                    "see whether the server has ended"
                }
                _ => "run as the server's user or as root: its CPU time is what is measured",
            }
            .to_owned(),
        })
    }

    /// Waits, and reads the counters at both ends of the time. With `of_new` it waits further, for some such times,
    /// until connections that are opened from now on carry nearly all.
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

/// One window of a server's traffic.
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
    // In the order of the beginning, so that both windows are of one length.
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

/// Waits so long, or until a signal came.
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
