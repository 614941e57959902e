//! Whether a server has as many busy threads as CPUs that it may use.

use std::cmp::Ordering;

use model::finding::Finding;

use super::{Subject, counted};
use crate::tree::Tree;

/// A thread is a worker if it has used at least this share of the CPU time of the busiest thread.
const BUSY_SHARE: f64 = 0.1;
/// Ticks of 10 ms that the busiest thread must have used before workers can be told from other
/// threads.
const ENOUGH: u64 = 10;

/// Applies only to a process that was asked about.
pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let pid = subject.pid?;
    let status = subject.tree.text(&format!("proc/{pid}/status"));
    let Some(cpus) = status.and_then(|status| subject.tree.allowed_cpus(&status)) else {
        return Some(say!("workers.hidden", pid));
    };
    Some(judge(pid, &thread_ticks(&subject.tree, pid), cpus.len()))
}

fn judge(pid: u32, ticks: &[u64], cpus: usize) -> Finding {
    let most = ticks.iter().copied().max().unwrap_or(0);
    let is_worker = |ticks: &&u64| **ticks as f64 >= BUSY_SHARE * most as f64;
    let workers = ticks.iter().filter(is_worker).count();
    let threads = counted(ticks.len(), "thread", "threads");
    let allowed = counted(cpus, "CPU", "CPUs");
    match workers.cmp(&cpus) {
        _ if most < ENOUGH => say!("workers.idle", pid, threads, workers, allowed),
        Ordering::Equal => say!("workers.one_each", pid, threads, workers, allowed),
        Ordering::Less => say!("workers.too_few", pid, threads, workers, allowed, cpus),
        Ordering::Greater => say!("workers.too_many", pid, threads, workers, allowed, cpus),
    }
}

/// CPU time of each thread of the process and of its descendants, in ticks.
fn thread_ticks(tree: &Tree, pid: u32) -> Vec<u64> {
    let mut ticks = Vec::new();
    let mut waiting = vec![pid];
    let mut seen = Vec::new();
    while let Some(pid) = waiting.pop() {
        if seen.contains(&pid) {
            continue;
        }
        seen.push(pid);
        for thread in tree.names(&format!("proc/{pid}/task")) {
            let folder = format!("proc/{pid}/task/{thread}");
            ticks.extend(
                tree.text(&format!("{folder}/stat"))
                    .as_deref()
                    .and_then(ticks_in),
            );
            let children = tree.text(&format!("{folder}/children")).unwrap_or_default();
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|child| child.parse::<u32>().ok()),
            );
        }
    }
    ticks
}

/// User plus system time, the 14th and 15th fields. The second field is the name in parentheses,
/// which may itself contain spaces and parentheses.
fn ticks_in(stat: &str) -> Option<u64> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;
    use crate::tree::planted::Planted;

    #[test]
    fn idle_threads_are_no_workers() {
        let finding = judge(7, &[5000, 4800, 3, 0], 2);
        assert_eq!(finding.severity, Severity::Fine);
        assert_eq!(
            judge(7, &[5000], 4).what,
            "Some CPUs have no worker (workers: 1, CPUs: 4)."
        );
        assert!(judge(7, &[90, 90, 90], 1).what.starts_with("More workers"));
    }

    #[test]
    fn a_process_that_has_hardly_worked_is_not_judged() {
        assert_eq!(judge(7, &[3, 3], 2).severity, Severity::Unknown);
        assert_eq!(judge(7, &[], 2).severity, Severity::Unknown);
    }

    #[test]
    fn cpus_that_are_off_line_may_not_be_used_whatever_the_mask_says() {
        let online = ("sys/devices/system/cpu/online", "0-1\n");
        let planted = Planted::new("off-line", &[online]);
        let status = "Name:\tapp\nCpus_allowed_list:\t1-3\n";
        assert_eq!(planted.tree.allowed_cpus(status), Some(vec![1]));
    }

    #[test]
    fn threads_of_children_count_and_names_with_parentheses_do_not_confuse() {
        let stat = |ticks: u32| format!("9 (a) b (c)) S 1 1 1 0 -1 4 0 0 0 0 {ticks} 5 0 0 20");
        let (first, second) = (stat(10), stat(20));
        let planted = Planted::new(
            "workers",
            &[
                ("proc/9/task/9/stat", first.as_str()),
                ("proc/9/task/9/children", "10 9 \n"),
                ("proc/10/task/10/stat", second.as_str()),
                ("proc/10/task/11/stat", "odd"),
            ],
        );
        let mut ticks = thread_ticks(&planted.tree, 9);
        ticks.sort_unstable();
        assert_eq!(ticks, [15, 25]);
    }
}
