//! Services, as they are described, found and saved.

use model::Service;
use model::service::{Find, FoundService, Logs, Ready, ServiceRecord, Start, Stop, StopSignal};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::values::text;

fn words() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn find() -> impl Strategy<Value = Find> {
    let install = btree_map(text(), text(), 0..3);
    (words(), words(), text(), install, text()).prop_map(
        |(programs, version_arguments, version_pattern, install, home)| Find {
            programs,
            version_arguments,
            version_pattern,
            install,
            home,
        },
    )
}

fn stop() -> impl Strategy<Value = Stop> {
    let signal = select(vec![
        StopSignal::Terminate,
        StopSignal::Interrupt,
        StopSignal::Quit,
    ]);
    (signal, any::<u32>()).prop_map(|(signal, grace_ms)| Stop { signal, grace_ms })
}

pub(crate) fn service() -> impl Strategy<Value = Service> {
    let texts = || btree_map(text(), text(), 0..3);
    let ready = (text(), any::<u32>()).prop_map(|(path, within_ms)| Ready { path, within_ms });
    let logs = (words(), any::<u64>()).prop_map(|(files, limit_bytes)| Logs { files, limit_bytes });
    let start = words().prop_map(|arguments| Start { arguments });
    let names = (any::<u32>(), text(), text());
    (names, find(), texts(), start, ready, texts(), stop(), logs).prop_map(
        |((format, name, title), find, files, start, ready, serves, stop, logs)| Service {
            format,
            name,
            title,
            find,
            files,
            start,
            ready,
            serves,
            stop,
            logs,
        },
    )
}

pub(crate) fn found() -> impl Strategy<Value = FoundService> {
    (text(), text()).prop_map(|(program, version)| FoundService { program, version })
}

pub(crate) fn service_record() -> impl Strategy<Value = ServiceRecord> {
    (service(), text(), text()).prop_map(|(description, sha256, version)| ServiceRecord {
        description,
        sha256,
        version,
    })
}
