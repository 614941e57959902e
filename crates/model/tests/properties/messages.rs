//! What a study asks and an agent tells.

use model::lever::{Binds, LeverState};
use model::message::{BlockAsk, Failure};
use model::{Ask, Tell};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::services::{found, service};
use super::values::{doubts, facts, levers, pace, program, reading, rig, text, watched, workload};

/// Every kind of ask.
pub(crate) fn ask() -> impl Strategy<Value = Ask> {
    let start = (text(), program(), levers(), workload()).prop_map(
        |(target, program, levers, workload)| Ask::Start {
            target,
            program,
            levers,
            workload,
        },
    );
    let block = (text(), workload(), pace(), any::<[u32; 2]>()).prop_map(
        |(target, workload, pace, [settle_ms, score_ms])| {
            Ask::Block(Box::new(BlockAsk {
                target,
                workload,
                pace,
                settle_ms,
                score_ms,
            }))
        },
    );
    prop_oneof![
        any::<u32>().prop_map(|protocol| Ask::Hello { protocol }),
        any::<bool>().prop_map(|full| Ask::Facts { full }),
        Just(Ask::Levers),
        service().prop_map(|service| Ask::Find {
            service: Box::new(service)
        }),
        any::<u32>().prop_map(|watch_ms| Ask::Watch { watch_ms }),
        start,
        block,
        text().prop_map(|target| Ask::Stop { target }),
    ]
}

/// Every kind of tell.
pub(crate) fn tell() -> impl Strategy<Value = Tell> {
    let binds = select(vec![
        Binds::Live,
        Binds::Connect,
        Binds::Listen,
        Binds::Fork,
        Binds::Boot,
    ]);
    let state = (text(), binds, option::of(text()), any::<bool>()).prop_map(
        |(name, binds, unavailable, only_serve)| LeverState {
            name,
            binds,
            unavailable,
            only_serve,
        },
    );
    let hello =
        (any::<u32>(), text(), rig()).prop_map(|(protocol, linerate_version, rig)| Tell::Hello {
            protocol,
            linerate_version,
            rig,
        });
    prop_oneof![
        hello,
        facts().prop_map(|facts| Tell::Facts(Box::new(facts))),
        vec(state, 0..3).prop_map(|levers| Tell::Levers { levers }),
        watched().prop_map(Tell::Watched),
        found().prop_map(Tell::Found),
        (text(), doubts()).prop_map(|(target, doubts)| Tell::Started { target, doubts }),
        reading().prop_map(|reading| Tell::Reading(Box::new(reading))),
        text().prop_map(|target| Tell::Stopped { target }),
        (text(), text()).prop_map(|(what, advice)| Tell::Failed(Failure { what, advice })),
    ]
}
