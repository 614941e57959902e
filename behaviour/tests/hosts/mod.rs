//! Studies whose client and server have a host each.

mod cut_session;
mod links;
mod reboot;
mod rigs;
mod site;
mod ssh;
mod upon_one_another;
mod whole_ladder;

use model::run::{BLOCKS_FILE, Blocks, RUN_FILE, Rig};
use model::{BlockRecord, Doubt, RunRecord};

use crate::common::Folder;

/// A question that is soon answered: two identical arms and one step.
const STUDY: &str = r#"
format = 1
name = "short"
title = "A short study"
question = "Is one send better than two?"
method = "Few and short blocks."
RIG

[design]
kind = "ladder"
rounds = ROUNDS
settle_ms = 20
score_ms = 60
smallest_effect = 0.5

[workload]
path = "/json"
connections = 8

[baseline]
title = "two sends"
levers = ["split-send"]

[[step]]
name = "one"
title = "one send"
take_away = ["split-send"]
"#;

/// Writes the study, with a line that may say its rig.
fn write_study(folder: &Folder, rig: &str, rounds: u32) {
    let text = STUDY
        .replace("RIG", rig)
        .replace("ROUNDS", &rounds.to_string());
    std::fs::write(folder.path().join("short.toml"), text).unwrap();
}

fn record(folder: &Folder, run: &str) -> RunRecord {
    serde_json::from_str(&folder.text(&format!("{run}/{RUN_FILE}"))).unwrap()
}

fn blocks(folder: &Folder, run: &str) -> Vec<BlockRecord> {
    let text = folder.text(&format!("{run}/{BLOCKS_FILE}"));
    Blocks::parse(&text).unwrap().records
}

/// What is true of every run over two hosts of one machine.
fn assert_two_hosts(folder: &Folder, run: &str, rig: &Rig) {
    let record = record(folder, run);
    assert_eq!(record.rig, *rig);
    let client = record.client.unwrap();
    assert!(client.same_machine);
    // One kernel has one clock, so the truth is known here.
    let off_ns = client.clocks.offset_ns.unsigned_abs();
    assert!(off_ns <= client.clocks.uncertainty_ns, "{client:?}");
    let skipped = |doubt: &&Doubt| matches!(doubt, Doubt::LeverSkipped { .. });
    assert_eq!(record.doubts.iter().find(skipped), None);
    let blocks = blocks(folder, run);
    assert!(!blocks.is_empty());
    let mut seen = (0, 0);
    for block in blocks {
        let (reading, arm) = (block.reading, block.arm);
        let server_window_ns = reading.cpu.server_window_ns.unwrap();
        assert!(server_window_ns <= reading.window_ns, "{arm}: {reading:?}");
        // Its target is one process with one thread; the ends of a window are not read in no time.
        let server_ns = reading.cpu.server_ns.unwrap();
        assert!(server_ns <= reading.window_ns * 5 / 4, "{arm}: {reading:?}");
        seen.0 += reading.answered;
        seen.1 += server_ns;
    }
    assert!(seen.0 > 0 && seen.1 > 0, "answers and CPU ns: {seen:?}");
}
