//! The result of a load of many blocks, in all its forms.

use std::process::ExitCode;

use judge::capacity::{Look, OFFERED};
use model::BlockRecord;
use model::load_run::{LoadWorkload, SavedLoad};
use report::load::{capacity, sweep};

use crate::console::Console;
use crate::shown::Shown;
use crate::{shape, stopping};

/// Judges a load of many blocks; returns `None` before its first block.
pub(crate) fn judged(run: &SavedLoad, blocks: &[BlockRecord], console: &Console) -> Option<Shown> {
    let by = sys::stop::heard().map(stopping::name);
    let (width, colour) = (console.width(), console.colour());
    let (page, text, json, fails) = match &run.study.workload {
        LoadWorkload::Sweep { range, rounds } => {
            let judged = judge::sweep::judge_sweep(run, (*range, *rounds), blocks);
            let judged = sweep::remarked(judged, by);
            let answered = judged.blocks.iter().any(|block| block.throughput_rps > 0.0);
            (
                sweep::page(run, &judged),
                sweep::render(&judged, width, colour),
                shape::lines(&judged),
                !answered,
            )
        }
        LoadWorkload::Capacity { objective } => {
            let found = judge::capacity::judge_capacity(run, objective, blocks)?;
            let binds = Look::of(blocks).is_some_and(|look| look.connections_bind());
            let found = capacity::remarked(found, binds, by);
            let is_offered = |block: &BlockRecord| block.arm == OFFERED;
            let searched = capacity::Searched {
                run,
                objective,
                offered: &blocks
                    .iter()
                    .filter(|block| is_offered(block))
                    .cloned()
                    .collect::<Vec<_>>(),
                found: &found,
            };
            (
                capacity::page(searched),
                capacity::render(searched, width, colour),
                shape::lines(&found),
                capacity::fails_at_the_lowest(&found),
            )
        }
    };
    Some(Shown {
        page,
        text,
        json,
        command: run.command.clone(),
        is_empty: blocks.is_empty(),
        code: ExitCode::from(u8::from(fails)),
        ..Shown::default()
    })
}
