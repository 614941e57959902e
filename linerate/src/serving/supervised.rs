//! A server of worker processes, and the parent that looks after them.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sys::orders::{Order, Orders};
use sys::stop::StopSignal;
use sys::tally_page::TallyPage;
use traffic::engine::supervisor::{Event, Recipe, Workers};

use super::record::Record;
use super::systemd::{Notifier, VARIABLES};
use super::{Needs, Serving};
use crate::console::Console;
use crate::listening::Listening;
use crate::ourselves::OURSELVES;
use crate::tls_flags::Speaking;

/// What all workers are started from.
struct Plan<'a> {
    /// One for each worker.
    places: Vec<Post>,
    held_bytes: u64,
    needs: Needs<'a>,
}

/// What a worker uses, and those that are started in its place.
struct Post {
    listener: Arc<std::net::TcpListener>,
    cpu: usize,
    counts: Arc<TallyPage>,
}

impl Serving {
    pub(super) fn supervise(
        &self,
        console: &Console,
        (listening, cpus): (Listening, &[usize]),
        stop: &StopSignal,
        needs: Needs<'_>,
        (ready, held_bytes): (String, u64),
    ) -> anyhow::Result<()> {
        let notifier = Notifier::from_environment();
        let orders = Orders::listen(match needs.reload {
            Some(_) => &[Order::Report, Order::Reload],
            None => &[Order::Report],
        })?;
        // The parent mostly sleeps; when it wakes up, it should disturb only its workers.
        sys::cpu::pin(cpus).context("running on the CPUs of the workers")?;
        let plan = Plan::new((listening.listeners, cpus), held_bytes, needs)?;
        let mut workers = Workers::start(plan.recipes(needs.tls)?)?;
        console.say(&ready);
        notifier.ready();
        let mut started_again = 0;
        loop {
            match workers.wait(&[stop.as_fd(), orders.as_fd()])? {
                Event::Rang(0) => break,
                Event::StartedAgain(obituary) => {
                    started_again += 1;
                    console.note(&format!("{obituary}; another was started"));
                }
                Event::Rang(_) => {
                    if orders.take(Order::Report) {
                        console.say(&plan.record(started_again).line(self.json));
                    }
                    if orders.take(Order::Reload) {
                        notifier.reloading();
                        plan.reload(&mut workers, console);
                        notifier.ready();
                    }
                }
            }
        }
        notifier.stopping();
        let counts = plan.stop_listening();
        let drain_timeout = Duration::from_secs(self.limits.drain_timeout_s.into());
        workers.stop(drain_timeout)?;
        let record = Record::of(counts.iter().map(|page| &**page));
        self.say_end(record.with_started_again(started_again), console);
        Ok(())
    }
}

impl<'a> Plan<'a> {
    fn new(
        (listeners, cpus): (Vec<std::net::TcpListener>, &[usize]),
        held_bytes: u64,
        needs: Needs<'a>,
    ) -> anyhow::Result<Self> {
        let places = listeners.into_iter().zip(cpus.iter().copied().cycle());
        let place = |(listener, cpu)| {
            Ok(Post {
                listener: Arc::new(listener),
                cpu,
                counts: Arc::new(TallyPage::new()?),
            })
        };
        Ok(Self {
            places: places
                .map(place)
                .collect::<std::io::Result<_>>()
                .context("workers")?,
            held_bytes,
            needs,
        })
    }

    /// Returns how each worker is started, and how it speaks TLS, if it does.
    fn recipes(&self, tls: Option<&Speaking>) -> anyhow::Result<Vec<Recipe>> {
        let identity = tls.map(Speaking::hand_over).transpose()?;
        let (identity, arguments) = identity.map_or((None, Vec::new()), |(file, arguments)| {
            (Some(Arc::new(file)), arguments.to_vec())
        });
        let recipe = |place: &Post| {
            let counts = Arc::new(place.counts.as_fd().try_clone_to_owned()?);
            Ok(Recipe {
                listener: place.listener.clone(),
                cpu: place.cpu,
                command: self.command(&counts, arguments.clone()),
                handed_over: identity.iter().cloned().chain([counts]).collect(),
            })
        };
        let recipes = self.places.iter().map(recipe);
        recipes.collect::<std::io::Result<_>>().context("workers")
    }

    /// Returns the command that starts this program again, with its own arguments and some more.
    fn command(&self, counts: &OwnedFd, more: Vec<String>) -> Box<dyn Fn() -> Command> {
        let held_bytes = self.held_bytes.to_string();
        let counts = counts.as_raw_fd().to_string();
        Box::new(move || {
            let mut command = Command::new(OURSELVES);
            command.args(std::env::args_os().skip(1));
            command.args(["--worker", &counts, "--held-bytes", &held_bytes]);
            command.args(&more);
            for variable in VARIABLES {
                command.env_remove(variable);
            }
            command
        })
    }

    fn record(&self, started_again: u64) -> Record {
        let pages = self.places.iter().map(|place| &*place.counts);
        Record::of(pages).with_started_again(started_again)
    }

    /// Starts new workers that use what the files of certificates hold now. Files that cannot be
    /// used are reported, and the old workers go on.
    fn reload(&self, workers: &mut Workers, console: &Console) {
        let speaking = self.needs.reload.map_or(Ok(None), |reload| reload());
        let replaced = speaking.and_then(|speaking| {
            let recipes = self.recipes(speaking.as_ref())?;
            Ok(workers.replace(recipes)?)
        });
        match replaced {
            Ok(()) => console.note("the certificates were read again; new connections use them"),
            Err(error) => console.error(&format!(
                "the certificates stay as they were: {error:#}; fix that and send SIGHUP again"
            )),
        }
    }

    /// Closes the listeners, so that only the draining workers have them; returns the counts.
    fn stop_listening(self) -> Vec<Arc<TallyPage>> {
        self.places.into_iter().map(|place| place.counts).collect()
    }
}
