//! Doubts about an exchange of packets that a reader should know before the figures are used.

use judge::capacity::KEPT_UP_SHARE;
use model::rig::RigKind;
use model::{Doubt, PacketDoubt};
use traffic::packets::{Exchanged, PacketPlan, ReceiveWay};

use super::find::sending_ns;

/// The CPUs to which packets that arrive over lo are handed, as a mask: whole groups of hexadecimal
/// digits.
const STEERING: &str = "/sys/class/net/lo/queues/rx-0/rps_cpus";

pub(super) fn doubts(place: RigKind, plan: &PacketPlan, went: &Exchanged) -> Vec<Doubt> {
    let is_shared = plan.sender_cpu == plan.receiver_cpu && place != RigKind::Hosts;
    let shared = is_shared.then_some(Doubt::SharedCpus { cpus: 1 });
    let steered = match place {
        RigKind::Loopback => steered(),
        _ => None,
    };
    let of_packets = [
        short_calls(plan, went),
        lost(went),
        behind(plan, went),
        steered,
    ];
    let of_packets = of_packets.into_iter().flatten().map(Doubt::Packets);
    shared.into_iter().chain(of_packets).collect()
}

fn lost(went: &Exchanged) -> Option<PacketDoubt> {
    let lost_share = went.lost() as f64 / went.sent.packets as f64;
    (lost_share > 0.0).then_some(PacketDoubt::Lost { lost_share })
}

fn behind(plan: &PacketPlan, went: &Exchanged) -> Option<PacketDoubt> {
    let asked_per_second = plan.pace?.rate;
    let sent_per_second = went.sent.packets as f64 / sending_ns(went) as f64 * 1e9;
    let is_behind = sent_per_second < KEPT_UP_SHARE * asked_per_second;
    // The random gaps of few packets may add up to more or less time.
    let asked = asked_per_second * went.window_ns as f64 / 1e9;
    (is_behind && asked > 10_000.0).then_some(PacketDoubt::Behind {
        asked_per_second,
        sent_per_second,
    })
}

fn short_calls(plan: &PacketPlan, went: &Exchanged) -> Option<PacketDoubt> {
    let (ReceiveWay::Batch(call), None) = (plan.receive, plan.pace) else {
        return None;
    };
    let (sent_at_once, call) = (went.sent_at_once, u64::from(call));
    (sent_at_once % call != 0).then_some(PacketDoubt::ShortCalls { sent_at_once, call })
}

fn steered() -> Option<PacketDoubt> {
    let mask = std::fs::read_to_string(STEERING).ok()?;
    let cpus = mask.trim();
    let is_some = cpus.contains(|digit| digit != '0' && digit != ',');
    is_some.then(|| PacketDoubt::Steered {
        cpus: cpus.to_owned(),
    })
}
