//! What a load of many blocks came to, in all its forms.

use std::process::ExitCode;

use judge::capacity::{Look, OFFERED};
use model::BlockRecord;
use model::load_run::{LoadWorkload, SavedLoad};
use report::load::{capacity, sweep};

use crate::console::Console;
use crate::{shape, stopping};

/// A judged load in all its forms.
pub(crate) struct Judged {
    pub(crate) page: String,
    pub(crate) text: String,
    pub(crate) json: String,
    pub(crate) code: ExitCode,
}

/// What a load of many blocks came to; `None` before its first.
pub(crate) fn judged(run: &SavedLoad, blocks: &[BlockRecord], console: &Console) -> Option<Judged> {
    let by = sys::stop::heard().map(stopping::name);
    let (width, colour) = (console.width(), console.colour());
    match &run.study.workload {
        LoadWorkload::Sweep { range, rounds } => {
            let judged = judge::sweep::judge_sweep(run, (*range, *rounds), blocks);
            let judged = sweep::remarked(judged, by);
            let answered = judged.blocks.iter().any(|block| block.throughput_rps > 0.0);
            Some(Judged {
                page: sweep::page(run, &judged),
                text: sweep::render(&judged, width, colour),
                json: shape::lines(&judged),
                code: ExitCode::from(u8::from(!answered)),
            })
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
            let fails = capacity::fails_at_the_lowest(&found);
            Some(Judged {
                page: capacity::page(searched),
                text: capacity::render(searched, width, colour),
                json: shape::lines(&found),
                code: ExitCode::from(u8::from(fails)),
            })
        }
    }
}
