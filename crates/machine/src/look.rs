//! One look at a program at work: all instruments over one window.

use std::collections::BTreeMap;

use model::observation::{Doing, Holder, Moment, Observation, OtherProgram, Unseen};
use sys::clock;
use sys::kernel_file;

use crate::cpu_ticks::{self, CpuTicks};
use crate::instruments::counters::{CounterWatch, Counters};
use crate::instruments::moments::{HIDDEN, MomentWatch, Seen, Watchee};
use crate::instruments::senders::{self, SenderWatch};
use crate::targets;

/// Largest number of other programs that are reported.
const MOST_OTHERS: usize = 5;

/// Counters of how long the CPUs of our load, and those that the program may use, were busy with
/// any work, ns.
const OF_LOAD: &str = "load.cpus_busy_ns";
const OF_PROGRAM: &str = "program.cpus_busy_ns";

/// A look under way: the readings at its beginning, and the instruments that run.
#[derive(Debug)]
pub struct Look {
    watchee: Watchee,
    counters: CounterWatch,
    senders: Vec<SenderWatch>,
    ticks: Option<CpuTicks>,
    /// Our own CPUs and those of the program, and how long they had been busy at the beginning, ns.
    busy: [(&'static str, Vec<usize>, Option<u64>); 2],
    others: BTreeMap<u32, u64>,
    /// `Some` once the window has begun.
    moments: Option<MomentWatch>,
}

impl Look {
    /// Takes the readings of the whole machine. That takes its time on a busy machine, so it is
    /// done shortly before the window.
    #[must_use]
    pub fn prepare(watchee: Watchee) -> Self {
        Self {
            counters: CounterWatch::open(&watchee.pids),
            senders: senders::open_for(&watchee.listens),
            others: others(&watchee.pids),
            ticks: ticks(),
            busy: [(OF_LOAD, Vec::new(), None), (OF_PROGRAM, Vec::new(), None)],
            moments: None,
            watchee,
        }
    }

    /// Begins the window, with our own work on these CPUs if that is allowed. The seed draws the
    /// moments.
    pub fn begin(&mut self, cpus: &[usize], seed: u64) {
        let of_program = targets::cpus_of(&self.watchee.pids);
        self.busy = [(OF_LOAD, cpus.to_vec()), (OF_PROGRAM, of_program)].map(|(name, cpus)| {
            let ns = busy_ns(&cpus);
            (name, cpus, ns)
        });
        self.moments = Some(MomentWatch::begin(
            self.watchee.clone(),
            cpus.to_vec(),
            seed,
        ));
    }

    /// Ends the window, and returns what was observed.
    #[must_use]
    pub fn end(mut self) -> Observation {
        let seen = self.moments.map(MomentWatch::end).unwrap_or_default();
        let (begun, ended) = (self.ticks, ticks());
        self.senders.iter_mut().for_each(SenderWatch::close);
        let mut counters = self.counters.close();
        counters.extend(of_senders(&self.senders));
        counters.extend(of_cpus(begun, ended));
        for (name, cpus, was_ns) in &self.busy {
            let ns = busy_ns(cpus)
                .zip(*was_ns)
                .map(|(is, was)| is.saturating_sub(was));
            counters.extend(ns.map(|ns| ((*name).to_owned(), ns)));
        }
        counters.extend(of_listeners(&seen));
        counters.extend(of_program(&seen));
        let unseen = unseen(&self.watchee, &seen);
        Observation {
            window_ns: seen.window_ns,
            load: None,
            listens: self.watchee.listens,
            command: None,
            threads: seen.threads,
            moments: seen.moments,
            counters,
            behind: seen.behind,
            others: busiest(&self.others, &others(&self.watchee.pids)),
            unseen,
            probed: BTreeMap::new(),
            stacks: None,
            client_stacks: None,
            asleep: None,
            calls: None,
            cost: None,
        }
    }
}

fn ticks() -> Option<CpuTicks> {
    cpu_ticks::parse(&kernel_file::text("/proc/stat")?)
}

/// Returns how long these CPUs have been busy since boot, ns. A CPU that has gone offline is left
/// out.
fn busy_ns(cpus: &[usize]) -> Option<u64> {
    let text = kernel_file::text("/proc/stat")?;
    let each = cpus
        .iter()
        .filter_map(|cpu| cpu_ticks::parse_one(&text, *cpu));
    Some(each.map(|ticks| ticks.machine.busy_ns()).sum())
}

fn of_cpus(begun: Option<CpuTicks>, ended: Option<CpuTicks>) -> Counters {
    let (Some(begun), Some(ended)) = (begun, ended) else {
        return Counters::new();
    };
    let passed = ended.since(begun);
    Counters::from([
        ("cpus.idle_ns".to_owned(), passed.idle_ns),
        ("cpus.stolen_ns".to_owned(), passed.machine.stolen_ns),
        ("cpus.all_ns".to_owned(), passed.total_ns()),
    ])
}

fn of_senders(senders: &[SenderWatch]) -> Counters {
    let mut sums = Counters::new();
    for reading in senders.iter().filter_map(SenderWatch::reading) {
        for (name, us) in [
            ("senders.acked_bytes", reading.acked_bytes),
            ("senders.busy_us", reading.busy_us),
            ("senders.rwnd_limited_us", reading.rwnd_limited_us),
            ("senders.sndbuf_limited_us", reading.sndbuf_limited_us),
        ] {
            *sums.entry(name.to_owned()).or_default() += us;
        }
    }
    sums
}

fn of_listeners(seen: &Seen) -> Counters {
    let queues = seen.listening.iter();
    queues
        .flat_map(|queues| {
            [
                ("listen.waiting_most".to_owned(), u64::from(queues.unread)),
                ("listen.limit".to_owned(), u64::from(queues.unacked)),
            ]
        })
        .collect()
}

fn of_program(seen: &Seen) -> Counters {
    let used = seen.used_ns.into_iter();
    used.flat_map(|[user, system]| {
        [
            ("program.user_ns".to_owned(), user),
            ("program.system_ns".to_owned(), system),
        ]
    })
    .collect()
}

/// Returns the CPU time of all processes but the program's and our own, ns by process.
fn others(pids: &[u32]) -> BTreeMap<u32, u64> {
    let mut known = targets::family(pids);
    known.insert(std::process::id());
    let others = targets::processes()
        .into_iter()
        .filter(|pid| !known.contains(pid));
    others
        .filter_map(|pid| Some((pid, clock::process_cpu_ns(pid).ok()?)))
        .collect()
}

/// Returns the programs that used most CPU time. Processes are added up by name, since a build has
/// one for each file.
fn busiest(begun: &BTreeMap<u32, u64>, ended: &BTreeMap<u32, u64>) -> Vec<OtherProgram> {
    let mut sums = BTreeMap::<String, u64>::new();
    for (pid, end) in ended {
        let used = end.saturating_sub(begun.get(pid).copied().unwrap_or(0));
        if used > 0 {
            let name = kernel_file::text(format!("/proc/{pid}/comm"));
            *sums
                .entry(name.unwrap_or_else(|| "unknown".to_owned()))
                .or_default() += used;
        }
    }
    let program = |(name, cpu_ns)| OtherProgram { name, cpu_ns };
    let mut all: Vec<OtherProgram> = sums.into_iter().map(program).collect();
    all.sort_by_key(|other| std::cmp::Reverse(other.cpu_ns));
    all.truncate(MOST_OTHERS);
    all
}

fn unseen(watchee: &Watchee, seen: &Seen) -> Vec<Unseen> {
    let mut all = Vec::new();
    let mut add = |what: &str, why: &str| {
        all.push(Unseen {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    };
    if watchee.is_short {
        // Such a program works without requests.
    } else if watchee.listens.is_empty() {
        add(
            "who has a request",
            "it listens on no TCP address that can be seen: it is no server, or runs in another network namespace, or its files are hidden from us",
        );
    } else if seen.is_blind {
        add(
            "who has a request",
            "the kernel has no socket diagnostics (tcp_diag): modprobe tcp_diag",
        );
    } else if !seen.moments.is_empty() && seen.moments.iter().all(|it| it.holder == Holder::Unknown)
    {
        add("who has a request", "none of its connections can be seen");
    }
    let is_hidden = |it: &Moment| match &it.doing {
        Doing::Asleep(at) | Doing::AsleepBeside(at) | Doing::Blocked(at) | Doing::Idle(at) => {
            at == HIDDEN
        }
        Doing::Running | Doing::Stopped => false,
    };
    if seen.has_ended {
        // The kernel hides nothing of a program that has ended: its threads are no longer there.
        add(
            "the full length of the look that was asked for",
            "the program ended before the look did",
        );
    } else if seen.moments.iter().any(is_hidden) {
        add(
            "in which function of the kernel its threads sleep, which tells locks, disks and events apart",
            "it is hidden from us: run as root, or as the program's user",
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_added_up_by_name_and_the_busiest_comes_first() {
        let own = std::process::id();
        let found = busiest(
            &BTreeMap::from([(own, 5)]),
            &BTreeMap::from([(own, 9), (0x3f_ffff, 3)]),
        );
        let used: Vec<u64> = found.iter().map(|other| other.cpu_ns).collect();
        assert_eq!(used, [4, 3]);
        assert_eq!(found[1].name, "unknown");
    }

    #[test]
    fn a_cpu_that_the_kernel_does_not_list_takes_no_other_out_of_the_sum() {
        assert!(busy_ns(&[sys::cpu::allowed().unwrap()[0], 9999]) > Some(0));
    }

    #[test]
    fn that_a_program_ended_is_told_and_not_that_its_sleep_is_hidden() {
        let hidden = Moment {
            holder: Holder::Unknown,
            doing: Doing::Idle(HIDDEN.to_owned()),
            count: 1.0,
        };
        let mut seen = Seen {
            moments: vec![hidden],
            ..Seen::default()
        };
        let mut whys = |has_ended| {
            seen.has_ended = has_ended;
            let all = unseen(&Watchee::default(), &seen).into_iter();
            all.map(|it| it.why).collect::<Vec<_>>().concat()
        };
        assert!(whys(false).contains("run as root"));
        assert!(whys(true).contains("ended before") && !whys(true).contains("run as root"));
    }

    #[test]
    fn a_look_at_this_process_has_its_threads_and_the_machine() {
        let watchee = Watchee {
            pids: vec![std::process::id()],
            ..Watchee::default()
        };
        let mut look = Look::prepare(watchee);
        look.begin(&sys::cpu::allowed().unwrap(), 1);
        let spins = || {
            let begun_ns = clock::thread_cpu_ns();
            while clock::thread_cpu_ns() - begun_ns < 50_000_000 {}
        };
        std::thread::spawn(spins).join().unwrap();
        spins();
        let seen = look.end();
        let used = ["program.user_ns", "program.system_ns"].map(|name| seen.rise(name));
        assert!(used.iter().sum::<u64>() > 60_000_000, "{used:?}");
        assert!(
            !seen.threads.is_empty() && seen.counters.contains_key("cpus.all_ns"),
            "{seen:?}"
        );
        assert_eq!(seen.unseen.len(), 1, "{:?}", seen.unseen);
    }
}
