//! How many answers each resource allows at most: what there is of it over what an answer takes.

mod arms;
mod commands;

use model::ceiling::{AnswerDemand, ProbeValues};
use model::explanation::ResourceBound;
use model::observation::Observation;

use crate::{cpu_used, median};

pub(crate) use arms::of_arms;
pub(crate) use commands::of_commands;

/// Highest plausible ratio of what was reached to a bound, as figures measured at two times differ
/// by a tenth. A bound that was exceeded by more was none.
const MOST_REACHED: f64 = 1.1;

/// What was done within a window, what it took, and what there is for it.
pub(crate) struct Served<'a> {
    pub(crate) answered: f64,
    pub(crate) window_ns: f64,
    /// CPU time of the program; `None` where it is hidden.
    pub(crate) cpu_ns: Option<f64>,
    /// Share of the time for which the busiest thread of our load had a CPU.
    pub(crate) client_busy_share: Option<f64>,
    pub(crate) demand: &'a AnswerDemand,
    pub(crate) probed: &'a ProbeValues,
}

/// What one answer took of each resource in a look at a program under load; `None` where nothing
/// was answered.
#[must_use]
pub fn answer_demand(arm: &str, seen: &Observation) -> Option<AnswerDemand> {
    let answered = seen.load.filter(|load| load.answered > 0)?.answered as f64;
    let bytes = seen
        .counter("senders.acked_bytes")
        .filter(|acked| *acked > 0);
    let bytes = bytes.map(|acked| acked as f64 / answered);
    let used = cpu_used::of(seen);
    let busiest = seen.threads.first().filter(|_| used > 0);
    let waits = seen.threads.iter().map(|it| it.waits as f64);
    let quota = seen.counter("group.quota_mcpu");
    Some(AnswerDemand {
        arm: arm.to_owned(),
        bytes,
        calls: calls(seen, bytes),
        switches: Some(waits.sum::<f64>() / answered),
        busiest_share: busiest.map(|it| it.running_ns as f64 / used as f64),
        busiest_thread: busiest.map_or_else(String::new, |it| it.name.clone()),
        cpus: seen.threads.iter().map(|it| it.cpus).max(),
        quota_cpus: quota.map(|thousandths| thousandths as f64 / 1e3),
    })
}

/// System calls per answer. They are counted in a burst that slows the program down, so the number
/// of answers in it follows from the bytes acknowledged.
fn calls(seen: &Observation, bytes: Option<f64>) -> Option<f64> {
    let calls = seen.calls.as_ref()?;
    let answered = calls.acked_bytes? as f64 / bytes?;
    let made: f64 = calls.counts.values().map(|count| *count as f64).sum();
    Some(made / answered)
}

/// The bounds by all resources of which enough is known, nearest first.
pub(crate) fn bounds(served: &Served<'_>) -> Vec<ResourceBound> {
    let all = [
        served.busiest_thread(),
        served.cpus(),
        served.client(),
        served.loopback(),
        served.calls(),
        served.switches(),
    ];
    nearest_first(all.into_iter().flatten().collect())
}

/// Sorts bounds, nearest first, without those that are none: they give no number, or were exceeded.
fn nearest_first(mut bounds: Vec<ResourceBound>) -> Vec<ResourceBound> {
    bounds.retain(|bound| {
        let all = [bound.demand, bound.most_rps, bound.reached];
        all.iter().all(|it| *it > 0.0 && it.is_finite()) && bound.reached <= MOST_REACHED
    });
    bounds.sort_by(|one, other| one.most_rps.total_cmp(&other.most_rps));
    bounds
}

impl Served<'_> {
    fn busiest_thread(&self) -> Option<ResourceBound> {
        let us = self.busiest_ns()? / 1e3 / self.answered;
        let what = match self.demand.busiest_thread.as_str() {
            "" => "one CPU for its busiest thread".to_owned(),
            name => format!("one CPU for its busiest thread ({name})"),
        };
        self.bound(("busiest-thread", what), (us, "µs of it"), 1e6)
    }

    /// The bound by all CPUs that the program may use; for one thread alone, what more threads
    /// could do.
    fn cpus(&self) -> Option<ResourceBound> {
        let us = self.cpu_ns? / 1e3 / self.answered;
        let cpus = f64::from(self.demand.cpus?);
        match self.demand.quota_cpus.filter(|quota| *quota < cpus) {
            Some(quota) => {
                let what = format!("its quota of {quota:.2} CPUs");
                self.bound(("cpu-quota", what), (us, "µs of a CPU"), quota * 1e6)
            }
            None if cpus > 1.0 => {
                let what = format!("the {cpus} CPUs that it may use");
                self.bound(("cpus", what), (us, "µs of a CPU"), cpus * 1e6)
            }
            None => None,
        }
    }

    fn client(&self) -> Option<ResourceBound> {
        let us = self.client_busy_share? * self.window_ns / 1e3 / self.answered;
        let what = "one CPU for our load's busiest thread".to_owned();
        self.bound(("client-thread", what), (us, "µs of it"), 1e6)
    }

    fn loopback(&self) -> Option<ResourceBound> {
        let most = self.probed("loopback_bytes_per_second")?;
        let what = "TCP by copies over loopback, from one CPU to another".to_owned();
        self.bound(
            ("loopback-bytes", what),
            (self.demand.bytes?, "bytes"),
            most,
        )
    }

    fn calls(&self) -> Option<ResourceBound> {
        let what = "system calls that do nothing".to_owned();
        let most = 1e9 / self.probed("syscall_ns")? * self.threads_at_once()?;
        self.bound(("system-calls", what), (self.demand.calls?, "calls"), most)
    }

    fn switches(&self) -> Option<ResourceBound> {
        let what = "switches between threads that do nothing else".to_owned();
        let most = 1e9 / self.probed("context_switch_ns")? * self.threads_at_once()?;
        self.bound(
            ("switches", what),
            (self.demand.switches?, "switches"),
            most,
        )
    }

    fn probed(&self, name: &str) -> Option<f64> {
        median::of(self.probed.get(name)?)
    }

    fn busiest_ns(&self) -> Option<f64> {
        Some(self.cpu_ns? * self.demand.busiest_share?)
    }

    /// How many CPUs the program uses when its busiest thread has one all the time.
    fn threads_at_once(&self) -> Option<f64> {
        let cpus = f64::from(self.demand.cpus?.max(1));
        let busiest_ns = self.busiest_ns().filter(|ns| *ns > 0.0)?;
        Some((self.cpu_ns? / busiest_ns).clamp(1.0, cpus))
    }

    fn bound(
        &self,
        (name, what): (&str, String),
        (demand, unit): (f64, &str),
        most: f64,
    ) -> Option<ResourceBound> {
        let most_rps = most / demand;
        Some(ResourceBound {
            name: name.to_owned(),
            what,
            demand,
            unit: unit.to_owned(),
            most_rps,
            reached: self.answered / (self.window_ns.max(1.0) / 1e9) / most_rps,
            rate_unit: None,
        })
    }
}
