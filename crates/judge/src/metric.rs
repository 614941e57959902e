//! The metrics of a block that are compared between arms.

use model::Reading;
use model::judgement::Outcome;

use crate::verdict::Direction;

/// One metric of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    /// CPU time of the target per answer, µs. What ksoftirqd finishes for it is left out: that
    /// work cannot be told from the work it does for others.
    ServerCpu,
    /// CPU time of the load generator per answer, µs.
    ClientCpu,
    /// CPU time of all CPUs of the server's host per answer, µs. No verdict is about it: it is
    /// counted in ticks and includes the work of others.
    MachineCpu,
    /// Answers per second.
    Throughput,
}

impl Metric {
    pub(crate) const ALL: [Self; 4] = [
        Self::ServerCpu,
        Self::ClientCpu,
        Self::MachineCpu,
        Self::Throughput,
    ];

    /// The metric of an outcome.
    pub(crate) fn of_outcome(outcome: Outcome) -> Self {
        match outcome {
            Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => Self::ServerCpu,
            Outcome::Throughput => Self::Throughput,
        }
    }

    /// The value in a reading; `None` unless it is a finite number above zero, since only those
    /// have a logarithm.
    pub(crate) fn of(self, reading: &Reading) -> Option<f64> {
        let value = match self {
            Self::ServerCpu => reading.server_cpu_us_per_request(),
            Self::ClientCpu => reading.client_cpu_us_per_request(),
            Self::MachineCpu => reading.machine_cpu_us_per_request(),
            Self::Throughput => Some(reading.throughput_rps()),
        }?;
        (value.is_finite() && value > 0.0).then_some(value)
    }

    pub(crate) fn direction(self) -> Direction {
        match self {
            Self::ServerCpu | Self::ClientCpu | Self::MachineCpu => Direction::LowerIsBetter,
            Self::Throughput => Direction::HigherIsBetter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_without_a_window_has_no_throughput() {
        let reading = Reading {
            answered: 5,
            ..Reading::default()
        };
        assert_eq!(Metric::Throughput.of(&reading), None);
    }
}
