//! What goes into a link comes out, in time and in order, or is counted as missing. The clock is
//! the tests' own.

use model::link::{LinkRate, LinkShape, QueueLimit, Reorder};
use model::random::SplitMix64;
use proptest::prelude::*;

use super::direction::{Direction, Fate};

const MS: u64 = 1_000_000;

/// A packet on its way into the link: the pause before it, and its bytes.
type Arrival = (u64, u32);

fn direction(shape: LinkShape, seed: u64) -> Direction<u64> {
    Direction::new(shape, &SplitMix64::new(seed))
}

/// A packet that came out: when it was due, when it was asked for, and its number.
struct Out {
    due_ns: u64,
    at_ns: u64,
    number: u64,
}

/// Offers all packets, takes those that are due before each offer, and then waits for the rest.
fn carry(link: &mut Direction<u64>, offers: &[Arrival]) -> (Vec<Fate>, Vec<Out>) {
    let (mut now_ns, mut fates, mut out) = (0, Vec::new(), Vec::new());
    for (number, (pause_ns, bytes)) in (0..).zip(offers) {
        now_ns += pause_ns;
        take_due(link, now_ns, &mut out);
        fates.push(link.handle(now_ns, *bytes, || number));
    }
    while let Some(due_ns) = link.next_due_ns() {
        take_due(link, due_ns.max(now_ns), &mut out);
    }
    (fates, out)
}

fn take_due(link: &mut Direction<u64>, at_ns: u64, out: &mut Vec<Out>) {
    while let Some(arrived) = link.poll(at_ns) {
        out.push(Out {
            due_ns: arrived.due_ns,
            at_ns,
            number: arrived.packet,
        });
    }
}

fn rates() -> impl Strategy<Value = Option<LinkRate>> {
    let steady = (1_000_u64..100_000_000_000)
        .prop_map(|bits_per_second| Some(LinkRate::Steady { bits_per_second }));
    let credit =
        (2_000_u64..100_000_000_000, 65_549_u64..10_000_000).prop_map(|(burst, bucket)| {
            Some(LinkRate::Credit {
                burst_bits_per_second: burst,
                bucket_bytes: bucket,
                base_bits_per_second: burst / 2,
            })
        });
    prop_oneof![Just(None), steady, credit]
}

fn queues() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0_u64..50).prop_map(QueueLimit::Packets),
        (0_u64..100_000).prop_map(QueueLimit::Bytes),
        (0_u64..10 * MS).prop_map(QueueLimit::WaitNs),
    ]
}

prop_compose! {
    fn shapes()(
        delay_ns in 1_u64..100 * MS,
        rate in rates(),
        loss_share in prop_oneof![Just(0.0), 0.0..1.0],
        reorder in prop::option::of((0.0..1.0, 0_u64..100)),
        queue in queues(),
    ) -> LinkShape {
        let reorder = reorder.map(|(share, per_cent): (f64, u64)| Reorder {
            share,
            early_ns: delay_ns * per_cent / 100,
        });
        LinkShape { delay_ns, rate, loss_share, reorder, queue }
    }
}

fn offers() -> impl Strategy<Value = Vec<Arrival>> {
    prop::collection::vec((0_u64..2 * MS, 60_u32..9_018), 1..200)
}

proptest! {
    #[test]
    fn every_packet_offered_is_carried_or_lost_or_dropped_and_counted(
        shape in shapes(), offers in offers(), seed: u64,
    ) {
        let mut link = direction(shape, seed);
        let (fates, out) = carry(&mut link, &offers);
        let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count() as u64;
        let tally = link.tally();
        prop_assert_eq!(tally.carried_packets, out.len() as u64);
        prop_assert_eq!(tally.carried_packets, count(|fate| matches!(fate, Fate::Due(_))));
        prop_assert_eq!(tally.lost_packets, count(|fate| *fate == Fate::Lost));
        prop_assert_eq!(tally.dropped_packets, count(|fate| *fate == Fate::Dropped));
        prop_assert_eq!((tally.unheld_packets, tally.held_packets), (0, 0));
        let sum = tally.carried_packets + tally.lost_packets + tally.dropped_packets;
        prop_assert_eq!(sum, offers.len() as u64);
    }

    #[test]
    fn packets_come_out_once_when_they_were_said_to_be_due_and_never_early(
        shape in shapes(), offers in offers(), seed: u64,
    ) {
        let (fates, out) = carry(&mut direction(shape, seed), &offers);
        let mut numbers: Vec<u64> = out.iter().map(|out| out.number).collect();
        for out in &out {
            prop_assert_eq!(fates[usize::try_from(out.number).unwrap()], Fate::Due(out.due_ns));
            prop_assert!(out.due_ns <= out.at_ns);
        }
        prop_assert!(out.is_sorted_by_key(|out| out.due_ns));
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), out.len());
    }

    #[test]
    fn nothing_overtakes_unless_asked_and_what_does_is_counted(
        shape in shapes(), offers in offers(), seed: u64,
    ) {
        let mut link = direction(shape, seed);
        let (_, out) = carry(&mut link, &offers);
        let overtook = |at: usize| out[at + 1..].iter().any(|later| later.number < out[at].number);
        let overtakers = (0..out.len()).filter(|at| overtook(*at)).count() as u64;
        prop_assert_eq!(link.tally().overtook_packets, overtakers);
        if shape.reorder.is_none() {
            prop_assert_eq!(overtakers, 0);
        }
    }

    #[test]
    fn no_more_bits_leave_in_any_stretch_than_the_rate_and_the_bucket_allow(
        rate in rates().prop_filter_map("a rate", |rate| rate), offers in offers(),
    ) {
        let shape = LinkShape { rate: Some(rate), ..LinkShape::default() };
        let (_, out) = carry(&mut direction(shape, 0), &offers);
        let bits = |out: &Out| f64::from(offers[usize::try_from(out.number).unwrap()].1) * 8.0;
        for from in 0..out.len() {
            let mut sum = 0.0;
            for to in from + 1..out.len() {
                sum += bits(&out[to]);
                // 1 ns, because both ends are rounded up.
                let seconds = (out[to].due_ns - out[from].due_ns + 1) as f64 / 1e9;
                prop_assert!(sum <= allowed_bits(rate, seconds) * (1.0 + 1e-9), "{sum} bits in {seconds} s");
            }
        }
    }

    #[test]
    fn no_packet_waits_longer_than_a_queue_of_time_lets_it(
        burst_bits_per_second in 10_000_000_u64..1_000_000_000, bucket_bytes in 65_549_u64..200_000,
        limit_ns in 0_u64..10 * MS, offers in offers(),
    ) {
        // The credit is often spent, and then packets wait.
        let rate = LinkRate::Credit {
            burst_bits_per_second,
            bucket_bytes,
            base_bits_per_second: burst_bits_per_second / 10,
        };
        let shape = LinkShape {
            rate: Some(rate),
            queue: QueueLimit::WaitNs(limit_ns),
            ..LinkShape::default()
        };
        let (fates, _) = carry(&mut direction(shape, 0), &offers);
        let mut now_ns = 0;
        for ((pause_ns, bytes), fate) in offers.iter().zip(fates) {
            now_ns += pause_ns;
            let bits = u64::from(*bytes) * 8;
            let on_the_line_ns = (bits * 1_000_000_000).div_ceil(rate.peak_bits_per_second());
            if let Fate::Due(due_ns) = fate {
                // 1 ns for rounding up.
                prop_assert!(due_ns <= now_ns + limit_ns + on_the_line_ns + 1);
            }
        }
    }

    #[test]
    fn the_waiting_packets_never_exceed_the_queue(
        limit in 0_u64..20, offers in offers(),
    ) {
        let shape = LinkShape {
            rate: Some(LinkRate::Steady { bits_per_second: 5_000_000 }),
            queue: QueueLimit::Packets(limit),
            ..LinkShape::default()
        };
        let (fates, _) = carry(&mut direction(shape, 0), &offers);
        let (mut now_ns, mut ends): (u64, Vec<u64>) = (0, Vec::new());
        for ((pause_ns, _), fate) in offers.iter().zip(fates) {
            now_ns += pause_ns;
            ends.retain(|end| *end > now_ns);
            let has_room = (ends.len() as u64) < limit + 1;
            prop_assert_eq!(fate != Fate::Dropped, has_room);
            if let Fate::Due(end_ns) = fate {
                ends.push(end_ns);
            }
        }
    }
}

fn allowed_bits(rate: LinkRate, seconds: f64) -> f64 {
    let peak = rate.peak_bits_per_second() as f64 * seconds;
    match rate {
        LinkRate::Steady { .. } => peak,
        LinkRate::Credit {
            bucket_bytes,
            base_bits_per_second,
            ..
        } => peak.min(bucket_bytes as f64 * 8.0 + base_bits_per_second as f64 * seconds),
    }
}

#[test]
fn the_loss_asked_for_is_drawn_by_independent_chances() {
    let shape = LinkShape {
        loss_share: 0.01,
        ..LinkShape::default()
    };
    for seed in 0..20 {
        let mut link = direction(shape, seed);
        let fates: Vec<bool> = (0..100_000)
            .map(|at| link.handle(at, 100, || 0) == Fate::Lost)
            .collect();
        let lost = fates.iter().filter(|lost| **lost).count();
        let pairs = fates.windows(2).filter(|pair| pair[0] && pair[1]).count();
        // Five standard deviations of the binomial: 1000 ± 157 lost, and 10 ± 16 pairs of them.
        assert!((843..=1157).contains(&lost), "seed {seed}: {lost}");
        assert!(pairs <= 26, "seed {seed}: {pairs} pairs");
    }
}

/// The numbers of the packets that a link with this seed and a loss of 1 % loses.
fn lost(seed: u64, packets: u32) -> Vec<u32> {
    let shape = LinkShape {
        loss_share: 0.01,
        ..LinkShape::default()
    };
    let mut link = direction(shape, seed);
    let is_lost = |at: &u32| link.handle(u64::from(*at), 100, || 0) == Fate::Lost;
    (0..packets).filter(is_lost).collect()
}

#[test]
fn over_seeds_the_losses_are_spread_as_chance_spreads_them() {
    const SEEDS: u32 = 1_000;
    const PACKETS: u32 = 10_000;
    let losses: Vec<Vec<u32>> = (0..SEEDS)
        .map(|seed| lost(u64::from(seed), PACKETS))
        .collect();
    let counts: Vec<f64> = losses.iter().map(|lost| lost.len() as f64).collect();
    let seeds = f64::from(SEEDS);
    let mean = counts.iter().sum::<f64>() / seeds;
    let apart = |count: &f64| count - mean;
    let variance = counts.iter().map(|count| apart(count).powi(2)).sum::<f64>() / (seeds - 1.0);
    // Those of the binomial, 10,000 × 0.01 and 10,000 × 0.01 × 0.99, each within four of its
    // standard deviations over a thousand seeds, √(99 / 1000) and 99 × √(2 / 999).
    assert!((mean - 100.0).abs() < 1.26, "{mean}");
    assert!((variance - 99.0).abs() < 17.7, "{variance}");
    // The counts of consecutive seeds are not correlated: ±4 / √1000.
    let together: f64 = counts
        .windows(2)
        .map(|two| apart(&two[0]) * apart(&two[1]))
        .sum();
    let correlation = together / (variance * (seeds - 1.0));
    assert!(correlation.abs() < 0.126, "{correlation}");
    // Nor do they lose the same packets: by chance, each of 999 pairs has 1 of 10,000 in common.
    let common = |two: &[Vec<u32>]| {
        two[0]
            .iter()
            .filter(|packet| two[1].contains(packet))
            .count()
    };
    let common: usize = losses.windows(2).map(common).sum();
    assert!((873..=1_125).contains(&common), "{common}");
}

#[test]
fn both_directions_of_a_link_draw_chances_of_their_own() {
    let shape = LinkShape {
        loss_share: 0.5,
        ..LinkShape::default()
    };
    let fates = |index| {
        let random = SplitMix64::new(948).stream(index);
        carry(&mut Direction::new(shape, &random), &[(1, 100); 64]).0
    };
    assert_ne!(fates(0), fates(1));
}

#[test]
fn the_same_seed_loses_the_same_packets_and_another_seed_others() {
    let shape = LinkShape {
        loss_share: 0.5,
        ..LinkShape::default()
    };
    let fates = |seed| carry(&mut direction(shape, seed), &[(1, 100); 64]).0;
    assert_eq!(fates(1), fates(1));
    assert_ne!(fates(1), fates(2));
}

#[test]
fn another_loss_leaves_the_early_packets_what_they_were() {
    let reorder = Some(Reorder {
        share: 0.5,
        early_ns: MS,
    });
    let early = |loss_share| {
        let shape = LinkShape {
            delay_ns: MS,
            loss_share,
            reorder,
            ..LinkShape::default()
        };
        let (fates, _) = carry(&mut direction(shape, 3), &[(0, 100); 64]);
        fates.into_iter().map(|fate| match fate {
            Fate::Due(due_ns) => Some(due_ns == 0),
            _ => None,
        })
    };
    for (without, with) in early(0.0).zip(early(0.5)) {
        assert!(with.is_none() || with == without);
    }
}

#[test]
fn a_link_without_a_rate_stops_holding_packets_at_its_memory_and_says_so() {
    let shape = LinkShape {
        delay_ns: MS,
        ..LinkShape::default()
    };
    let mut link = direction(shape, 0);
    let unheld = (0..300_000)
        .find(|_| link.handle(0, 1514, || 0) == Fate::Unheld)
        .unwrap();
    // 288 MiB of packets of 1514 bytes, each of which takes 136 bytes more to hold.
    assert_eq!(unheld, (288 << 20) / (1514 + 136));
    assert!(link.poll(MS).is_some());
    assert_eq!(link.handle(MS, 1514, || 0), Fate::Due(2 * MS));
}

#[test]
fn a_clock_that_went_back_brings_nothing_out_of_order() {
    let mut link = direction(
        LinkShape {
            delay_ns: MS,
            ..LinkShape::default()
        },
        0,
    );
    assert_eq!(link.handle(5 * MS, 100, || 0), Fate::Due(6 * MS));
    assert_eq!(link.handle(4 * MS, 100, || 1), Fate::Due(6 * MS));
}
