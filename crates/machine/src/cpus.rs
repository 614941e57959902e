//! Divides the CPUs that we may use between server and client.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;

use model::Doubt;
use model::cpus::{CpuShare, CpuWish, Side};
use sys::cgroup::{Controller, Group};

use crate::targets;
use crate::tree::Tree;

/// The CPUs of each side; both have the same CPU where there is only one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSplit {
    pub server: Vec<usize>,
    pub client: Vec<usize>,
    /// CPUs of other memory nodes, which neither side gets.
    pub left_out: Vec<usize>,
}

/// A CPU that we may use, and what it shares with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    pub number: usize,
    /// Its core: the lowest number of those threads of the core that we may use.
    pub core: usize,
    /// Its memory node; 0 on a machine without nodes.
    pub node: usize,
    /// Whether that node has memory: a CPU on a node without memory fetches everything from
    /// another.
    pub has_memory: bool,
    /// Relative capacity: 1024 for the fastest kind of this machine's CPUs, less for others.
    pub capacity: u32,
}

/// Capacity of the fastest CPUs, on the kernel's scale (`SCHED_CAPACITY_SCALE`).
const FULL_CAPACITY: u32 = 1024;

impl CpuSplit {
    /// Whether the two sides take time from each other.
    pub fn is_shared(&self) -> bool {
        self.shared() > 0
    }

    fn shared(&self) -> u32 {
        let is_the_clients = |cpu: &&usize| self.client.contains(cpu);
        count(self.server.iter().filter(is_the_clients).count())
    }

    /// The split with this many CPUs for the server, one for each worker. Where the server has
    /// fewer, it also takes the last of the client's, which the client keeps too.
    #[must_use]
    pub fn for_workers(&self, workers: u32) -> Self {
        let others = self.client.iter().rev();
        let others = others.filter(|cpu| !self.server.contains(cpu));
        let all = self.server.iter().chain(others).copied();
        let mut server: Vec<usize> = all.take(workers as usize).collect();
        server.sort_unstable();
        Self {
            server,
            ..self.clone()
        }
    }

    /// The doubt that both sides have CPUs in common.
    pub fn doubt(&self) -> Option<Doubt> {
        self.told().doubt()
    }

    /// The split as it is reported and saved.
    pub fn told(&self) -> CpuShare {
        let list = |cpus: &[usize]| {
            let ascending: BTreeSet<usize> = cpus.iter().copied().collect();
            sys::cpu::format_list(&Vec::from_iter(ascending))
        };
        CpuShare {
            server: list(&self.server),
            client: list(&self.client),
            left_out: list(&self.left_out),
            server_cpus: count(self.server.len()),
            client_cpus: count(self.client.len()),
            shared_cpus: self.shared(),
        }
    }
}

fn count(cpus: usize) -> u32 {
    u32::try_from(cpus).unwrap_or(u32::MAX)
}

/// The split on this machine: of the inherited affinity mask, within the CPU quota of our control
/// group, according to the wish.
///
/// # Errors
/// Fails with the kernel's error on a machine with more than 1,024 CPUs, and where a list in the
/// wish is invalid or names a CPU that we may not use.
pub fn here(wish: &CpuWish) -> io::Result<CpuSplit> {
    let tree = Tree::of_this_machine();
    let allowed = sys::cpu::allowed()?;
    let cpus = topology(&tree, &allowed);
    share(&cpus, quota_in(&tree), wish)
}

/// Divides CPUs by whole cores, so that the two ends never run on threads of one core.
///
/// Only one memory node is used, since traffic between nodes costs more: the node with the most
/// cores, of those with memory where there are any. The server gets the first half, rounded down,
/// and only CPUs of the fastest kind; the client gets the rest. A quota leaves as many CPUs as it
/// grants CPU time for, rounded down, so that a busy pair is not throttled. A single core is split
/// between its threads. CPUs that were asked for by name are taken as they are.
///
/// # Errors
/// Fails where what was asked for is no list of these CPUs.
pub fn share(cpus: &[Cpu], quota: Option<f64>, wish: &CpuWish) -> io::Result<CpuSplit> {
    let named = |side: &str, list: &Option<String>| {
        let list = list.as_ref();
        list.map(|list| chosen(cpus, side, list)).transpose()
    };
    let server = named("server", &wish.server)?;
    let client = named("client", &wish.client)?;
    let (node, left_out) = one_node(cpus);
    let halves = dealt(&cores(&node), quota);
    if wish.side != Side::Both {
        // The side's own half comes first, then all other CPUs.
        let all = |own: &[usize], others: &[usize]| {
            let mut all = [own, others, &left_out].concat();
            all.truncate(granted(cpus.len(), quota));
            all
        };
        return Ok(CpuSplit {
            server: server.unwrap_or_else(|| all(&halves.server, &halves.client)),
            client: client.unwrap_or_else(|| all(&halves.client, &halves.server)),
            left_out: Vec::new(),
        });
    }
    let left = |own: Vec<usize>, other: Option<&Vec<usize>>| {
        other.map_or(own, |taken| beside(&node, taken))
    };
    let are_both_named = server.is_some() && client.is_some();
    Ok(CpuSplit {
        server: server
            .clone()
            .unwrap_or_else(|| left(halves.server, client.as_ref())),
        client: client.unwrap_or_else(|| left(halves.client, server.as_ref())),
        left_out: if are_both_named { Vec::new() } else { left_out },
    })
}

/// Parses a typed list of CPUs that we may use.
fn chosen(cpus: &[Cpu], side: &str, list: &str) -> io::Result<Vec<usize>> {
    let wrong = |what: String| {
        let here: Vec<usize> = cpus.iter().map(|cpu| cpu.number).collect();
        let here = sys::cpu::format_list(&here);
        let what = format!("the {side}'s CPUs `{list}`: {what}; those that may be used are {here}");
        io::Error::new(io::ErrorKind::InvalidInput, what)
    };
    let mut numbers = sys::cpu::parse_list(list).map_err(&wrong)?;
    numbers.sort_unstable();
    numbers.dedup();
    let is_here = |number: &usize| cpus.iter().any(|cpu| cpu.number == *number);
    match numbers.iter().find(|number| !is_here(number)) {
        Some(absent) => Err(wrong(format!("CPU {absent} is not among ours"))),
        None => Ok(numbers),
    }
}

/// The CPUs of the node with the most cores, nodes with memory first, and the numbers of all other
/// CPUs.
fn one_node(cpus: &[Cpu]) -> (Vec<Cpu>, Vec<usize>) {
    let worth = |node: usize| {
        let of_node: Vec<Cpu> = cpus
            .iter()
            .copied()
            .filter(|cpu| cpu.node == node)
            .collect();
        let has_memory = of_node.iter().any(|cpu| cpu.has_memory);
        (has_memory, cores(&of_node).len())
    };
    let nodes: BTreeSet<usize> = cpus.iter().map(|cpu| cpu.node).collect();
    // `max_by_key` takes the last of equal nodes; in reverse order that is the first.
    let largest = nodes.into_iter().rev().max_by_key(|node| worth(*node));
    let (node, others): (Vec<Cpu>, Vec<Cpu>) =
        cpus.iter().partition(|cpu| Some(cpu.node) == largest);
    (node, others.iter().map(|cpu| cpu.number).collect())
}

/// All cores, each as a list of its threads, the fastest kind first.
fn cores(cpus: &[Cpu]) -> Vec<Vec<Cpu>> {
    let mut cores: Vec<Vec<Cpu>> = Vec::new();
    for cpu in cpus {
        match cores.iter_mut().find(|core| core[0].core == cpu.core) {
            Some(core) => core.push(*cpu),
            None => cores.push(vec![*cpu]),
        }
    }
    cores.sort_by_key(|core| Reverse(core[0].capacity));
    cores
}

/// How many of `count` CPUs a quota keeps busy; at least one, which then runs part of the time.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a quota that is no small number grants all CPUs: `as` saturates"
)]
fn granted(count: usize, quota: Option<f64>) -> usize {
    let granted = quota.map_or(count, |cpus| (cpus.floor() as usize).max(1));
    granted.min(count)
}

fn dealt(cores: &[Vec<Cpu>], quota: Option<f64>) -> CpuSplit {
    let count = cores.iter().map(Vec::len).sum();
    let granted = granted(count, quota);
    let (server, client) = if granted == count && cores.len() > 1 {
        let is_fastest = |core: &&Vec<Cpu>| core[0].capacity == cores[0][0].capacity;
        let fastest = cores.iter().take_while(is_fastest).count();
        let (server, client) = cores.split_at((cores.len() / 2).min(fastest));
        (spread(server).collect(), spread(client).collect())
    } else {
        halves(cores, granted)
    };
    let numbers = |side: Vec<Cpu>| side.iter().map(|cpu| cpu.number).collect();
    CpuSplit {
        server: numbers(server),
        client: numbers(client),
        left_out: Vec::new(),
    }
}

/// CPUs with one thread of each core first, so that workers share a core only when nothing else is
/// left.
fn spread(cores: &[Vec<Cpu>]) -> impl Iterator<Item = Cpu> {
    let widest = cores.iter().map(Vec::len).max().unwrap_or(0);
    (0..widest).flat_map(|thread| {
        cores
            .iter()
            .filter_map(move |core| core.get(thread).copied())
    })
}

/// The first `count` CPUs in two halves, which share a core only when nothing else is left.
fn halves(cores: &[Vec<Cpu>], count: usize) -> (Vec<Cpu>, Vec<Cpu>) {
    let mut chosen: Vec<Cpu> = spread(cores).take(count).collect();
    chosen.sort_unstable_by_key(|cpu| (Reverse(cpu.capacity), cpu.number));
    match &chosen[..] {
        [] | [_] => (chosen.clone(), chosen),
        several => {
            let (server, client) = several.split_at(several.len() / 2);
            (server.to_vec(), client.to_vec())
        }
    }
}

/// CPUs left for the other side: other cores, else other CPUs of the same cores, else the taken
/// CPUs themselves.
fn beside(cpus: &[Cpu], taken: &[usize]) -> Vec<usize> {
    let is_taken = |cpu: &Cpu| taken.contains(&cpu.number);
    let taken_cores: Vec<usize> = cpus
        .iter()
        .filter(|cpu| is_taken(cpu))
        .map(|cpu| cpu.core)
        .collect();
    let left = |is_left: &dyn Fn(&Cpu) -> bool| -> Vec<usize> {
        let left = cpus.iter().filter(|cpu| is_left(cpu));
        left.map(|cpu| cpu.number).collect()
    };
    let other_cores = left(&|cpu| !taken_cores.contains(&cpu.core));
    let others = left(&|cpu| !is_taken(cpu));
    let by_choice = [other_cores, others];
    let found = by_choice.into_iter().find(|side| !side.is_empty());
    found.unwrap_or_else(|| taken.to_vec())
}

/// The doubt that a server already running here and a client on `client_cpus` share a single CPU;
/// `None` where they have more, or the server's processes cannot be seen.
pub fn sharing(server_pids: &[u32], client_cpus: &[usize]) -> Option<Doubt> {
    let server_cpus = targets::cpus_of(server_pids);
    let is_shared = matches!((&server_cpus[..], client_cpus), ([one], [other]) if one == other);
    is_shared.then_some(Doubt::SharedCpus { cpus: 1 })
}

/// CPU time that our control group grants, in CPUs; `None` without a quota.
pub(crate) fn quota_in(tree: &Tree) -> Option<f64> {
    Group::below(tree.path(""), Controller::Cpu)?.cpu_quota()
}

/// The allowed CPUs with the core, node and capacity that the kernel reports.
fn topology(tree: &Tree, allowed: &[usize]) -> Vec<Cpu> {
    let list = |file: &str| tree.cpus(file).unwrap_or_default();
    let online = list("sys/devices/system/node/has_cpu");
    let of_node = |node: &usize| {
        let cpus = list(&format!("sys/devices/system/node/node{node}/cpulist"));
        (*node, cpus)
    };
    let nodes: Vec<(usize, Vec<usize>)> = online.iter().map(of_node).collect();
    let with_memory = list("sys/devices/system/node/has_memory");
    // Intel's hybrid CPUs list the slower kind, Arm's give each CPU a number.
    let slower = list("sys/devices/cpu_atom/cpus");
    let cpu = |number: &usize| {
        let folder = format!("sys/devices/system/cpu/cpu{number}");
        let siblings = list(&format!("{folder}/topology/thread_siblings_list"));
        let is_ours = |sibling: &&usize| allowed.contains(sibling);
        let core = siblings
            .iter()
            .filter(is_ours)
            .min()
            .filter(|_| siblings.contains(number));
        let capacity = tree.number(&format!("{folder}/cpu_capacity"));
        let of_kind = match slower.contains(number) {
            true => FULL_CAPACITY / 2,
            false => FULL_CAPACITY,
        };
        let node = nodes.iter().find(|(_, cpus)| cpus.contains(number));
        Cpu {
            number: *number,
            core: core.copied().unwrap_or(*number),
            node: node.map_or(0, |(node, _)| *node),
            has_memory: node.is_none_or(|(node, _)| with_memory.contains(node)),
            capacity: capacity.unwrap_or(of_kind),
        }
    };
    allowed.iter().map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;
    use model::cpus::{NamedWorkers, Workers};

    fn sides(split: &CpuSplit) -> (&[usize], &[usize]) {
        (&split.server, &split.client)
    }

    /// A machine with this many sockets, cores per socket and threads per core, numbered as Linux
    /// does on most machines: the first threads of all cores come first.
    fn machine(sockets: usize, cores: usize, threads: usize) -> Vec<Cpu> {
        let count = sockets * cores;
        let cpu = |number: usize| Cpu {
            number,
            core: number % count,
            node: number % count / cores,
            has_memory: true,
            capacity: FULL_CAPACITY,
        };
        (0..count * threads).map(cpu).collect()
    }

    fn plain(numbers: &[usize]) -> Vec<Cpu> {
        let all = machine(1, 64, 1);
        numbers.iter().map(|number| all[*number]).collect()
    }

    fn unasked(cpus: &[Cpu], quota: Option<f64>) -> CpuSplit {
        share(cpus, quota, &CpuWish::default()).unwrap()
    }

    fn asked(cpus: &[Cpu], server: Option<&str>, client: Option<&str>) -> io::Result<CpuSplit> {
        let wish = CpuWish {
            server: server.map(str::to_owned),
            client: client.map(str::to_owned),
            side: Side::Both,
        };
        share(cpus, None, &wish)
    }

    #[test]
    fn two_cpus_are_one_each_and_four_are_two_each() {
        let split = |numbers: &[usize]| unasked(&plain(numbers), None);
        assert_eq!(sides(&split(&[0, 1])), (&[0][..], &[1][..]));
        assert_eq!(sides(&split(&[2, 3, 6, 7])), (&[2, 3][..], &[6, 7][..]));
    }

    #[test]
    fn of_an_odd_number_the_client_gets_one_more() {
        let split = unasked(&plain(&[0, 1, 2]), None);
        assert_eq!(sides(&split), (&[0][..], &[1, 2][..]));
    }

    #[test]
    fn one_cpu_is_shared_and_none_is_no_panic() {
        let one = unasked(&plain(&[5]), None);
        assert_eq!(sides(&one), (&[5][..], &[5][..]));
        assert_eq!(one.doubt(), Some(Doubt::SharedCpus { cpus: 1 }));
        assert!(unasked(&[], None).server.is_empty());
    }

    #[test]
    fn a_quota_leaves_no_more_cpus_than_it_can_keep_busy() {
        let eight = plain(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(sides(&unasked(&eight, Some(2.5))), (&[0][..], &[1][..]));
        assert!(unasked(&eight, Some(0.5)).is_shared());
        assert_eq!(unasked(&eight, Some(64.0)), unasked(&eight, None));
    }

    #[test]
    fn the_sides_share_no_core_where_there_are_two() {
        let cpus = machine(1, 2, 2);
        assert_eq!(sides(&unasked(&cpus, None)), (&[0, 2][..], &[1, 3][..]));
        assert_eq!(sides(&unasked(&cpus, Some(2.0))), (&[0][..], &[1][..]));
        let one_core = [cpus[0], cpus[2]];
        assert_eq!(sides(&unasked(&one_core, None)), (&[0][..], &[2][..]));
    }

    #[test]
    fn of_two_sockets_both_ends_are_on_one_and_the_other_is_said_to_be_left_out() {
        // 64 and 256 CPUs.
        for (cores, server, client, left_out) in [
            (16, "0-7,32-39", "8-15,40-47", "16-31,48-63"),
            (64, "0-31,128-159", "32-63,160-191", "64-127,192-255"),
        ] {
            let lists = unasked(&machine(2, cores, 2), None).told();
            assert_eq!(lists.server, server);
            assert_eq!(lists.client, client);
            assert_eq!(lists.left_out, left_out);
        }
        // What a mask leaves decides, not what is installed.
        let masked: Vec<Cpu> = machine(2, 4, 1)
            .into_iter()
            .filter(|cpu| cpu.number > 2)
            .collect();
        assert_eq!(sides(&unasked(&masked, None)), (&[4, 5][..], &[6, 7][..]));
    }

    #[test]
    fn a_scale_of_eight_64_and_256_cpus_has_as_many_workers_at_most_as_the_server_has_cpus() {
        let scale = Workers::Named(NamedWorkers::Scale);
        for (sockets, cores, threads, most, arms) in [
            (1, 8, 1, 4, 4),
            (1, 4, 2, 4, 4),
            (2, 16, 2, 16, 10),
            (2, 64, 2, 64, 14),
        ] {
            let split = unasked(&machine(sockets, cores, threads), None);
            let counts = scale.counts(split.told().server_cpus);
            assert_eq!((counts.last(), counts.len()), (Some(&most), arms));
            let largest = split.for_workers(most);
            assert_eq!(largest.server.len(), most as usize);
            assert_eq!(largest.doubt(), None, "the client keeps its own");
        }
    }

    #[test]
    fn a_node_without_memory_is_left_out_where_another_has_some() {
        let mut cpus = machine(2, 4, 1);
        cpus[..4].iter_mut().for_each(|cpu| cpu.has_memory = false);
        assert_eq!(sides(&unasked(&cpus, None)), (&[4, 5][..], &[6, 7][..]));
        assert_eq!(
            sides(&unasked(&cpus[..4], None)),
            (&[0, 1][..], &[2, 3][..])
        );
    }

    #[test]
    fn of_two_kinds_of_cores_the_server_has_the_faster_alone() {
        // Six fast cores of two threads and eight slow ones, as Linux numbers them.
        let fast = (0..12).map(|number| (number, number / 2 * 2, FULL_CAPACITY));
        let slow = (12..20).map(|number| (number, number, FULL_CAPACITY / 2));
        let cpu = |(number, core, capacity)| Cpu {
            number,
            core,
            node: 0,
            has_memory: true,
            capacity,
        };
        let cpus: Vec<Cpu> = fast.chain(slow).map(cpu).collect();
        let split = unasked(&cpus, None).told();
        assert_eq!((&*split.server, &*split.client), ("0-11", "12-19"));
    }

    #[test]
    fn what_is_asked_for_by_name_is_taken_and_the_other_side_gets_other_cores() {
        let cpus = machine(2, 4, 2);
        let both = asked(&cpus, Some("0-3"), Some("4-7")).unwrap();
        assert_eq!(both.told().left_out, "");
        assert_eq!(sides(&both), (&[0, 1, 2, 3][..], &[4, 5, 6, 7][..]));
        let server = asked(&cpus, Some("0,8"), None).unwrap();
        assert_eq!(server.told().client, "1-3,9-11");
        let client = asked(&cpus, None, Some("0-3")).unwrap();
        assert_eq!(
            client.told().server,
            "8-11",
            "threads of the same cores are all that is left"
        );
        let error = asked(&cpus, Some("3-99"), None).unwrap_err().to_string();
        assert!(
            error.contains("CPU 16 is not among ours") && error.contains("0-15"),
            "{error}"
        );
        assert!(asked(&cpus, None, Some("few")).is_err());
    }

    #[test]
    fn a_host_that_is_one_side_alone_has_all_cpus_for_it() {
        let wish = CpuWish {
            side: Side::Server,
            ..CpuWish::default()
        };
        let split = share(&machine(2, 2, 1), None, &wish).unwrap();
        assert_eq!(split.server, [0, 1, 2, 3]);
        let limited = share(&machine(2, 2, 1), Some(3.0), &wish).unwrap();
        assert_eq!(limited.server, [0, 1, 2]);
    }

    #[test]
    fn more_workers_than_the_server_has_cpus_take_the_clients_and_that_is_a_doubt() {
        let split = unasked(&machine(1, 4, 1), None);
        assert_eq!(split.for_workers(1).server, [0]);
        assert_eq!(split.for_workers(2).doubt(), None);
        let three = split.for_workers(3);
        assert_eq!(three.server, [0, 1, 3]);
        assert_eq!(three.doubt(), Some(Doubt::SharedCpus { cpus: 1 }));
        assert_eq!(split.for_workers(99).server, [0, 1, 2, 3]);
    }

    #[test]
    fn cores_nodes_and_kinds_are_read_from_the_kernel_and_cut_to_what_is_allowed() {
        let siblings =
            |cpu: usize| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let files: Vec<_> = (0..4).map(siblings).collect();
        let lists = ["0,2\n", "1,3\n", "0,2\n", "odd"];
        let mut planted: Vec<_> = files.iter().map(String::as_str).zip(lists).collect();
        planted.extend([
            ("sys/devices/system/node/has_cpu", "1\n"),
            ("sys/devices/system/node/node1/cpulist", "0-1\n"),
            ("sys/devices/cpu_atom/cpus", "3\n"),
            ("sys/devices/system/cpu/cpu1/cpu_capacity", "700\n"),
        ]);
        let planted = Planted::new("cores", &planted);
        let found = topology(&planted.tree, &[1, 2, 3]);
        let cpu = |number, core, node, capacity| Cpu {
            number,
            core,
            node,
            has_memory: node == 0,
            capacity,
        };
        let expected = [cpu(1, 1, 1, 700), cpu(2, 2, 0, 1024), cpu(3, 3, 0, 512)];
        assert_eq!(found, expected);
        assert_eq!(topology(&planted.tree, &[0, 2])[1].core, 0);
    }
}
