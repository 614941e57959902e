//! Run folders: `run.json` in the first line, `blocks.jsonl` in the rest. A folder that can be read
//! survives being saved again and can be judged and rendered, whatever its figures are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::explanation::SavedLook;
use model::load_run::{LoadWorkload, SavedLoad};
use model::run::{Blocks, RunKind};
use model::stream_run::SavedStreams;
use model::{BlockRecord, RunRecord};
use report::load::{capacity, sweep};
use report::streams::StreamsSeen;
use serde::Serialize;

fuzz_target!(|text: &str| {
    let (run, blocks) = text.split_once('\n').unwrap_or((text, ""));
    if RunKind::of(run) == RunKind::Streams {
        return streams(run, blocks);
    }
    let Ok(Blocks {
        records: blocks, ..
    }) = Blocks::parse(blocks)
    else {
        return;
    };
    blocks.iter().for_each(fuzz::survives_encoding);
    match RunKind::of(run) {
        RunKind::Load => servers(run, &blocks),
        RunKind::ManyBlocks => load(run, &blocks),
        RunKind::Look => look(run),
        RunKind::Commands | RunKind::Bench | RunKind::Streams => {}
    }
});

fn servers(run: &str, blocks: &[BlockRecord]) {
    let Ok(run) = RunRecord::parse(run) else {
        return;
    };
    fuzz::survives_encoding(&run);
    let judgement = judge::judge(&run, blocks);
    let text = report::text::render(&run, &judgement, 80, false);
    pages(
        &text,
        &report::html::render(&run, blocks, &judgement),
        &judgement,
    );
}

fn load(run: &str, blocks: &[BlockRecord]) {
    let Ok(run) = SavedLoad::parse(run) else {
        return;
    };
    fuzz::survives_encoding(&run);
    match &run.study.workload {
        LoadWorkload::Sweep { range, rounds } => {
            let judged = judge::sweep::judge_sweep(&run, (*range, *rounds), blocks);
            let judged = sweep::remarked(judged, None);
            let text = sweep::render(&judged, 80, false);
            pages(&text, &sweep::page(&run, &judged), &judged);
        }
        LoadWorkload::Capacity { objective } => {
            let Some(found) = judge::capacity::judge_capacity(&run, objective, blocks) else {
                return;
            };
            let found = &capacity::remarked(found, true, None);
            let searched = capacity::Searched {
                run: &run,
                objective,
                offered: blocks,
                found,
            };
            pages(
                &capacity::render(searched, 80, false),
                &capacity::page(searched),
                found,
            );
        }
    }
}

fn look(run: &str) {
    let Ok(run) = SavedLook::parse(run) else {
        return;
    };
    fuzz::survives_encoding(&run);
    let explanation = judge::explain_look(&run.study);
    let text = report::explain::render(&run, &explanation, 80, false);
    pages(
        &text,
        &report::html::render_look(&run, &explanation),
        &explanation,
    );
}

fn streams(run: &str, blocks: &str) {
    let (Ok(run), Ok(blocks)) = (SavedStreams::parse(run), Blocks::parse(blocks)) else {
        return;
    };
    fuzz::survives_encoding(&run);
    let judged = &judge::judge_streams(&run, &blocks.records);
    let seen = StreamsSeen {
        run: &run,
        blocks: &blocks.records,
        judged,
    };
    let text = report::streams::render(seen, 80, false);
    pages(&text, &report::html::render_streams(seen), judged);
}

fn pages(text: &str, page: &str, judgement: &impl Serialize) {
    assert!(!text.is_empty());
    assert!(page.ends_with("</html>"));
    let json = report::json::render(judgement);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
}
