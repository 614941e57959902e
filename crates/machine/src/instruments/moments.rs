//! Who has a client's request, and what the program does, at moments drawn at random. Over many
//! moments this shows where the time of a request goes (Little 1961: the requests present at a
//! moment are rate × time spent there).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use model::observation::{Behind, Doing, Holder, Moment, SeenThread};
use model::random::SplitMix64;
use sys::clock;
use sys::kernel_file;
use sys::tcp_queues::{Ends, QueueLook, Queues};

use super::behind::BehindWatch;
use super::process_time::TimeWatch;
use super::threads;
use crate::process_stat::ProcessStat;
use crate::targets;

/// Mean time between two moments. A moment costs some tens of µs, so this is less than a hundredth
/// of a CPU.
const INTERVAL: Duration = Duration::from_millis(10);
/// Connections and threads come and go: after this many moments they are listed again.
const LISTED_FOR: usize = 100;
/// Shortest time between two lists where connections are short-lived: listing takes a millisecond
/// or more.
const LIST_AGAIN: Duration = Duration::from_millis(100);
/// Connections drawn from each such list at once, before they have gone too.
const AT_ONCE: usize = 10;
/// The most threads observed at one moment; beyond this, each moment takes a different part of
/// them.
const MOST_THREADS: usize = 48;
/// The most moments stored: a quarter of an hour.
const MOST_MOMENTS: usize = 100_000;

/// Observes a program from a thread of its own, until it is ended or dropped.
#[derive(Debug)]
pub struct MomentWatch {
    stop: Sender<()>,
    thread: JoinHandle<Seen>,
}

/// All that a watch has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// From the first reading of the threads to the last one or to the end of the program, ns.
    pub window_ns: u64,
    /// Whether all processes of the program ended before the watch did.
    pub has_ended: bool,
    /// CPU time that the program used in its own code and in the kernel, with threads and children
    /// that have ended, ns; `None` where its processes come and go, or where it is hidden from us.
    pub used_ns: Option<[u64; 2]>,
    /// The threads that ran within the window, the busiest first.
    pub threads: Vec<SeenThread>,
    /// The moments: how often each holder of a request and each activity of the program were seen
    /// together.
    pub moments: Vec<Moment>,
    /// The connections that waited to be accepted when the queue was fullest, and how many may
    /// wait; `None` where no listener is seen.
    pub listening: Option<Queues>,
    /// Whether the kernel reports nothing about connections.
    pub is_blind: bool,
    /// The peers that the program has connections to, those that it waits for first.
    pub behind: Vec<Behind>,
}

/// Stands for a kernel function whose name is hidden from us.
pub(crate) const HIDDEN: &str = "hidden";

/// The program to be observed.
#[derive(Clone, Debug, Default)]
pub struct Watchee {
    /// The processes of the program, with all their descendants.
    pub pids: Vec<u32>,
    /// The addresses on which they listen.
    pub listens: Vec<SocketAddr>,
    /// Connections that the clients keep in use all the time; 0 where this is unknown. Those that
    /// are not open at a moment are being opened or closed.
    pub asked_by: usize,
    /// Whether its processes come and go, so that they are listed at each moment.
    pub is_short: bool,
}

impl MomentWatch {
    /// Begins to observe, on these CPUs where that is allowed.
    #[must_use]
    pub fn begin(watchee: Watchee, cpus: Vec<usize>, seed: u64) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _ = sys::cpu::pin(&cpus);
            // Without priority we would wait for a CPU, and so see the program only while it
            // sleeps.
            let _ = sys::scheduling::go_first();
            let mut random = SplitMix64::new(seed);
            let mut looks = Looks::begin(watchee);
            loop {
                // Uniform from 0 to twice the mean, so that the moments do not fall into step with
                // anything periodic.
                let wait = INTERVAL.mul_f64(2.0 * random.open_unit());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return looks.end();
                }
                looks.take(&mut random);
            }
        });
        Self { stop, thread }
    }

    /// Ends the watch and returns what it has seen.
    ///
    /// # Panics
    /// Panics where the watching thread panicked.
    #[must_use]
    pub fn end(self) -> Seen {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// One moment as observed, with each thread's number.
struct Glimpse {
    holder: Holder,
    threads: Vec<(u32, Doing)>,
}

struct Looks {
    watchee: Watchee,
    look: Option<QueueLook>,
    connections: Vec<Ends>,
    listed_ns: u64,
    /// Whether a connection was found that had come or gone since the last list.
    change: bool,
    /// Process and thread numbers.
    threads: Vec<(u32, u32)>,
    listening: Option<Queues>,
    opened_ns: u64,
    opened: BTreeMap<u32, SeenThread>,
    taken: usize,
    /// What each thread had used when it was last read.
    used: BTreeMap<u32, SeenThread>,
    time: TimeWatch,
    behind: BehindWatch,
    found: Vec<Glimpse>,
}

impl Looks {
    fn begin(watchee: Watchee) -> Self {
        let opened = match watchee.is_short {
            // All that short-lived processes ever used falls within the window.
            true => BTreeMap::new(),
            false => threads::of_all(&watchee.pids),
        };
        Self {
            look: QueueLook::open().ok(),
            connections: Vec::new(),
            listed_ns: 0,
            change: false,
            threads: Vec::new(),
            listening: None,
            opened_ns: clock::monotonic_ns(),
            opened,
            taken: 0,
            used: BTreeMap::new(),
            time: match watchee.is_short {
                // The caller started it, and has the kernel's count of its CPU time.
                true => TimeWatch::default(),
                false => TimeWatch::begin(&watchee.pids),
            },
            behind: BehindWatch::default(),
            found: Vec::new(),
            watchee,
        }
    }

    /// Lists the threads and connections that exist now.
    fn list(&mut self) {
        self.threads = threads::numbers(&self.watchee.pids);
        if self.watchee.is_short {
            self.used.extend(threads::of_all(&self.watchee.pids));
        }
        self.time.list();
        self.listed_ns = clock::monotonic_ns();
        let Some(look) = &self.look else { return };
        let ports: BTreeSet<u16> = self.watchee.listens.iter().map(SocketAddr::port).collect();
        let with_closing = self.watchee.asked_by > 0;
        let list = |port| look.connections(port, with_closing).ok();
        let Some(listed) = ports.into_iter().map(list).collect::<Option<Vec<_>>>() else {
            // The program listens, but the kernel does not list connections.
            self.look = None;
            return;
        };
        let is_own = |ends: &Ends| {
            let mut listens = self.watchee.listens.iter();
            listens.any(|at| targets::takes(*at, ends.local))
        };
        let listed = listed.into_iter().flatten();
        self.connections = listed.filter(is_own).collect();
    }

    fn take(&mut self, random: &mut SplitMix64) {
        if self.found.len() >= MOST_MOMENTS || self.time.has_ended() {
            // There is nothing more to see.
            return;
        }
        let is_due = self.taken.is_multiple_of(LISTED_FOR);
        if is_due && self.watchee.is_short {
            self.watchee.listens = targets::addresses_of_all(&self.watchee.pids);
        }
        if is_due || self.watchee.is_short {
            self.list();
        }
        // The fastest-changing state comes first.
        let holders = self.holders(random);
        let threads = self.doing(random);
        self.found.extend(holders.into_iter().map(|holder| Glimpse {
            holder,
            threads: threads.clone(),
        }));
        self.see_listeners();
        if let Some(look) = self.look.as_ref().filter(|_| is_glance(self.taken)) {
            self.behind.see(look, &self.watchee);
        }
        self.keep_threads();
        self.taken += 1;
    }

    /// Stores what the threads have used until now, since the program may end at any time: four
    /// times a second, or once a second where there are many threads.
    fn keep_threads(&mut self) {
        let often = match self.threads.len() {
            ..=MOST_THREADS => LISTED_FOR / 4,
            _ => LISTED_FOR,
        };
        if !self.watchee.is_short && self.taken.is_multiple_of(often) {
            let used = threads::of_all(&self.watchee.pids);
            if !used.is_empty() {
                self.used = used;
            }
        }
    }

    /// Who has the request of a connection drawn at random. Where connections are short-lived,
    /// draws several at once from a fresh list, but less often: a connection missing from an old
    /// list tells nothing.
    fn holders(&mut self, random: &mut SplitMix64) -> Vec<Holder> {
        if !self.change {
            let holder = self.holder(random);
            let is_listed = !matches!(holder, Holder::Unknown | Holder::Opening);
            let is_unlisted = self.look.is_none() || self.watchee.listens.is_empty();
            if is_listed || is_unlisted || self.watchee.is_short {
                return vec![holder];
            }
            self.change = true;
        }
        let age_ns = clock::monotonic_ns() - self.listed_ns;
        if u128::from(age_ns) < LIST_AGAIN.as_nanos() {
            return Vec::new();
        }
        self.list();
        (0..AT_ONCE).map(|_| self.holder(random)).collect()
    }

    fn holder(&self, random: &mut SplitMix64) -> Holder {
        let all = self.connections.len().max(self.watchee.asked_by);
        let (Some(look), 1..) = (&self.look, all) else {
            return Holder::Unknown;
        };
        let Some(ends) = self.connections.get(random.below(all)).copied() else {
            return Holder::Opening;
        };
        let queues = |ends: Ends| look.of(&ends).ok().flatten();
        holder(queues(ends), queues(ends.turned()))
    }

    fn doing(&self, random: &mut SplitMix64) -> Vec<(u32, Doing)> {
        let from = random.below(self.threads.len().max(1));
        let turned = self.threads[from..].iter().chain(&self.threads[..from]);
        let some = turned.take(MOST_THREADS);
        some.filter_map(|(pid, thread)| Some((*thread, doing(*pid, *thread)?)))
            .collect()
    }

    fn see_listeners(&mut self) {
        let Some(look) = &self.look else { return };
        for listens in &self.watchee.listens {
            let queues = look.of(&Ends::of_listener(*listens)).ok().flatten();
            if let Some(queues) = queues {
                let most = self.listening.get_or_insert(queues);
                if fullness(queues) > fullness(*most) {
                    *most = queues;
                }
            }
        }
    }

    fn end(mut self) -> Seen {
        let has_ended = self.time.has_ended();
        let ended_ns = self.time.ended_ns().unwrap_or_else(clock::monotonic_ns);
        let mut used = self.used;
        used.extend(threads::of_all(&self.watchee.pids));
        let mut threads = threads::between(&self.opened, used);
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.running_ns));
        Seen {
            window_ns: ended_ns - self.opened_ns,
            has_ended,
            used_ns: self.time.end(),
            moments: counted(self.found, &threads),
            threads,
            listening: self.listening,
            is_blind: self.look.is_none(),
            behind: self.behind.end(),
        }
    }
}

/// Whether all open connections of the program are observed at this moment: some four times a
/// second.
const fn is_glance(taken: usize) -> bool {
    taken % LISTED_FOR % 25 == 24
}

/// Who has the request of a connection, judged by the queues of the server's end and, where it can
/// be seen, the client's end.
fn holder(server: Option<Queues>, client: Option<Queues>) -> Holder {
    let Some(server) = server else {
        return Holder::Unknown;
    };
    if server.unread > 0 {
        return Holder::Unread;
    }
    let Some(client) = client else {
        // The client is on another machine.
        return match server.under_way {
            true => Holder::Network,
            false => Holder::Program,
        };
    };
    // Received data may be acknowledged much later, and the packet that opens a connection counts
    // as one byte.
    let is_under_way = |from: Queues, to: Queues| from.written > to.came + 1;
    if client.unread > 0 {
        match client.small && is_under_way(server, client) {
            true => Holder::Window,
            false => Holder::Client,
        }
    } else if is_under_way(server, client) {
        match server.held_back {
            true => Holder::HeldBack,
            false => Holder::Network,
        }
    } else if server.closing {
        // The server has answered; the client must now close its end and open another connection.
        Holder::Opening
    } else if server.full {
        Holder::Full
    } else if is_under_way(client, server) {
        Holder::Asking
    } else if server.came == 0 {
        Holder::Opening
    } else {
        Holder::Program
    }
}

/// What a thread does; `None` where it has ended.
fn doing(pid: u32, thread: u32) -> Option<Doing> {
    let folder = format!("/proc/{pid}/task/{thread}");
    let state = || Some(ProcessStat::parse(&kernel_file::text(format!("{folder}/stat"))?)?.state);
    let sleeping = match state()? {
        'R' => return Some(Doing::Running),
        'T' | 't' => return Some(Doing::Stopped),
        'Z' | 'X' => return None,
        sleeping => sleeping,
    };
    let at = match kernel_file::text(format!("{folder}/wchan"))?.as_str() {
        // A thread that has just been woken up has no such function either.
        "" | "0" if state()? == 'R' => return Some(Doing::Running),
        "" | "0" => HIDDEN.to_owned(),
        at => at.to_owned(),
    };
    Some(match sleeping {
        'D' if !at.starts_with(VFORK) => Doing::Blocked(at),
        _ => Doing::Asleep(at),
    })
}

/// Functions of the kernel in which threads wait for clients or for other work (fs/eventpoll.c,
/// fs/select.c, net/core/sock.c, net/ipv4/inet_connection_sock.c, io_uring/).
const WAITING: [&str; 11] = [
    "ep_poll",
    "do_epoll_wait",
    "do_poll",
    "do_sys_poll",
    "do_select",
    "poll_schedule_timeout",
    "inet_csk_accept",
    "wait_woken",
    "io_cqring_wait",
    "sigsuspend",
    "do_sigtimedwait",
];
/// Where a parent sleeps until its child has ended (kernel/exit.c).
const CHILD: &str = "do_wait";
/// Function in which a parent sleeps until its vfork(2) child has called `execve` or ended. The
/// state looks like a wait for a disk (kernel/fork.c).
const VFORK: &str = "kernel_clone";
/// A thread that ran for less than this share of the busiest thread's time does not do the work.
const WORKS: f64 = 0.01;

/// Whether a sleeping thread waits for something to do. A thread that hardly ran within the window
/// has nothing to do wherever it sleeps.
fn is_idle(doing: &Doing, works: bool) -> bool {
    match doing {
        Doing::Asleep(at) => {
            !works || is_for_a_child(at) || WAITING.iter().any(|name| at.starts_with(name))
        }
        _ => false,
    }
}

fn is_for_a_child(at: &str) -> bool {
    at.starts_with(CHILD) || at.starts_with(VFORK)
}

/// Connections that wait at a listener, as a share of those that may wait.
fn fullness(queues: Queues) -> f64 {
    f64::from(queues.unread) / f64::from(queues.unacked.max(1))
}

/// Counts hidden functions as running where the thread's function was visible at another moment:
/// the thread was then on its way into its sleep or out of it. For a thread of another user the
/// function is hidden at all moments, whatever is seen of other threads.
fn named(mut found: Vec<Glimpse>) -> Vec<Glimpse> {
    let of = |doing: &Doing| match doing {
        Doing::Asleep(at) | Doing::Blocked(at) => Some(at != HIDDEN),
        _ => None,
    };
    let all = found.iter().flat_map(|moment| &moment.threads);
    let with_one = all.filter(|(_, doing)| of(doing) == Some(true));
    let visible: BTreeSet<u32> = with_one.map(|(id, _)| *id).collect();
    let threads = found.iter_mut().flat_map(|moment| &mut moment.threads);
    let is_on_its_way =
        |(id, doing): &&mut (u32, Doing)| of(doing) == Some(false) && visible.contains(id);
    for (_, doing) in threads.filter(is_on_its_way) {
        *doing = Doing::Running;
    }
    found
}

/// Adds up the moments. Each counts as one, shared equally among the threads that were not idle.
fn counted(found: Vec<Glimpse>, ran: &[SeenThread]) -> Vec<Moment> {
    let found = &named(found);
    let most_ns = ran.first().map_or(0, |thread| thread.running_ns);
    let works = |thread: &&SeenThread| thread.running_ns as f64 >= WORKS * most_ns as f64;
    let working: BTreeSet<u32> = ran.iter().filter(works).map(|thread| thread.id).collect();
    let mut counts: BTreeMap<(Holder, Doing), f64> = BTreeMap::new();
    for moment in found {
        let is_busy = |(id, doing): &&(u32, Doing)| !is_idle(doing, working.contains(id));
        let busy: Vec<&Doing> = moment
            .threads
            .iter()
            .filter(is_busy)
            .map(|(_, it)| it)
            .collect();
        if busy.is_empty() {
            let idle = idle(&moment.threads, ran, &working);
            *counts.entry((moment.holder, idle)).or_default() += 1.0;
        }
        let runs = busy.contains(&&Doing::Running);
        for doing in &busy {
            let part = 1.0 / busy.len() as f64;
            let doing = match doing {
                Doing::Asleep(at) if runs => Doing::AsleepBeside(at.clone()),
                doing => (*doing).clone(),
            };
            *counts.entry((moment.holder, doing)).or_default() += part;
        }
    }
    let moment = |((holder, doing), count)| Moment {
        holder,
        doing,
        count,
    };
    counts.into_iter().map(moment).collect()
}

/// Where an idle program waits: where its thread that ran most within the window waits. If that
/// thread waits for a child, the child is too short-lived to be seen, and the program is at work.
fn idle(threads: &[(u32, Doing)], ran: &[SeenThread], working: &BTreeSet<u32>) -> Doing {
    let of = |id: u32| threads.iter().find(|(other, _)| *other == id);
    let found = ran
        .iter()
        .find_map(|thread| of(thread.id))
        .or_else(|| threads.first());
    match found {
        Some((id, Doing::Asleep(at))) if is_for_a_child(at) && working.contains(id) => {
            Doing::Asleep(at.clone())
        }
        Some((_, Doing::Asleep(at))) => Doing::Idle(at.clone()),
        _ => Doing::Idle(HIDDEN.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(unread: u32, written: u64, came: u64) -> Option<Queues> {
        Some(Queues {
            unread,
            under_way: true,
            written,
            came,
            ..Queues::default()
        })
    }

    fn closing(written: u64) -> Option<Queues> {
        let closing = |queues| Queues {
            closing: true,
            ..queues
        };
        queues(0, written, 300).map(closing)
    }

    #[test]
    fn a_request_is_held_where_its_bytes_lie_and_by_the_program_where_there_are_none() {
        let held_back = queues(0, 900, 300).map(|queues| Queues {
            held_back: true,
            ..queues
        });
        let table = [
            (queues(300, 0, 300), queues(0, 300, 0), Holder::Unread),
            (queues(0, 900, 300), queues(900, 300, 900), Holder::Client),
            (queues(0, 900, 300), queues(0, 300, 0), Holder::Network),
            (held_back, queues(0, 300, 0), Holder::HeldBack),
            (queues(0, 0, 0), queues(0, 300, 0), Holder::Asking),
            (queues(0, 0, 0), queues(0, 0, 0), Holder::Opening),
            (closing(900), queues(900, 300, 900), Holder::Client),
            (closing(900), queues(0, 300, 900), Holder::Opening),
            // Not yet acknowledged, but there.
            (queues(0, 0, 300), queues(0, 301, 0), Holder::Program),
            // The other end is on another machine.
            (queues(0, 0, 300), None, Holder::Network),
            (Some(Queues::default()), None, Holder::Program),
            (None, queues(0, 0, 0), Holder::Unknown),
        ];
        for (server, client, expected) in table {
            assert_eq!(holder(server, client), expected, "{server:?} {client:?}");
        }
    }

    #[test]
    fn a_moment_counts_once_whatever_the_number_of_threads_and_those_without_work_do_not_count() {
        let thread = |id| SeenThread {
            id,
            running_ns: 1,
            ..SeenThread::default()
        };
        let asleep = |at: &str| Doing::Asleep(at.to_owned());
        let found = [
            vec![
                (1, Doing::Running),
                (2, asleep("futex_do_wait")),
                (3, asleep("futex_do_wait")),
            ],
            vec![
                (1, asleep("ep_poll")),
                (2, asleep("ep_poll")),
                (3, asleep("futex_do_wait")),
            ],
        ];
        let found = found.map(|threads| Glimpse {
            holder: Holder::Unread,
            threads,
        });
        // The third has not run.
        let counted = counted(found.into(), &[thread(2), thread(1)]);
        let counts: Vec<_> = counted.iter().map(|it| (&it.doing, it.count)).collect();
        let lock = Doing::AsleepBeside("futex_do_wait".to_owned());
        let idle = Doing::Idle("ep_poll".to_owned());
        assert_eq!(counts, [(&Doing::Running, 0.5), (&lock, 0.5), (&idle, 1.0)]);
    }

    #[test]
    fn who_waits_for_a_child_that_is_not_seen_is_at_work() {
        let asleep = |at: &str| Doing::Asleep(at.to_owned());
        let glimpse = Glimpse {
            holder: Holder::Program,
            threads: vec![(1, asleep("do_wait")), (2, asleep("ep_poll"))],
        };
        let thread = SeenThread {
            id: 1,
            running_ns: 1,
            ..SeenThread::default()
        };
        let counted = counted(vec![glimpse], &[thread]);
        assert_eq!(counted[0].doing, asleep("do_wait"));
    }

    #[test]
    fn a_sleep_without_a_function_is_work_where_its_thread_had_one_and_else_hidden() {
        let moment = |threads: &[(u32, &str)]| {
            let asleep = |(id, at): &(u32, &str)| (*id, Doing::Asleep((*at).to_owned()));
            Glimpse {
                holder: Holder::Unread,
                threads: threads.iter().map(asleep).collect(),
            }
        };
        let doings = |found| -> Vec<Doing> {
            let named = named(found).into_iter().flat_map(|it| it.threads);
            named.map(|(_, doing)| doing).collect()
        };
        let hidden = Doing::Asleep(HIDDEN.to_owned());
        // Thread 1 is of another user: its function stays hidden, whatever is seen of thread 2.
        let found = doings(vec![
            moment(&[(1, HIDDEN), (2, "pipe_read")]),
            moment(&[(1, HIDDEN), (2, HIDDEN)]),
        ]);
        assert_eq!(found[2..], [hidden.clone(), Doing::Running]);
        let found = doings(vec![moment(&[(1, HIDDEN)]), moment(&[(1, HIDDEN)])]);
        assert_eq!(found, [hidden.clone(), hidden]);
    }

    #[test]
    fn of_a_program_that_has_ended_no_moment_is_taken_and_what_it_used_is_known() {
        let mut spins = std::process::Command::new("sh");
        let mut child = spins.args(["-c", "while :; do :; done"]).spawn().unwrap();
        let watchee = Watchee {
            pids: vec![child.id()],
            ..Watchee::default()
        };
        let mut looks = Looks::begin(watchee);
        let used_ns = || clock::process_cpu_ns(child.id()).unwrap_or(0);
        let begun_ns = used_ns();
        let limit = Duration::from_secs(20);
        assert!(clock::wait_until(limit, || used_ns() > begun_ns + 200_000_000));
        let mut random = SplitMix64::new(1);
        looks.take(&mut random);
        child.kill().unwrap();
        child.wait().unwrap();
        looks.take(&mut random);
        let seen = looks.end();
        assert!(seen.has_ended && seen.threads[0].running_ns > 100_000_000);
        assert!(seen.used_ns.unwrap().iter().sum::<u64>() > 100_000_000);
        assert_eq!(seen.moments.iter().map(|it| it.count).sum::<f64>(), 1.0);
    }

    #[test]
    fn a_program_that_sleeps_and_one_that_spins_are_seen_to() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let limit = Duration::from_secs(20);
        let pid = child.id();
        let found = || doing(pid, pid);
        assert!(clock::wait_until(limit, || found()
            == Some(Doing::Asleep("hrtimer_nanosleep".to_owned()))));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found(), None);
        let own = std::process::id();
        let watchee = Watchee {
            pids: vec![own],
            ..Watchee::default()
        };
        let watch = MomentWatch::begin(watchee, sys::cpu::allowed().unwrap(), 1);
        let begun_ns = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun_ns < 100_000_000 {}
        let seen = watch.end();
        assert!(seen.threads[0].running_ns > 50_000_000, "{seen:?}");
        let running = seen.moments.iter().filter(|it| it.doing == Doing::Running);
        assert!(running.map(|it| it.count).sum::<f64>() >= 1.0, "{seen:?}");
    }
}
