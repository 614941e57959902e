//! Study files: a right one keeps to its ranges and survives being saved; the error of a wrong one
//! names a place that is in the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::study::StudyFile;

fuzz_target!(|text: &str| {
    match study::spec::parse(text, "study.toml") {
        Ok(StudyFile::Load(study)) => {
            assert!((1..=1000).contains(&study.design.rounds));
            assert!(study.workload.threads <= study.workload.connections);
            fuzz::survives_encoding(&study);
        }
        Ok(StudyFile::Commands(study)) => {
            assert!((1..=1000).contains(&study.design.rounds));
            assert!(!study.workload.run.is_empty() && !study.metrics.is_empty());
            fuzz::survives_encoding(&study);
        }
        Err(error) => {
            let line = text
                .split('\n')
                .nth(error.line - 1)
                .expect("the line is there");
            assert!(error.column <= line.chars().count() + 1, "{error}");
            assert!(!error.what.is_empty());
        }
    }
});
