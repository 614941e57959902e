//! Run folders: `run.json` in the first line, `blocks.jsonl` in the rest. One that can be read
//! survives being saved again and can be judged and rendered, whatever its figures are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::RunRecord;
use model::run::Blocks;

fuzz_target!(|text: &str| {
    let (run, blocks) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(run) = RunRecord::parse(run) else {
        return;
    };
    let Ok(Blocks {
        records: blocks, ..
    }) = Blocks::parse(blocks)
    else {
        return;
    };
    fuzz::survives_encoding(&run);
    blocks.iter().for_each(fuzz::survives_encoding);
    let judgement = judge::judge(&run, &blocks);
    assert!(!report::text::render(&run, &judgement, 80, false).is_empty());
    assert!(report::html::render(&run, &blocks, &judgement).ends_with("</html>"));
    let json = report::json::render(&judgement);
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
});
