//! Services, as they are described, found and saved.

use model::Service;
use model::service::{
    Exchange, Find, FoundService, Logs, Prepare, Protocol, Readiness, Ready, ServiceRecord, Start,
    Stop, StopSignal,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::values::text;

fn words() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn find() -> impl Strategy<Value = Find> {
    let install = btree_map(text(), text(), 0..3);
    let names = (words(), words());
    (names, words(), text(), install, text()).prop_map(
        |((programs, places), version_arguments, version_pattern, install, home)| Find {
            programs,
            places,
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

fn protocol() -> impl Strategy<Value = Protocol> {
    select(vec![
        Protocol::Http,
        Protocol::Redis,
        Protocol::Memcached,
        Protocol::Postgresql,
        Protocol::Mysql,
    ])
}

fn prepare() -> impl Strategy<Value = Prepare> {
    (words(), any::<u32>()).prop_map(|(command, within_ms)| Prepare { command, within_ms })
}

fn ready() -> impl Strategy<Value = Ready> {
    let exchange = (text(), text()).prop_map(|(send, expect)| Exchange { send, expect });
    let when = prop_oneof![
        text().prop_map(Readiness::Http),
        exchange.prop_map(Readiness::Exchange),
        text().prop_map(Readiness::Line),
        words().prop_map(Readiness::Command),
    ];
    (when, any::<u32>()).prop_map(|(when, within_ms)| Ready { when, within_ms })
}

type Doors = (Option<String>, Option<String>);

fn start() -> impl Strategy<Value = (Vec<Prepare>, Start, Doors, Ready)> {
    let start = (option::of(text()), words(), option::of(words()), words()).prop_map(
        |(program, arguments, on_socket, on_address)| Start {
            program,
            arguments,
            on_socket,
            on_address,
        },
    );
    let doors = (option::of(text()), option::of(text()));
    (vec(prepare(), 0..3), start, doors, ready())
}

pub(crate) fn service() -> impl Strategy<Value = Service> {
    let texts = || btree_map(text(), text(), 0..3);
    let logs = (words(), any::<u64>()).prop_map(|(files, limit_bytes)| Logs { files, limit_bytes });
    let names = (any::<u32>(), text(), text(), protocol());
    let tables = (texts(), texts(), texts());
    (names, find(), tables, start(), stop(), logs).prop_map(
        |((format, name, title, protocol), find, tables, begin, stop, logs)| {
            let (environment, files, serves) = tables;
            let (prepare, start, (socket, connect), ready) = begin;
            Service {
                format,
                name,
                title,
                protocol,
                find,
                environment,
                files,
                prepare,
                start,
                socket,
                connect,
                ready,
                serves,
                stop,
                logs,
            }
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
