//! What about exchanged datagrams a reader should know before the figures are used.

use model::{DatagramDoubt, Doubt};
use traffic::datagrams::{DatagramPlan, Exchanged, ReceiveWay};

/// To which CPUs what comes by lo is handed, as a mask: whole groups of hexadecimal digits.
const STEERING: &str = "/sys/class/net/lo/queues/rx-0/rps_cpus";

pub(super) fn doubts(plan: &DatagramPlan, went: &Exchanged) -> Vec<Doubt> {
    let is_shared = plan.sender_cpu == plan.receiver_cpu;
    let shared = is_shared.then_some(Doubt::SharedCpus { cpus: 1 });
    let of_datagrams = [short_calls(plan, went), lost(went), steered()];
    let of_datagrams = of_datagrams.into_iter().flatten().map(Doubt::Datagrams);
    shared.into_iter().chain(of_datagrams).collect()
}

fn lost(went: &Exchanged) -> Option<DatagramDoubt> {
    let lost_share = went.lost() as f64 / went.sent.datagrams as f64;
    (lost_share > 0.0).then_some(DatagramDoubt::Lost { lost_share })
}

fn short_calls(plan: &DatagramPlan, went: &Exchanged) -> Option<DatagramDoubt> {
    let ReceiveWay::Batch(call) = plan.receive else {
        return None;
    };
    let (sent_at_once, call) = (went.sent_at_once, u64::from(call));
    (sent_at_once % call != 0).then_some(DatagramDoubt::ShortCalls { sent_at_once, call })
}

fn steered() -> Option<DatagramDoubt> {
    let mask = std::fs::read_to_string(STEERING).ok()?;
    let cpus = mask.trim();
    let is_some = cpus.contains(|digit| digit != '0' && digit != ',');
    is_some.then(|| DatagramDoubt::Steered {
        cpus: cpus.to_owned(),
    })
}
