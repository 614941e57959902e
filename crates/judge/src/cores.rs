//! From times between CPUs to how the CPUs lie: pairs with intervals, and groups within groups.

use model::Estimate;
use model::cores::{CoreDistances, CoreLevel, CorePair};

use crate::median;

/// Two-sided error of the intervals.
const ALPHA: f64 = 0.05;
/// Fewest samples for a 99th percentile, which then has ten beyond it.
const FEWEST_FOR_P99: usize = 1_000;
/// Groups are levels apart where the distance that joins them is this many times that within them.
/// In a mesh, distances grow step by step from near to far ends, and each step is smaller.
const STEP: f64 = 1.2;

/// Judges one pair by the samples of each of its lines; `None` where one of the two methods has
/// none.
pub fn pair(
    cpus: [usize; 2],
    exchange_ns: &[Vec<f64>],
    handover_ns: &[Vec<f64>],
) -> Option<CorePair> {
    let all: Vec<f64> = exchange_ns.concat();
    let p99 = (all.len() >= FEWEST_FOR_P99).then(|| median::quantile(&all, 0.99));
    Some(CorePair {
        cpus: [cpus[0].max(cpus[1]), cpus[0].min(cpus[1])],
        exchange_ns: of_lines(exchange_ns)?,
        exchange_ns_p99: p99.flatten(),
        handover_ns: of_lines(handover_ns)?,
    })
}

/// The estimate over lines. A line is one observation: its samples share its address, and so its
/// path.
fn of_lines(samples: &[Vec<f64>]) -> Option<Estimate> {
    let medians: Vec<f64> = samples.iter().filter_map(|line| median::of(line)).collect();
    median::estimate(&medians, ALPHA)
}

/// Orders the pairs, and finds the levels on which their CPUs lie.
///
/// CPUs are joined to groups, nearest first, by the median of the times between them, which one
/// disturbed pair does not change. A level ends where the next join is `STEP` times as far as the
/// one before it.
pub fn distances(cpus: &[usize], pairs: Vec<CorePair>) -> CoreDistances {
    let (mut cpus, mut pairs) = (cpus.to_vec(), pairs);
    cpus.sort_unstable();
    pairs.sort_unstable_by_key(|pair| pair.cpus);
    let levels = whole_matrix(&cpus, &pairs).map(|matrix| levels(&cpus, &pairs, matrix));
    CoreDistances {
        levels: levels.unwrap_or_default(),
        cpus,
        pairs,
    }
}

/// Times between any two CPUs or groups, by their places; a list, as groups have several.
type Matrix = Vec<Vec<Vec<f64>>>;

/// The matrix of all times; `None` where one is missing.
fn whole_matrix(cpus: &[usize], pairs: &[CorePair]) -> Option<Matrix> {
    let mut matrix = vec![vec![Vec::new(); cpus.len()]; cpus.len()];
    for pair in pairs {
        let [one, other] = places(cpus, pair)?;
        matrix[one][other] = vec![pair.exchange_ns.value];
        matrix[other][one] = vec![pair.exchange_ns.value];
    }
    let mut rows = matrix.iter().enumerate();
    let is_whole = |(own, row): (usize, &Vec<Vec<f64>>)| {
        let mut times = row.iter().enumerate();
        times.all(|(place, times)| place == own || !times.is_empty())
    };
    rows.all(is_whole).then_some(matrix)
}

/// The places of a pair's CPUs among all.
fn places(cpus: &[usize], pair: &CorePair) -> Option<[usize; 2]> {
    let [one, other] = pair.cpus.map(|cpu| cpus.binary_search(&cpu).ok());
    Some([one?, other?])
}

/// Two groups that were joined, by their places, and how far apart they were, ns.
struct Join {
    kept: usize,
    absorbed: usize,
    distance_ns: f64,
}

fn levels(cpus: &[usize], pairs: &[CorePair], matrix: Matrix) -> Vec<CoreLevel> {
    let joins = joins(matrix);
    let mut group_of: Vec<usize> = (0..cpus.len()).collect();
    let mut before = group_of.clone();
    let mut levels = Vec::new();
    for (number, join) in joins.iter().enumerate() {
        let joined = group_of.iter_mut().filter(|group| **group == join.absorbed);
        joined.for_each(|group| *group = join.kept);
        let next = joins.get(number + 1);
        if next.is_none_or(|next| next.distance_ns >= STEP * join.distance_ns) {
            levels.extend(level(cpus, pairs, [&before, &group_of]));
            before.clone_from(&group_of);
        }
    }
    levels
}

/// All joins, nearest first, until one group is left.
fn joins(mut times: Matrix) -> Vec<Join> {
    let middle = |row: &Vec<Vec<f64>>| -> Vec<f64> {
        let medians = row.iter().map(|times| median::of(times));
        medians.map(|ns| ns.unwrap_or(f64::INFINITY)).collect()
    };
    let mut far: Vec<Vec<f64>> = times.iter().map(middle).collect();
    let mut left: Vec<usize> = (0..times.len()).collect();
    let mut joins: Vec<Join> = Vec::new();
    while let Some((kept, absorbed)) = nearest(&left, &far) {
        // The median of a joined group may be below the distance of the join that made it.
        let last_ns = joins.last().map_or(0.0, |join| join.distance_ns);
        let distance_ns = far[kept][absorbed].max(last_ns);
        joins.push(Join {
            kept,
            absorbed,
            distance_ns,
        });
        left.retain(|group| *group != absorbed);
        for &other in left.iter().filter(|other| **other != kept) {
            let more = std::mem::take(&mut times[absorbed][other]);
            times[kept][other].extend(more);
            let both = times[kept][other].clone();
            let middle = median::of(&both).unwrap_or(f64::INFINITY);
            times[other][kept] = both;
            (far[kept][other], far[other][kept]) = (middle, middle);
        }
    }
    joins
}

/// The two groups that are nearest to each other, the lower place first.
fn nearest(left: &[usize], far: &[Vec<f64>]) -> Option<(usize, usize)> {
    let ones = left.iter().enumerate();
    let two = ones.flat_map(|(at, one)| left[at + 1..].iter().map(|other| (*one, *other)));
    two.min_by(|one, other| far[one.0][one.1].total_cmp(&far[other.0][other.1]))
}

/// The level of the groups as they are `now`, timed by the pairs that share a group only since
/// then.
fn level(cpus: &[usize], pairs: &[CorePair], [before, now]: [&[usize]; 2]) -> Option<CoreLevel> {
    let is_new = |pair: &&CorePair| {
        let shares = |groups: &[usize], [one, other]: [usize; 2]| groups[one] == groups[other];
        places(cpus, pair).is_some_and(|two| shares(now, two) && !shares(before, two))
    };
    let new = pairs.iter().filter(is_new);
    let times_ns: Vec<f64> = new.map(|pair| pair.exchange_ns.value).collect();
    // A group is known by the place of its first CPU.
    let firsts = (0..cpus.len()).filter(|place| now[*place] == *place);
    let members = |first: usize| {
        let of_group = cpus.iter().zip(now).filter(|(_, group)| **group == first);
        of_group.map(|(cpu, _)| *cpu).collect()
    };
    Some(CoreLevel {
        groups: firsts.map(members).collect(),
        exchange_ns: median::of(&times_ns)?,
        exchange_ns_low: median::quantile(&times_ns, 0.0)?,
        exchange_ns_high: median::quantile(&times_ns, 1.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` CPUs, whose times are those of `far` and up to 4 % more, as from a mesh and noise.
    fn machine(count: usize, far: impl Fn(usize, usize) -> f64) -> CoreDistances {
        let more = |one: usize, other: usize| ((one * 7 + other * 13) % 9) as f64 * 0.005;
        let two = (0..count).flat_map(|one| (0..one).map(move |other| (one, other)));
        let pairs = two
            .map(|(one, other)| taking([one, other], far(one, other) * (1.0 + more(one, other))));
        let cpus: Vec<usize> = (0..count).collect();
        distances(&cpus, pairs.collect())
    }

    fn taking(cpus: [usize; 2], ns: f64) -> CorePair {
        pair(cpus, &[vec![ns], vec![ns]], &[vec![ns]]).unwrap()
    }

    /// The number of groups of each level, and their sizes in CPUs.
    fn shape(of: &CoreDistances) -> Vec<(usize, Vec<usize>)> {
        let sizes = |level: &CoreLevel| {
            let mut sizes: Vec<usize> = level.groups.iter().map(Vec::len).collect();
            sizes.dedup();
            (level.groups.len(), sizes)
        };
        of.levels.iter().map(sizes).collect()
    }

    fn assert_near(of: &CoreDistances, times_ns: &[f64]) {
        assert_eq!(of.levels.len(), times_ns.len());
        for (level, ns) in of.levels.iter().zip(times_ns) {
            let range = *ns..=ns * 1.041;
            assert!(range.contains(&level.exchange_ns), "{level:?}");
            assert!(range.contains(&level.exchange_ns_low), "{level:?}");
            assert!(range.contains(&level.exchange_ns_high), "{level:?}");
        }
    }

    #[test]
    fn threads_of_a_core_cores_of_a_cache_and_of_a_socket_are_levels() {
        // Second threads of all cores come after the first, as Linux numbers them.
        let core = |cpu: usize| cpu % 32;
        let found = machine(64, |one, other| match (core(one), core(other)) {
            (one, other) if one == other => 9.8,
            (one, other) if one / 8 == other / 8 => 23.0,
            (one, other) if one / 16 == other / 16 => 107.0,
            _ => 197.0,
        });
        assert_near(&found, &[9.8, 23.0, 107.0, 197.0]);
        assert_eq!(
            shape(&found),
            [(32, vec![2]), (4, vec![16]), (2, vec![32]), (1, vec![64])]
        );
        assert_eq!(found.levels[0].groups[3], [3, 35]);
        assert_eq!(
            found.levels[1].groups[1][..9],
            [8, 9, 10, 11, 12, 13, 14, 15, 40]
        );
    }

    #[test]
    fn two_sockets_are_two_groups_though_their_meshes_have_near_and_far_ends() {
        let found = machine(24, |one, other| match one / 12 == other / 12 {
            true => 40.0 + (one % 12).abs_diff(other % 12) as f64 * 2.0,
            false => 134.0,
        });
        assert_eq!(shape(&found), [(2, vec![12]), (1, vec![24])]);
        assert_eq!(found.levels[0].groups[1], (12..24).collect::<Vec<_>>());
    }

    #[test]
    fn the_fast_cores_of_a_hybrid_are_a_group_and_slow_ones_that_are_near_none_stand_alone() {
        let is_fast = |cpu: usize| cpu < 16;
        let found = machine(24, |one, other| match (is_fast(one), is_fast(other)) {
            (true, true) if one / 2 == other / 2 => 4.3,
            (true, true) => 35.0,
            (false, false) => 50.0,
            _ => 44.0,
        });
        assert_eq!(
            shape(&found),
            [(16, vec![2, 1]), (9, vec![16, 1]), (1, vec![24])]
        );
    }

    #[test]
    fn cpus_that_are_all_as_far_from_one_another_are_one_level() {
        let (flat, two) = (machine(16, |_, _| 47.0), machine(2, |_, _| 110.0));
        assert_eq!(shape(&flat), [(1, vec![16])]);
        assert_eq!(shape(&two), [(1, vec![2])]);
        assert_near(&two, &[110.0]);
    }

    #[test]
    fn a_pair_that_was_disturbed_changes_no_group() {
        let found = machine(24, |one, other| match one / 8 == other / 8 {
            true if (one, other) == (5, 2) => 900.0,
            true => 23.0,
            false => 107.0,
        });
        assert_eq!(shape(&found), [(3, vec![8]), (1, vec![24])]);
        assert_eq!(found.levels[0].exchange_ns_high, 900.0 * 1.035);
    }

    #[test]
    fn without_each_pair_there_are_no_levels_and_the_pairs_are_in_order() {
        let pairs = [[3, 1], [2, 3]].map(|cpus| taking(cpus, 50.0));
        let found = distances(&[3, 2, 1], pairs.into());
        assert_eq!((found.cpus, found.levels), (vec![1, 2, 3], Vec::new()));
        let cpus: Vec<[usize; 2]> = found.pairs.iter().map(|pair| pair.cpus).collect();
        assert_eq!(cpus, [[3, 1], [3, 2]]);
    }

    #[test]
    fn a_line_is_one_observation_and_p99_needs_ten_samples_beyond_it() {
        let line = |ns: f64, samples: usize| vec![ns; samples];
        let lines = [line(100.0, 300), line(110.0, 300), line(130.0, 399)];
        let found = pair([0, 1], &lines, &lines[..1]).unwrap();
        let exchange = found.exchange_ns;
        assert_eq!(
            (exchange.value, exchange.low, exchange.high, exchange.n),
            (110.0, 100.0, 130.0, 3)
        );
        assert_eq!(found.exchange_ns_p99, None);
        let more = [&lines[..], &[line(100.0, 1)]].concat();
        let found = pair([0, 1], &more, &lines[..1]).unwrap();
        assert_eq!(found.exchange_ns_p99, Some(130.0));
        assert!(pair([0, 1], &[], &lines).is_none());
    }
}
