//! What a server can do at most by each resource that it takes, and which of them is nearest.
//!
//! The operational law of Denning and Buzen (1978): a request that takes D of a resource of which there is C a second
//! cannot come more than C ÷ D times a second.

use model::Estimate;

/// Below this share of its nearest bound a rate is held back by something else: a lock, a queue, or its clients.
pub const NEAR: f64 = 0.7;

/// A resource: how much of it there is, and how much a request takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Its name, as `cpu` or `syscalls`.
    pub resource: String,
    /// What the machine has of it at most, a second: CPU-s of a second are CPUs.
    pub ceiling_per_second: Estimate,
    /// What a request takes of it, in the same unit.
    pub per_request: f64,
}

/// The most requests a second that one resource allows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The resource.
    pub resource: String,
    /// Ceiling ÷ demand, requests/s, with the ends of the ceiling's interval.
    pub rate_rps: Estimate,
    /// The rate that was seen as a share of it, 0 to 1; above 1 where the ceiling is none.
    pub share: f64,
}

/// The bound of each resource that a request takes any of, the nearest first, for a rate that was seen.
///
/// What a request takes nothing of, and what there is no figure of, bounds nothing and is left out.
#[must_use]
pub fn bounds(demands: &[Demand], seen_rps: f64) -> Vec<Bound> {
    let taken = demands.iter().filter(|demand| {
        let numbers = [demand.per_request, demand.ceiling_per_second.value];
        numbers
            .iter()
            .all(|number| number.is_finite() && *number > 0.0)
    });
    let mut bounds: Vec<Bound> = taken.map(|demand| bound(demand, seen_rps)).collect();
    bounds.sort_by(|one, other| one.rate_rps.value.total_cmp(&other.rate_rps.value));
    bounds
}

fn bound(demand: &Demand, seen_rps: f64) -> Bound {
    let (ceiling, per_request) = (&demand.ceiling_per_second, demand.per_request);
    let rate_rps = Estimate {
        value: ceiling.value / per_request,
        low: ceiling.low / per_request,
        high: ceiling.high / per_request,
        n: ceiling.n,
    };
    Bound {
        resource: demand.resource.clone(),
        share: seen_rps / rate_rps.value,
        rate_rps,
    }
}

/// The bound that holds a rate back: the nearest, where the rate is [`NEAR`] it.
#[must_use]
pub fn limiter(bounds: &[Bound]) -> Option<&Bound> {
    bounds.first().filter(|nearest| nearest.share >= NEAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(resource: &str, [low, value, high]: [f64; 3], per_request: f64) -> Demand {
        let ceiling_per_second = Estimate {
            value,
            low,
            high,
            n: 16,
        };
        Demand {
            resource: resource.to_owned(),
            ceiling_per_second,
            per_request,
        }
    }

    /// Two CPUs of which a request takes 20 µs, 10 GB/s of which it takes 15 kB, 10⁷ calls of which it takes 4.
    fn server() -> [Demand; 3] {
        [
            demand("memory", [9e9, 10e9, 12e9], 15_000.0),
            demand("cpu", [2.0, 2.0, 2.0], 20e-6),
            demand("syscalls", [0.9e7, 1e7, 1.1e7], 4.0),
        ]
    }

    #[test]
    fn the_nearest_bound_comes_first_with_the_share_that_is_reached_of_it() {
        let found = bounds(&server(), 90_000.0);
        let names: Vec<&str> = found.iter().map(|bound| bound.resource.as_str()).collect();
        assert_eq!(names, ["cpu", "memory", "syscalls"]);
        assert!((found[0].rate_rps.value - 100_000.0).abs() < 1e-6);
        assert!((found[0].share - 0.9).abs() < 1e-9);
        let memory = found[1].rate_rps;
        let thousands = [memory.low, memory.value, memory.high].map(|rate| (rate / 1e3).round());
        assert_eq!((thousands, memory.n), ([600.0, 667.0, 800.0], 16));
        assert_eq!(limiter(&found).unwrap().resource, "cpu");
    }

    #[test]
    fn a_rate_far_below_every_bound_has_no_resource_for_its_limiter() {
        assert_eq!(limiter(&bounds(&server(), 69_000.0)), None);
        assert!(limiter(&bounds(&server(), 70_001.0)).is_some());
        assert_eq!(limiter(&[]), None);
    }

    #[test]
    fn what_no_request_takes_and_what_has_no_figure_bounds_nothing() {
        let demands = [
            demand("disk", [1.0; 3], 0.0),
            demand("packets", [f64::NAN; 3], 2.0),
            demand("memory", [0.0; 3], 2.0),
            demand("switches", [1e6; 3], f64::INFINITY),
            demand("cpu", [1.0; 3], 1e-3),
        ];
        let found = bounds(&demands, 500.0);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].resource.as_str(), found[0].share), ("cpu", 0.5));
    }
}
