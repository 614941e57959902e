//! What a study asks and an agent tells.

use model::lever::{Binds, LeverState};
use std::net::{IpAddr, SocketAddr};

use model::failure::Failure;
use model::message::{BlockAsk, ClockTell, Loaded, Reach, Speaks};
use model::reading::Counts;
use model::reboot::BootTell;
use model::{Ask, Tell};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::saved::{boot, boot_change};
use super::services::{found, service};
use super::values::{
    doubts, facts, lever, levers, machine, number, pace, program, reading, rig, text, watched,
    workload,
};

/// Every kind of ask.
pub(crate) fn ask() -> impl Strategy<Value = Ask> {
    let start = (
        text(),
        program(),
        levers(),
        workload(),
        option::of(any::<IpAddr>()),
    )
        .prop_map(|(target, program, levers, workload, listen)| Ask::Start {
            target,
            program,
            levers,
            workload,
            listen,
        });
    let block = || {
        (text(), workload(), pace(), any::<[u32; 2]>()).prop_map(
            |(target, workload, pace, [settle_ms, score_ms])| {
                Box::new(BlockAsk {
                    target,
                    workload,
                    pace,
                    settle_ms,
                    score_ms,
                })
            },
        )
    };
    let counted = (text(), any::<[u64; 2]>()).prop_map(|(target, [from_ns, to_ns])| Ask::Counted {
        target,
        from_ns,
        to_ns,
    });
    prop_oneof![
        any::<u32>().prop_map(|protocol| Ask::Hello { protocol }),
        any::<bool>().prop_map(|full| Ask::Facts { full }),
        (levers(), levers(), any::<bool>(), any::<bool>()).prop_map(
            |(wanted, first, on_host, in_place)| Ask::Levers {
                wanted,
                first,
                leave: model::lever::Leave { on_host, in_place },
            }
        ),
        service().prop_map(|service| Ask::Find {
            service: Box::new(service)
        }),
        any::<u32>().prop_map(|watch_ms| Ask::Watch { watch_ms }),
        start,
        block().prop_map(Ask::Block),
        block().prop_map(Ask::Load),
        (text(), reach()).prop_map(|(target, reach)| Ask::Meet { target, reach }),
        (text(), any::<u32>()).prop_map(|(target, interval_ms)| Ask::Count {
            target,
            interval_ms
        }),
        counted,
        Just(Ask::Clock),
        lever().prop_map(|wanted| Ask::Boot { wanted }),
        text().prop_map(|target| Ask::Stop { target }),
    ]
}

fn reach() -> impl Strategy<Value = Reach> {
    let echo = any::<[u32; 2]>().prop_map(|[request_bytes, answer_bytes]| Speaks::Echo {
        request_bytes: request_bytes as usize,
        answer_bytes: answer_bytes as usize,
    });
    let http = text().prop_map(|path| Speaks::Http { path });
    // The scope and the flow of an IPv6 address are no part of its text.
    let address = any::<(IpAddr, u16)>().prop_map(SocketAddr::from);
    (address, prop_oneof![http, echo]).prop_map(|(address, speaks)| Reach { address, speaks })
}

fn loaded() -> impl Strategy<Value = Loaded> {
    (any::<[u64; 2]>(), reading()).prop_map(|([opened_ns, closed_ns], reading)| Loaded {
        opened_ns,
        closed_ns,
        reading,
    })
}

fn counts() -> impl Strategy<Value = Counts> {
    (
        any::<[u64; 2]>(),
        any::<Option<u64>>(),
        machine(),
        option::of(number()),
    )
        .prop_map(
            |([window_ns, ksoftirqd_ns], server_ns, machine, psi_some_share)| Counts {
                window_ns,
                server_ns,
                ksoftirqd_ns,
                machine,
                psi_some_share,
            },
        )
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
    let state = (lever(), binds, option::of(text()), any::<[bool; 2]>()).prop_map(
        |(setting, binds, unavailable, [is_so, only_serve])| LeverState {
            setting,
            binds,
            unavailable,
            is_so,
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
        (boot(), boot_change())
            .prop_map(|(boot, change)| Tell::Boot(Box::new(BootTell { boot, change }))),
        watched().prop_map(Tell::Watched),
        found().prop_map(Tell::Found),
        (text(), doubts(), option::of(reach())).prop_map(|(target, doubts, reach)| {
            Tell::Started {
                target,
                doubts,
                reach,
                answer: None,
            }
        }),
        reading().prop_map(|reading| Tell::Reading(Box::new(reading))),
        text().prop_map(|target| Tell::Met { target }),
        loaded().prop_map(|loaded| Tell::Loaded(Box::new(loaded))),
        text().prop_map(|target| Tell::Counting { target }),
        (counts(), doubts()).prop_map(|(counts, doubts)| Tell::Counts { counts, doubts }),
        text().prop_map(|target| Tell::Uncounted { target }),
        (any::<u64>(), text()).prop_map(|(monotonic_ns, boot_id)| {
            Tell::Clock(ClockTell {
                monotonic_ns,
                boot_id,
            })
        }),
        text().prop_map(|target| Tell::Stopped { target }),
        (text(), text()).prop_map(|(what, advice)| Tell::Failed(Failure { what, advice })),
    ]
}
