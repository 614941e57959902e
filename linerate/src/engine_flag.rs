//! `--engine`: the kernel interface for a server's connections, and why it was chosen.

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
    /// Kernel interface for the connections: epoll, uring or auto
    ///
    /// epoll tells what is ready, and each piece is received and sent by a system call. uring
    /// (io_uring, Linux 6.1) receives by itself, and sends the answers of a batch together. Files
    /// without TLS are sent as with epoll; with TLS the kernel makes no records for uring
    /// (--kernel-tls). auto uses epoll, which measured no dearer, and says whether uring is
    /// available.
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

/// An engine, and why it was chosen.
pub(crate) struct Chosen {
    pub(crate) engine: Engine,
    pub(crate) reason: String,
}

impl EngineFlag {
    /// Returns the engine to run on.
    ///
    /// # Errors
    /// When the ring that was asked for is not available: says why, and what to do.
    pub(crate) fn choose(&self, busy_poll: Option<BusyPoll>) -> anyhow::Result<Chosen> {
        let (engine, reason) = match self.engine {
            Wish::Epoll => (Engine::Epoll, "it was asked for".to_owned()),
            Wish::Auto => (Engine::Epoll, reason_of_auto()),
            Wish::Uring => {
                usable::try_out().context(
                    "--engine uring is not available here; --engine epoll serves the same",
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

    /// Says which engine was chosen, if the choice was left to us.
    pub(crate) fn explain(&self, chosen: &Chosen, console: &Console) {
        if self.engine == Wish::Auto {
            console.note(&format!("engine {}: {}", chosen.engine, chosen.reason));
        }
    }
}

fn reason_of_auto() -> String {
    match usable::try_out() {
        Ok(()) => "it measured no dearer per request than uring, which is available".to_owned(),
        Err(why) => format!("uring is not available: {why}"),
    }
}

/// Checks that a ring can poll devices as asked. A ring does so in its own way, which is tried
/// before the server is reported as ready.
fn ensure_polls_alike(busy_poll: Option<BusyPoll>) -> anyhow::Result<()> {
    let Some(wish) = busy_poll else {
        return Ok(());
    };
    ensure!(
        wish.preferred_budget
            .is_none_or(|budget| budget == RING_BUDGET),
        "--prefer-busy-poll with --engine uring: a ring takes {RING_BUDGET} packets in one go and no \
         other number; leave the number out, or use --engine epoll"
    );
    let tried = ServingRing::new().and_then(|mut ring| ring.poll_busily(wish));
    tried.context(
        "--busy-poll with --engine uring needs Linux 6.9 (IORING_REGISTER_NAPI); use --engine epoll",
    )
}
