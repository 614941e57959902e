//! Reads the first line of `/proc/stat`: what all CPUs together did, in ticks.

/// Nanoseconds in a tick: the kernel shows times in hundredths of a second (`USER_HZ`) on every
/// architecture that we build for.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Ticks of all CPUs since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Running something: user, nice, system, irq, softirq. Guests' time is within user's.
    pub(crate) busy: u64,
    /// Idle, or idle while a disk is waited for.
    pub(crate) idle: u64,
    /// Wanted to run while the hypervisor ran something else.
    pub(crate) stolen: u64,
}

impl CpuTicks {
    /// The ticks that passed since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    /// All of them.
    pub(crate) fn total(self) -> u64 {
        self.busy + self.idle + self.stolen
    }
}

/// `None` where the text does not start with the sum of all CPUs.
pub(crate) fn parse(text: &str) -> Option<CpuTicks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let mut columns = line
        .split_whitespace()
        .map(|column| column.parse::<u64>().ok());
    let mut next = || columns.next().flatten();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // Old kernels end early; what they do not count is nought.
    let (io_wait, irq, softirq, stolen) = (
        next().unwrap_or(0),
        next().unwrap_or(0),
        next().unwrap_or(0),
        next().unwrap_or(0),
    );
    Some(CpuTicks {
        busy: user + nice + system + irq + softirq,
        idle: idle + io_wait,
        stolen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_all_cpus_is_read_and_the_rest_of_the_file_is_not() {
        let text = "cpu  100 1 50 4000 30 2 7 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
        let ticks = parse(text).unwrap();
        assert_eq!(
            ticks,
            CpuTicks {
                busy: 160,
                idle: 4030,
                stolen: 5
            }
        );
        assert_eq!(
            ticks
                .since(CpuTicks {
                    busy: 60,
                    idle: 5000,
                    stolen: 5
                })
                .total(),
            100
        );
    }

    #[test]
    fn a_short_or_odd_line_is_none_and_missing_columns_are_nought() {
        assert_eq!(parse("cpu  1 2 3 4").unwrap().idle, 4);
        for text in ["", "cpu  1 2", "cpu0 1 2 3 4", "cpu  a b c d"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
