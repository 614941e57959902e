//! What is saved or sent is read back the same, and histograms add up, for values that nobody
//! thought of.

mod by_schema;

use std::fmt::Debug;

use by_schema::Shape;
use model::bench::SavedBench;
use model::command_run::{CommandRun, Evidence};
use model::judgement::FactorialJudgement;
use model::run::Blocks;
use model::{Ask, BlockRecord, Histogram, Judgement, RunRecord, Tell};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn read_back<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let line = serde_json::to_string(value).expect("it has an encoding");
    assert!(!line.contains('\n'), "one line each");
    serde_json::from_str(&line).expect("its encoding is understood")
}

/// Checks that values of a type are read as they were written, absent and null parts included.
fn survives<T: JsonSchema + Serialize + DeserializeOwned + PartialEq + Debug>() {
    let shape = Shape::of::<T>();
    for seed in 0..256 {
        let value: T = shape.made(seed);
        assert_eq!(read_back(&value), value);
    }
}

#[test]
fn what_a_study_asks_and_an_agent_tells_is_understood() {
    survives::<Ask>();
    survives::<Tell>();
}

#[test]
fn a_run_is_read_as_it_was_saved() {
    survives::<RunRecord>();
    survives::<CommandRun>();
    survives::<SavedBench>();
    survives::<Evidence>();
}

#[test]
fn a_judgement_is_read_as_it_was_printed() {
    survives::<Judgement>();
    survives::<FactorialJudgement>();
}

proptest! {
    #[test]
    fn blocks_are_read_as_they_were_saved_but_for_a_line_cut_short(
        seeds in proptest::collection::vec(any::<u64>(), 0..5),
        cut in 1_usize..20,
    ) {
        let shape = Shape::of::<BlockRecord>();
        let made = seeds.into_iter().map(|seed| shape.made(seed));
        let mut blocks: Vec<BlockRecord> = made.collect();
        // No two blocks are of the same round.
        for (round, block) in (0..).zip(&mut blocks) {
            block.round = round;
        }
        let lines: Vec<String> = blocks
            .iter()
            .map(|block| serde_json::to_string(block).expect("it has an encoding") + "\n")
            .collect();
        let text = lines.concat();
        let saved = Blocks::parse(&text).expect("blocks");
        prop_assert_eq!((&saved.records, saved.whole_bytes), (&blocks, text.len()));
        if let Some(last) = lines.last() {
            let left = &text.as_bytes()[..text.len() - cut.min(last.len())];
            let saved = Blocks::parse(left).expect("blocks");
            prop_assert_eq!(&saved.records[..], &blocks[..blocks.len() - 1]);
        }
    }
}

/// Durations of every order of magnitude.
fn durations() -> impl Strategy<Value = Vec<u64>> {
    let duration = (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift);
    proptest::collection::vec(duration, 0..200)
}

fn histogram(durations_ns: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    for ns in durations_ns {
        histogram.record(*ns);
    }
    histogram
}

fn merged(one: &Histogram, other: &Histogram) -> Histogram {
    let mut sum = one.clone();
    sum.merge(other);
    sum
}

proptest! {
    #[test]
    fn merging_is_the_same_in_any_order_and_grouping(
        one in durations(), two in durations(), three in durations()
    ) {
        let all = histogram(&[one.clone(), two.clone(), three.clone()].concat());
        let [one, two, three] = [one, two, three].map(|durations| histogram(&durations));
        prop_assert_eq!(&merged(&one, &two), &merged(&two, &one));
        prop_assert_eq!(&merged(&merged(&one, &two), &three), &merged(&one, &merged(&two, &three)));
        prop_assert_eq!(&merged(&merged(&one, &two), &three), &all);
    }

    #[test]
    fn merging_loses_no_count(one in durations(), other in durations()) {
        let sum = merged(&histogram(&one), &histogram(&other));
        let counts: u64 = sum.buckets().map(|(_, count)| count).sum();
        prop_assert_eq!(counts, (one.len() + other.len()) as u64);
        prop_assert_eq!(sum.total(), counts);
    }

    #[test]
    fn a_quantile_is_off_by_less_than_its_bucket_is_wide(
        mut values in durations(), share in 0.0..=1.0_f64
    ) {
        prop_assume!(!values.is_empty());
        let found = histogram(&values).quantile(share).expect("something is counted");
        values.sort_unstable();
        let below = (1..values.len()).take_while(|rank| (*rank as f64) < share * values.len() as f64);
        let exact = values[below.count()].min(Histogram::LONGEST_NS);
        prop_assert!(found >= exact, "{found} for {exact}");
        prop_assert!(found - exact <= exact / 128, "{found} for {exact}");
    }

    #[test]
    fn a_histogram_is_read_as_it_was_saved(values in durations()) {
        let saved = histogram(&values);
        prop_assert_eq!(read_back(&saved), saved);
    }
}
