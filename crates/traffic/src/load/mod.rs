//! The load generator: one loop that drives any [`Protocol`] over many connections.
//!
//! Each thread has its own carrier of bytes and its own connections, and shares nothing while it
//! runs. In steady state, a request over epoll costs one `send`, one `recv` and its part of one
//! wait; over io_uring it costs a part of one system call. The next request leaves from the place
//! in the code where the previous answer ended.
//!
//! The path of a request: the schedule or the previous answer makes it due (`schedule`), the worker
//! sends it on a free connection (`worker`, `connections`, `carrier`), the protocol says where its
//! answer ends (`http`), and it is counted in exactly one bin (`recorder`).

mod answers;
mod borrowed;
mod carrier;
mod connections;
mod countdown;
mod error;
mod free;
mod gate;
pub mod http;
pub mod http2;
pub mod mix;
mod outcome;
mod plan;
mod probe;
mod recorder;
mod silence;
mod tally;
mod usage;
mod worker;

use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use self::http::HttpProtocol;
use self::http2::Http2Protocol;
use self::mix::Mix;
use borrowed::BorrowedThread;
use carrier::{
    Carrier, Clear, EpollCarrier, PipelinedCarrier, Secured, StreamsCarrier, UringCarrier,
};
use gate::Gate;
use worker::Worker;

use crate::protocol::Protocol;

pub use error::LoadError;
use outcome::WorkerOutcome;

pub use outcome::{ConnectionCounts, Handshakes, LoadOutcome};
pub use plan::{Engine, LoadPlan};
pub use probe::{
    ExchangeFailure, HeadProbe, Probe, ProbeError, probe, probe_head, probe_http2, probe_whole,
};
pub use recorder::TICK_NS;
pub use tally::{Live, SoFar};

/// Called by the first worker at the edges of the scored window, so that counters are read in step
/// with it. The time that these calls take is not scored.
pub trait Observer {
    /// A block begins. From now on any thread can read its counts in `live`.
    fn begins(&mut self, _live: &Arc<Live>) {}
    /// The connections of the first worker are open; no request is sent before this returns.
    fn is_connected(&mut self) {}
    /// The scored window is about to open.
    fn window_opens(&mut self);
    /// The scored window has just closed.
    fn window_closes(&mut self);
    /// Whether the block should end now. This is called often, at least every tenth of a second.
    fn is_over(&self) -> bool {
        false
    }
}

/// An observer that reads nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn window_opens(&mut self) {}
    fn window_closes(&mut self) {}
}

/// Does what [`Loads::load`] does, for a protocol whose requests are plain bytes.
pub(crate) fn run<P: Protocol<Request = [u8], Input = [u8]>>(
    plan: &LoadPlan,
    protocol: &P,
    observer: &mut dyn Observer,
) -> Result<LoadOutcome, LoadError> {
    let engine = carrier::choose(plan, protocol.constant_request().is_some())?;
    let live = prepare(plan, observer)?;
    let (is_secured, is_pipelined) = (plan.tls.is_some(), plan.pipeline > 1);
    let run = match (engine, is_secured, is_pipelined) {
        (Engine::Uring, ..) => carry::<P, UringCarrier>,
        (_, false, false) => carry::<P, EpollCarrier<Clear>>,
        (_, true, false) => carry::<P, EpollCarrier<Secured>>,
        (_, false, true) => carry::<P, PipelinedCarrier<Clear>>,
        (_, true, true) => carry::<P, PipelinedCarrier<Secured>>,
    };
    let outcomes = run(plan, protocol, &live, observer)?;
    Ok(LoadOutcome::merge(plan, engine, &live, outcomes))
}

/// Like [`run`], with as many requests under way on each connection as the plan has streams.
fn run_http2(
    plan: &LoadPlan,
    protocol: &Http2Protocol,
    observer: &mut dyn Observer,
) -> Result<LoadOutcome, LoadError> {
    let engine = carrier::choose_for_streams(plan)?;
    let live = prepare(plan, observer)?;
    let outcomes = match &plan.tls {
        None => carry::<_, StreamsCarrier<Clear>>(plan, protocol, &live, observer),
        Some(_) => carry::<_, StreamsCarrier<Secured>>(plan, protocol, &live, observer),
    }?;
    Ok(LoadOutcome::merge(plan, engine, &live, outcomes))
}

/// A protocol that can put load on a target. The load loop of each implementation is compiled in
/// this crate, once, with its optimization level.
pub trait Loads {
    /// Puts one block of load on the target: connects, settles, scores, and waits a moment for the
    /// last answers. It takes `settle_ns + score_ns`, or less where the requests are counted, plus
    /// the time to connect.
    ///
    /// # Errors
    /// [`LoadError`] for a plan that makes no sense, a CPU that is not available, or a target that
    /// accepts no connection at all. Requests that fail are no error: they are in the ledger.
    fn load(&self, plan: &LoadPlan, observer: &mut dyn Observer) -> Result<LoadOutcome, LoadError>;
}

impl Loads for HttpProtocol {
    fn load(&self, plan: &LoadPlan, observer: &mut dyn Observer) -> Result<LoadOutcome, LoadError> {
        run(plan, self, observer)
    }
}

impl Loads for Mix {
    fn load(&self, plan: &LoadPlan, observer: &mut dyn Observer) -> Result<LoadOutcome, LoadError> {
        run(plan, self, observer)
    }
}

impl Loads for Http2Protocol {
    fn load(&self, plan: &LoadPlan, observer: &mut dyn Observer) -> Result<LoadOutcome, LoadError> {
        run_http2(plan, self, observer)
    }
}

/// Checks that a plan can be carried out, and creates the counts that the observer can watch.
fn prepare(plan: &LoadPlan, observer: &mut dyn Observer) -> Result<Arc<Live>, LoadError> {
    plan.check()?;
    plan.make_room()?;
    let offered_rps = plan.rate_rps().unwrap_or(0.0);
    let live = Live::new(plan.threads, plan.record_latency, offered_rps);
    let live = Arc::new(live.counting_down(plan.requests));
    observer.begins(&live);
    Ok(live)
}

/// Runs all threads of a block, from the first connection to the last answer.
fn carry<'a, P, C>(
    plan: &'a LoadPlan,
    protocol: &'a P,
    live: &'a Live,
    observer: &mut dyn Observer,
) -> Result<Vec<WorkerOutcome<'a>>, LoadError>
where
    P: Protocol,
    C: Carrier<Request = P::Request, Input = P::Input>,
{
    let gate = Gate::new(plan.threads);
    thread::scope(|scope| {
        let mut workers = 0..plan.threads;
        // The first worker is the calling thread: in a process with one thread only, the kernel
        // looks descriptors up without counting references, and libc calls it without detours.
        let first = workers.next();
        let start = |index| {
            let gate = &gate;
            scope.spawn(move || Worker::<P, C>::live(plan, protocol, (index, live), gate, None))
        };
        let others: Vec<_> = workers.map(start).collect();
        let _borrowed = BorrowedThread::take();
        let first = first.map(|index| {
            Worker::<P, C>::live(plan, protocol, (index, live), &gate, Some(observer))
        });
        let join = |other: ScopedJoinHandle<'_, _>| {
            other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let others = others.into_iter().map(join);
        first.into_iter().chain(others).collect()
    })
}
