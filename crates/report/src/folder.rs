//! Reads a run folder. The only file of this crate that does I/O.

use std::fmt::Display;
use std::io;
use std::path::Path;

use model::bench::{BenchBlock, SavedBench};
use model::command_run::{CommandBlock, CommandRun, EVIDENCE_FILE, Evidence};
use model::explanation::SavedLook;
use model::link::LinkRecord;
use model::load_run::SavedLoad;
use model::run::{
    BLOCKS_FILE, BadRun, Blocks, LINK_FILE, MOST_BLOCKS_BYTES, MOST_EVIDENCE_BYTES, MOST_RUN_BYTES,
    RUN_FILE, RunKind,
};
use model::stream_run::{SavedStreams, StreamBlock};
use model::{BlockRecord, Doubt, RunRecord, Saved};

/// Why a folder could not be read as a run: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(String);

impl ReadError {
    fn of(path: &Path, what: impl Display) -> Self {
        Self(format!("{}{what}", path.display()))
    }
}

/// Reads a run and its blocks. A last block that was cut short by a crash is left out.
///
/// # Errors
/// If a file is missing, cannot be read, or has another format. The error says what to do.
pub fn read(folder: &Path) -> Result<(RunRecord, Vec<BlockRecord>), ReadError> {
    let mut run: RunRecord = read_run(folder)?;
    run.doubts.extend(read_link_doubts(folder)?);
    Ok((run, read_blocks(folder)?))
}

/// Reads the doubts about the link of a run. There are none if the run has no link, or was killed
/// before it could record them.
fn read_link_doubts(folder: &Path) -> Result<Vec<Doubt>, ReadError> {
    let path = folder.join(LINK_FILE);
    let Some(text) = read_if_there(&path, MOST_RUN_BYTES)? else {
        return Ok(Vec::new());
    };
    // A last line that was cut short by a crash has no end.
    let lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let records = lines.enumerate().map(|(index, line)| {
        LinkRecord::from_json(line.as_bytes()).map_err(|reason| {
            let line = index + 1;
            let what = format!(":{line} is not a valid link record: {reason}; without that file the rest is still judged");
            ReadError::of(&path, what)
        })
    });
    let records: Vec<LinkRecord> = records.collect::<Result<_, _>>()?;
    Ok(records
        .into_iter()
        .flat_map(|record| record.doubts)
        .collect())
}

/// Reads a run of commands, its blocks, and the evidence gathered at its end; until then there is
/// none.
///
/// # Errors
/// As for [`read`].
pub fn read_commands(
    folder: &Path,
) -> Result<(CommandRun, Vec<CommandBlock>, Evidence), ReadError> {
    let (run, blocks) = (read_run(folder)?, read_blocks(folder)?);
    Ok((run, blocks, read_evidence(folder)?))
}

/// Reads a comparison of commands and its runs.
///
/// # Errors
/// As for [`read`].
pub fn read_bench(folder: &Path) -> Result<(SavedBench, Vec<BenchBlock>), ReadError> {
    Ok((read_run(folder)?, read_blocks(folder)?))
}

/// Reads a load of many blocks.
///
/// # Errors
/// As for [`read`].
pub fn read_load(folder: &Path) -> Result<(SavedLoad, Vec<BlockRecord>), ReadError> {
    Ok((read_run(folder)?, read_blocks(folder)?))
}

/// Reads a look at a program.
///
/// # Errors
/// As for [`read`].
pub fn read_look(folder: &Path) -> Result<SavedLook, ReadError> {
    read_run(folder)
}

/// Reads a test of streams and its intervals.
///
/// # Errors
/// As for [`read`].
pub fn read_streams(folder: &Path) -> Result<(SavedStreams, Vec<StreamBlock>), ReadError> {
    Ok((read_run(folder)?, read_blocks(folder)?))
}

/// Returns what kind of run a folder holds.
///
/// # Errors
/// If there is no `run.json` that can be read.
pub fn kind(folder: &Path) -> Result<RunKind, ReadError> {
    Ok(RunKind::of(&read_description(folder)?))
}

fn read_description(folder: &Path) -> Result<String, ReadError> {
    let text = read_if_there(&folder.join(RUN_FILE), MOST_RUN_BYTES)?;
    text.ok_or_else(|| {
        let what = format!(
            " is no run folder: it has no {RUN_FILE}; give the folder that a run printed at its end"
        );
        ReadError::of(folder, what)
    })
}

fn read_run<S, A>(folder: &Path) -> Result<RunRecord<S, A>, ReadError>
where
    RunRecord<S, A>: Saved,
{
    let text = read_description(folder)?;
    RunRecord::parse(&text).map_err(|reason| {
        let place = match &reason {
            BadRun::Broken(error) => place(error),
            _ => String::new(),
        };
        ReadError::of(&folder.join(RUN_FILE), format!("{place}: {reason}"))
    })
}

fn read_blocks<R>(folder: &Path) -> Result<Vec<BlockRecord<R>>, ReadError>
where
    BlockRecord<R>: Saved,
{
    let path = folder.join(BLOCKS_FILE);
    // Read as bytes, because a write may have been cut short within a character.
    let bytes = if_there(&path, foreign::file::read(&path, MOST_BLOCKS_BYTES))?;
    let bytes = bytes.ok_or_else(|| {
        let what = " is missing; copy the whole run folder, or continue the run with `resume`";
        ReadError::of(&path, what)
    })?;
    let blocks = Blocks::parse(&bytes).map_err(|bad| {
        let what = format!(
            ":{} is not a valid block: {}; keep the lines before it and delete the rest, and `linerate study resume` \
             measures those again",
            bad.line, bad.reason
        );
        ReadError::of(&path, what)
    })?;
    Ok(blocks.records)
}

fn read_evidence(folder: &Path) -> Result<Evidence, ReadError> {
    let path = folder.join(EVIDENCE_FILE);
    let Some(text) = read_if_there(&path, MOST_EVIDENCE_BYTES)? else {
        return Ok(Evidence::default());
    };
    Evidence::from_json(text.as_bytes()).map_err(|error| {
        let place = place(&error);
        let what = format!(
            "{place} is not valid evidence: {error}; without that file the rest is still judged"
        );
        ReadError::of(&path, what)
    })
}

/// Formats the position of an error as `:line:column`.
fn place(error: &serde_json::Error) -> String {
    format!(":{}:{}", error.line(), error.column())
}

/// Reads a file if it exists. Others may have put it there, so only regular files of at most
/// `most_bytes` are read.
fn read_if_there(path: &Path, most_bytes: u64) -> Result<Option<String>, ReadError> {
    if_there(path, foreign::file::read_text(path, most_bytes))
}

fn if_there<T>(path: &Path, read: io::Result<T>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => {
                let what = format!(
                    " cannot be read: {error}; check what kind of file it is, and its permissions"
                );
                Err(ReadError::of(path, what))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::sample;
    use model::Reading;
    use model::run::Phase;

    /// A folder of its own for each test; what an earlier run left there is overwritten.
    fn folder(name: &str, run: &str, blocks: Option<&str>) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("linerate-report-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(RUN_FILE), run).unwrap();
        if let Some(blocks) = blocks {
            std::fs::write(path.join(BLOCKS_FILE), blocks).unwrap();
        }
        path
    }

    fn block_line(round: u32) -> String {
        let block = BlockRecord {
            phase: Phase::Throughput,
            epoch: 0,
            round,
            position: 0,
            arm: "baseline".to_owned(),
            at_ms: 0,
            reading: Reading::default(),
        };
        serde_json::to_string(&block).unwrap() + "\n"
    }

    fn read_once(
        name: &str,
        run: &str,
        blocks: Option<&str>,
    ) -> Result<(RunRecord, Vec<BlockRecord>), ReadError> {
        let path = folder(name, run, blocks);
        let result = read(&path);
        std::fs::remove_dir_all(path).unwrap();
        result
    }

    fn run_text() -> String {
        serde_json::to_string(&sample::run()).unwrap()
    }

    #[test]
    fn a_run_that_was_cut_short_in_its_last_block_is_read_without_it() {
        let blocks = block_line(0) + &block_line(1)[..30];
        let (run, blocks) = read_once("cut", &run_text(), Some(&blocks)).unwrap();
        assert_eq!((run, blocks.len()), (sample::run(), 1));
    }

    #[test]
    fn a_last_block_that_was_cut_within_a_character_costs_no_other() {
        let path = folder("character", &run_text(), None);
        let bytes = [block_line(0).as_bytes(), b"{\"arm\":\"\xe2\x82"].concat();
        std::fs::write(path.join(BLOCKS_FILE), bytes).unwrap();
        let (_, blocks) = read(&path).unwrap();
        std::fs::remove_dir_all(path).unwrap();
        assert_eq!(blocks.len(), 1);
    }

    #[test]
    fn other_formats_are_refused_by_name_even_when_nothing_else_can_be_read() {
        let newer = read_once("newer", r#"{"format": 2, "riddle": true}"#, None).unwrap_err();
        assert!(
            newer.to_string().contains("written by a newer Linerate"),
            "{newer}"
        );
        let older = read_once("older", r#"{"format": 0}"#, None).unwrap_err();
        assert!(
            older.to_string().contains("written by an older Linerate"),
            "{older}"
        );
    }

    #[test]
    fn a_broken_file_is_named_with_its_line() {
        let error = read_once("broken", "{\"format\": 1,\n \"seed\": }", None).unwrap_err();
        assert!(error.to_string().contains("run.json:2:"), "{error}");
        let blocks = block_line(0) + "{}\n";
        let error = read_once("bad-block", &run_text(), Some(&blocks)).unwrap_err();
        assert!(error.to_string().contains("blocks.jsonl:2"), "{error}");
    }

    #[test]
    fn a_block_of_more_rounds_than_can_be_judged_is_named_with_its_line() {
        let blocks = [0, 1_999, 2_000].map(block_line).concat();
        let error = read_once("rounds", &run_text(), Some(&blocks)).unwrap_err();
        assert!(error.to_string().contains("blocks.jsonl:3"), "{error}");
        assert!(error.to_string().contains("2000 at most"), "{error}");
    }

    #[test]
    fn a_folder_that_is_none_and_one_without_blocks_say_what_to_give() {
        let error = read(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.to_string().contains("is no run folder"), "{error}");
        let error = read_once("no-blocks", &run_text(), None).unwrap_err();
        assert!(
            error.to_string().contains("blocks.jsonl is missing"),
            "{error}"
        );
    }
}
