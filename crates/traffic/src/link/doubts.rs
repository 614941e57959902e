//! Reports where a link did not behave as it was asked to.

use model::link::LinkReading;
use model::{Doubt, LinkDoubt};

use super::carrying::LinkReadings;
use super::courier::LATE_NS;

/// A share of late packets above this is a doubt, if there were at least [`LATE_PACKETS`].
const LATE_SHARE: f64 = 0.01;
/// Fewer late packets than this are no doubt: one hiccup of the machine could make them late.
const LATE_PACKETS: u64 = 10;

/// What a sceptic would ask about a link with these readings.
pub fn doubts(readings: &LinkReadings) -> Vec<Doubt> {
    let up = of_direction("up", &readings.up);
    let down = of_direction("down", &readings.down);
    up.into_iter().chain(down).map(Doubt::Link).collect()
}

fn of_direction(direction: &str, reading: &LinkReading) -> Vec<LinkDoubt> {
    let direction = || direction.to_owned();
    let some = |packets: u64| (packets > 0).then_some(packets);
    let tally = &reading.tally;
    let doubts = [
        late(direction(), reading),
        some(reading.missed_packets).map(|packets| LinkDoubt::Missed {
            direction: direction(),
            packets,
        }),
        some(tally.unheld_packets).map(|packets| LinkDoubt::Unheld {
            direction: direction(),
            packets,
        }),
        some(tally.unfinished_packets).map(|packets| LinkDoubt::Unfinished {
            direction: direction(),
            packets,
        }),
        some(tally.refused_packets).map(|packets| LinkDoubt::Refused {
            direction: direction(),
            packets,
        }),
    ];
    doubts.into_iter().flatten().collect()
}

fn late(direction: String, reading: &LinkReading) -> Option<LinkDoubt> {
    let lateness = &reading.lateness_ns;
    let late = lateness.buckets().filter(|(edge_ns, _)| *edge_ns > LATE_NS);
    let late_packets: u64 = late.map(|(_, count)| count).sum();
    let late_share = late_packets as f64 / lateness.total() as f64;
    (late_packets >= LATE_PACKETS && late_share > LATE_SHARE).then(|| LinkDoubt::Late {
        direction,
        late_share,
        limit_ns: LATE_NS,
        latest_ns: lateness.quantile(1.0).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use model::LinkTally;

    use super::*;

    fn after(late: u64, punctual: u64) -> LinkReading {
        let mut reading = LinkReading::default();
        (0..late).for_each(|_| reading.lateness_ns.record(900_000));
        (0..punctual).for_each(|_| reading.lateness_ns.record(50_000));
        reading
    }

    fn doubts_of(up: LinkReading) -> Vec<Doubt> {
        doubts(&LinkReadings {
            up,
            down: LinkReading::default(),
            went_first: true,
        })
    }

    #[test]
    fn a_link_that_was_punctual_is_not_doubted_for_a_few_late_packets() {
        assert_eq!(doubts_of(after(0, 0)), []);
        assert_eq!(doubts_of(after(9, 10)), []);
        assert_eq!(doubts_of(after(10, 990)), []);
    }

    #[test]
    fn more_than_one_packet_in_a_hundred_late_is_said_with_share_and_worst() {
        let found = doubts_of(after(30, 970));
        let words = found[0].what();
        assert_eq!(found.len(), 1);
        assert!(words.contains("3.0 % of its packets up"), "{words}");
        assert!(words.contains("the latest 0.9 ms"), "{words}");
        // The link went first already.
        let advice = found[0].advice();
        assert!(!advice.contains("root"), "{advice}");
    }

    #[test]
    fn packets_that_went_another_way_than_asked_are_each_a_doubt() {
        let tally = LinkTally {
            unheld_packets: 2,
            unfinished_packets: 3,
            refused_packets: 4,
            ..LinkTally::default()
        };
        let reading = LinkReading {
            tally,
            missed_packets: 1,
            ..LinkReading::default()
        };
        let words: Vec<String> = doubts_of(reading).iter().map(Doubt::what).collect();
        assert_eq!(words.len(), 4);
        for (at, words) in words.iter().enumerate() {
            assert!(words.contains(&format!("{} packets", at + 1)), "{words}");
        }
    }
}
