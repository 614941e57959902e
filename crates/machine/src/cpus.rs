//! Which CPUs the server gets and which the client, of those that we may use.

use std::io;

use model::Doubt;
use sys::cgroup::{Controller, Group};

use crate::targets;
use crate::tree::Tree;

/// The CPUs of each side; the same single one where there is only one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSplit {
    pub server: Vec<usize>,
    pub client: Vec<usize>,
}

impl CpuSplit {
    /// Whether the two sides take time from each other.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.server.iter().any(|cpu| self.client.contains(cpu))
    }
}

/// The split on this machine: of the inherited affinity mask, within the CPU quota of our control
/// group, no core shared between the sides where that can be had.
///
/// # Errors
/// The kernel's own, on a machine with more than 1,024 CPUs.
pub fn here() -> io::Result<CpuSplit> {
    let tree = Tree::of_this_machine();
    let allowed = sys::cpu::allowed()?;
    Ok(split_by_cores(&cores(&tree, &allowed), quota_in(&tree)))
}

/// As [`split_by_cores`], with each CPU a core of its own, as the tests want it.
#[cfg(test)]
pub(crate) fn split(allowed: &[usize], quota: Option<f64>) -> CpuSplit {
    let cores: Vec<_> = allowed.iter().map(|cpu| vec![*cpu]).collect();
    split_by_cores(&cores, quota)
}

/// Deals out cores, each given as the CPUs that we may use of it: the server gets the first half,
/// rounded down, the client the rest. A quota of so many CPUs' time leaves no more CPUs than that,
/// rounded down, so that a busy pair is not throttled. A single core is split between its threads.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "a quota that is no small number grants all CPUs: `as` saturates"
)]
pub fn split_by_cores(cores: &[Vec<usize>], quota: Option<f64>) -> CpuSplit {
    let all: Vec<usize> = cores.iter().flatten().copied().collect();
    // At least one: a quota below a whole CPU still lets one run, part of the time.
    let granted = quota.map_or(all.len(), |cpus| (cpus.floor() as usize).max(1));
    let by_core = granted >= all.len() && cores.len() > 1;
    let (server, client) = if by_core {
        let (server, client) = cores.split_at(cores.len() / 2);
        (server.concat(), client.concat())
    } else {
        halves(cores, granted.min(all.len()))
    };
    CpuSplit { server, client }
}

/// So many CPUs in two halves: one of each core first, so that sides share a core only when
/// nothing else is left.
fn halves(cores: &[Vec<usize>], count: usize) -> (Vec<usize>, Vec<usize>) {
    let widest = cores.iter().map(Vec::len).max().unwrap_or(0);
    let one_of_each =
        (0..widest).flat_map(|thread| cores.iter().filter_map(move |core| core.get(thread)));
    let mut chosen: Vec<usize> = one_of_each.copied().take(count).collect();
    chosen.sort_unstable();
    match &chosen[..] {
        [] | [_] => (chosen.clone(), chosen),
        several => {
            let (server, client) = several.split_at(several.len() / 2);
            (server.to_vec(), client.to_vec())
        }
    }
}

/// The doubt that a server which is running here and a client on `client_cpus` have but one CPU
/// between them; `None` where they have more, or the server's processes cannot be seen.
#[must_use]
pub fn sharing(server_pids: &[u32], client_cpus: &[usize]) -> Option<Doubt> {
    let server_cpus = targets::cpus_of(server_pids);
    let is_shared = matches!((&server_cpus[..], client_cpus), ([one], [other]) if one == other);
    is_shared.then_some(Doubt::SharedCpus { cpus: 1 })
}

/// CPUs' worth of time that our control group grants; `None` without a quota.
pub(crate) fn quota_in(tree: &Tree) -> Option<f64> {
    Group::below(tree.path(""), Controller::Cpu)?.cpu_quota()
}

/// The allowed CPUs by the core that they are threads of.
fn cores(tree: &Tree, allowed: &[usize]) -> Vec<Vec<usize>> {
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for cpu in allowed {
        if cores.iter().any(|core| core.contains(cpu)) {
            continue;
        }
        let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = tree
            .text(&file)
            .and_then(|list| sys::cpu::parse_list(&list).ok());
        let mut core: Vec<_> = siblings.unwrap_or_default();
        core.retain(|sibling| allowed.contains(sibling));
        cores.push(if core.contains(cpu) { core } else { vec![*cpu] });
    }
    cores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    fn sides(split: &CpuSplit) -> (&[usize], &[usize]) {
        (&split.server, &split.client)
    }

    #[test]
    fn two_cpus_are_one_each_and_four_are_two_each() {
        assert_eq!(sides(&split(&[0, 1], None)), (&[0][..], &[1][..]));
        assert_eq!(
            sides(&split(&[2, 3, 6, 7], None)),
            (&[2, 3][..], &[6, 7][..])
        );
    }

    #[test]
    fn of_an_odd_number_the_client_gets_one_more() {
        assert_eq!(sides(&split(&[0, 1, 2], None)), (&[0][..], &[1, 2][..]));
    }

    #[test]
    fn one_cpu_is_shared_and_none_is_no_panic() {
        let one = split(&[5], None);
        assert_eq!(sides(&one), (&[5][..], &[5][..]));
        assert!(one.is_shared());
        assert!(split(&[], None).server.is_empty());
    }

    #[test]
    fn a_quota_leaves_no_more_cpus_than_it_can_keep_busy() {
        let eight: Vec<usize> = (0..8).collect();
        assert_eq!(sides(&split(&eight, Some(2.5))), (&[0][..], &[1][..]));
        assert!(split(&eight, Some(0.5)).is_shared());
        assert_eq!(split(&eight, Some(64.0)), split(&eight, None));
    }

    #[test]
    fn the_sides_share_no_core_where_there_are_two() {
        let cores = [vec![0, 2], vec![1, 3]];
        assert_eq!(
            sides(&split_by_cores(&cores, None)),
            (&[0, 2][..], &[1, 3][..])
        );
        assert_eq!(
            sides(&split_by_cores(&cores, Some(2.0))),
            (&[0][..], &[1][..])
        );
        assert_eq!(
            sides(&split_by_cores(&cores[..1], None)),
            (&[0][..], &[2][..])
        );
    }

    #[test]
    fn cores_are_read_from_the_kernel_and_cut_to_what_is_allowed() {
        let file =
            |cpu: usize| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let files: Vec<_> = (0..4).map(file).collect();
        let lists = ["0,2\n", "1,3\n", "0,2\n", "odd"];
        let planted: Vec<_> = files.iter().map(String::as_str).zip(lists).collect();
        let planted = Planted::new("cores", &planted);
        assert_eq!(cores(&planted.tree, &[0, 1, 2]), [vec![0, 2], vec![1]]);
        assert_eq!(cores(&planted.tree, &[3]), [vec![3]]);
    }
}
