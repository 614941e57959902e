//! A comparison of commands for readers: the page on a terminal, and the files of other tools.

pub mod exports;

mod answer;
mod page;

use model::bench::{BENCH_FORMAT, BenchArm, BenchJudgement, BenchRecord, BenchReport};

pub use page::render;
pub(crate) use page::view;

/// Returns the whole report, as `linerate bench --json` prints it.
pub fn report(record: BenchRecord, judgement: BenchJudgement) -> BenchReport {
    BenchReport {
        format: BENCH_FORMAT,
        answer: answer::sentence(&record, &judgement),
        record,
        judgement,
    }
}

/// Truncates to whole ns for [`crate::numbers`], which shows no more than three digits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "no time of ours has 2^64 ns"
)]
fn whole_ns(ns: f64) -> u64 {
    ns as u64
}

/// The longest title within a sentence, in letters; a longer one is cut and followed by its number.
const LONGEST_TITLE: usize = 40;

/// Returns the name of an arm in a sentence.
fn called(record: &BenchRecord, name: &str) -> String {
    let title = arm(record, name).map_or(name, |arm| arm.title.as_str());
    if title.chars().count() <= LONGEST_TITLE {
        return format!("‘{title}’");
    }
    let cut: String = title.chars().take(LONGEST_TITLE).collect();
    format!("‘{}…’ (command {name})", cut.trim_end())
}

fn arm<'a>(record: &'a BenchRecord, name: &str) -> Option<&'a BenchArm> {
    record.arms.iter().find(|arm| arm.name == name)
}
