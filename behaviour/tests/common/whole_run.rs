//! A whole run folder, measured once for all tests of a program.

use std::sync::OnceLock;

use crate::common::{Folder, answer, linerate};

/// The files of one whole run, measured once for all tests.
pub(crate) struct Run {
    pub(crate) run: String,
    pub(crate) blocks: String,
}

pub(crate) fn whole_run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let folder = Folder::new("whole-run");
        answer(&mut linerate(
            &folder,
            &["--smoke", "--yes", "--out", "run"],
        ));
        Run {
            run: folder.text("run/run.json"),
            blocks: folder.text("run/blocks.jsonl"),
        }
    })
}

/// A run folder made of these texts.
pub(crate) fn folder_with(name: &str, run: &str, blocks: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::create_dir(folder.path().join("run")).unwrap();
    std::fs::write(folder.path().join("run/run.json"), run).unwrap();
    std::fs::write(folder.path().join("run/blocks.jsonl"), blocks).unwrap();
    folder
}
