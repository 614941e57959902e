//! Reads the first lines of `/proc/stat`: the time of all CPUs together, or of one of them.

use model::reading::MachineCpu;

/// Nanoseconds in a tick: the kernel shows times in hundredths of a second (`USER_HZ`) on every
/// architecture that we build for.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Times since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Time in which something ran, and stolen time.
    pub(crate) machine: MachineCpu,
    /// Idle time, including idle time in which a disk was waited for.
    pub(crate) idle_ns: u64,
}

impl CpuTicks {
    /// The times that passed since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            machine: self.machine.since(&earlier.machine),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
        }
    }

    /// All time: busy, stolen and idle.
    pub(crate) fn total_ns(self) -> u64 {
        self.machine.busy_ns() + self.machine.stolen_ns + self.idle_ns
    }
}

/// Parses the sum of all CPUs; `None` where the text does not start with it.
pub(crate) fn parse(text: &str) -> Option<CpuTicks> {
    columns(text.lines().next()?.strip_prefix("cpu ")?)
}

/// Parses the line of one CPU; `None` where it has none.
pub(crate) fn parse_one(text: &str, cpu: usize) -> Option<CpuTicks> {
    let name = format!("cpu{cpu} ");
    columns(text.lines().find_map(|line| line.strip_prefix(&name))?)
}

fn columns(line: &str) -> Option<CpuTicks> {
    let mut columns = line
        .split_whitespace()
        .map(|column| Some(column.parse::<u64>().ok()?.saturating_mul(TICK_NS)));
    let mut next = || columns.next().flatten();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // Lines of old kernels are shorter; what they do not count is 0.
    let (io_wait, irq_ns, softirq_ns, stolen_ns) = (
        next().unwrap_or(0),
        next().unwrap_or(0),
        next().unwrap_or(0),
        next().unwrap_or(0),
    );
    Some(CpuTicks {
        machine: MachineCpu {
            // Guests' time is included in the user time.
            user_ns: user.saturating_add(nice),
            system_ns: system,
            irq_ns,
            softirq_ns,
            stolen_ns,
        },
        idle_ns: idle.saturating_add(io_wait),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  100 1 50 4000 30 2 7 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\ncpu10 9 0 0 0 0 0 3 0 0 0\nintr 5\n";

    #[test]
    fn the_sum_of_all_cpus_is_read_by_who_had_them() {
        let all = parse(TEXT).unwrap();
        let tick = |count: u64| count * TICK_NS;
        assert_eq!(
            all.machine,
            MachineCpu {
                user_ns: tick(101),
                system_ns: tick(50),
                irq_ns: tick(2),
                softirq_ns: tick(7),
                stolen_ns: tick(5),
            }
        );
        assert_eq!(all.machine.busy_ns(), tick(160));
        let earlier = CpuTicks {
            machine: MachineCpu {
                user_ns: tick(1),
                stolen_ns: tick(5),
                ..MachineCpu::default()
            },
            idle_ns: tick(5000),
        };
        assert_eq!(all.since(earlier).total_ns(), tick(159));
    }

    #[test]
    fn one_cpu_is_told_from_another_that_begins_with_its_digits() {
        let softirq = |cpu| parse_one(TEXT, cpu).map(|one| one.machine.softirq_ns / TICK_NS);
        assert_eq!([0, 1, 10].map(softirq), [Some(1), None, Some(3)]);
    }

    #[test]
    fn a_short_or_odd_line_is_none_and_missing_columns_are_nought() {
        assert_eq!(parse("cpu  1 2 3 4").unwrap().idle_ns, 4 * TICK_NS);
        for text in ["", "cpu  1 2", "cpu0 1 2 3 4", "cpu  a b c d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
