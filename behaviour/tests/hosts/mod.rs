//! Studies whose client and server have a host each.

mod cut_session;
mod downloads;
mod explain;
mod links;
mod packets;
mod reboot;
mod rigs;
pub(crate) mod site;
mod ssh;
pub(crate) mod streams;
mod upon_one_another;
mod whole_ladder;

use model::run::{BLOCKS_FILE, Blocks, RUN_FILE, Rig};
use model::{BlockRecord, Doubt, RunRecord};

use crate::common::{Folder, studies};

/// Writes the study, with a line that may say its rig.
fn write_study(folder: &Folder, rig: &str, rounds: u32) {
    let text = studies::ladder(rig, rounds);
    std::fs::write(folder.path().join("short.toml"), text).unwrap();
}

fn record(folder: &Folder, run: &str) -> RunRecord {
    serde_json::from_str(&folder.text(&format!("{run}/{RUN_FILE}"))).unwrap()
}

fn blocks(folder: &Folder, run: &str) -> Vec<BlockRecord> {
    let text = folder.text(&format!("{run}/{BLOCKS_FILE}"));
    Blocks::parse(&text).unwrap().records
}

/// Asserts what is true of every run over two hosts of one machine.
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
        // The target is one process with one thread. Reading the ends of a window takes some time.
        let server_ns = reading.cpu.server_ns.unwrap();
        assert!(server_ns <= reading.window_ns * 5 / 4, "{arm}: {reading:?}");
        seen.0 += reading.answered;
        seen.1 += server_ns;
    }
    assert!(seen.0 > 0 && seen.1 > 0, "answers and CPU ns: {seen:?}");
}
