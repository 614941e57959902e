//! A comparison of commands for readers: the page of a terminal, and the files of other tools.

pub mod exports;

mod answer;
mod page;

use model::bench::{BENCH_FORMAT, BenchArm, BenchJudgement, BenchRecord, BenchReport};

pub use page::render;
pub(crate) use page::view;

/// The whole of it, as `linerate bench --json` prints it.
pub fn report(record: BenchRecord, judgement: BenchJudgement) -> BenchReport {
    BenchReport {
        format: BENCH_FORMAT,
        answer: answer::sentence(&record, &judgement),
        record,
        judgement,
    }
}

/// Whole ns for [`crate::numbers`]; more than three digits of it are not shown.
#[expect(
    clippy::cast_possible_truncation,
    reason = "no time of ours has 2^64 ns"
)]
fn whole_ns(ns: f64) -> u64 {
    ns as u64
}

/// The longest title that is read within a sentence; a longer one is cut and has its number.
const LONGEST_TITLE: usize = 40;

/// What a sentence calls an arm.
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
