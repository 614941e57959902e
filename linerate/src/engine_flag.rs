//! `--engine`: what tells a server of its connections, and why it is this one.

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use sys::listener::BusyPoll;
use sys::uring::serving::ServingRing;
use sys::uring::usable;
use traffic::engine::Engine;

use crate::console::Console;

/// Packets that a ring takes from a device in one go (`BUSY_POLL_BUDGET` of net/busy_poll.h).
const RING_BUDGET: u16 = 8;

#[derive(clap::Args)]
pub(crate) struct EngineFlag {
    /// What tells the server of its connections: epoll, uring or auto
    ///
    /// epoll tells what is ready, and each piece is received and sent by a system call. uring
    /// (io_uring, Linux 6.1) receives by itself, and sends the answers of a batch together. Files in
    /// the clear leave as with epoll; those over TLS do without the kernel's records there
    /// (--kernel-tls). auto takes epoll, which measured no dearer, and says whether uring could be
    /// had.
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "auto",
        hide_possible_values = true
    )]
    engine: Wish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wish {
    Auto,
    Epoll,
    Uring,
}

/// An engine, and why it is this one.
pub(crate) struct Chosen {
    pub(crate) engine: Engine,
    pub(crate) reason: String,
}

impl EngineFlag {
    /// The engine to run on.
    ///
    /// # Errors
    /// Why the ring that was asked for cannot be had, and what to do.
    pub(crate) fn choose(&self, busy_poll: Option<BusyPoll>) -> anyhow::Result<Chosen> {
        let (engine, reason) = match self.engine {
            Wish::Epoll => (Engine::Epoll, "it was asked for".to_owned()),
            Wish::Auto => (Engine::Epoll, reason_of_auto()),
            Wish::Uring => {
                usable::try_out().context(
                    "--engine uring cannot be had here; --engine epoll serves the same without",
                )?;
                ensure_polls_alike(busy_poll)?;
                (Engine::Uring, "it was asked for".to_owned())
            }
        };
        Ok(Chosen { engine, reason })
    }

    pub(crate) fn is_ring(&self) -> bool {
        self.engine == Wish::Uring
    }

    /// Says what was chosen, where that was left to us.
    pub(crate) fn explain(&self, chosen: &Chosen, console: &Console) {
        if self.engine == Wish::Auto {
            console.note(&format!("engine {}: {}", chosen.engine, chosen.reason));
        }
    }
}

fn reason_of_auto() -> String {
    match usable::try_out() {
        Ok(()) => "it measured no dearer per request than uring, which could be had".to_owned(),
        Err(why) => format!("uring cannot be had: {why}"),
    }
}

/// A ring looks at devices in its own way, which is tried before anybody is told of the server.
fn ensure_polls_alike(busy_poll: Option<BusyPoll>) -> anyhow::Result<()> {
    let Some(wish) = busy_poll else {
        return Ok(());
    };
    ensure!(
        wish.preferred_budget
            .is_none_or(|budget| budget == RING_BUDGET),
        "--prefer-busy-poll with --engine uring: a ring takes {RING_BUDGET} packets in one go and no \
         other number; leave the number out, or take --engine epoll"
    );
    let tried = ServingRing::new().and_then(|mut ring| ring.poll_busily(wish));
    tried.context(
        "--busy-poll with --engine uring takes Linux 6.9 (IORING_REGISTER_NAPI); take --engine epoll",
    )
}
