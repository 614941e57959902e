//! Raw frames between the hosts of a rig: one process of ours opens a packet socket on each host
//! and is both ends. UDP between machines takes two processes, [`FarEnds`].

pub(crate) mod apart;

use std::io::{self, Write};
use std::path::Path;

pub use apart::FarEnds;
use machine::rig::{Lab, is_inside};
use model::failure::Failure;
use serde::{Deserialize, Serialize};
use sys::namespace::NetworkNamespace;
use sys::stop::StopSignal;
use traffic::packets::{Exchanged, PacketPlan, exchange_raw, raw_inlet, raw_outlet};

use crate::role::{Role, RoleProcess, Said, here, say};

/// The devices of the rig `netns`, as its layout names them: the client's, which leads to the
/// server, and the server's.
const DEVICES: [&str; 2] = ["lr-server", "lr-client"];

/// The order to such a process, which starts on the host that sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FramesOrder {
    plan: PacketPlan,
    /// The process that holds the host that receives, and its descriptor for that.
    receiver: (u32, i32),
}

/// Sends raw frames from the client of a rig to its server until we are asked to stop; `program` is Linerate.
///
/// # Errors
/// Says what could not be done, and where.
pub fn exchange_between(
    program: &Path,
    lab: &Lab,
    plan: &PacketPlan,
    stop: &StopSignal,
) -> Result<Exchanged, Failure> {
    let [client, .., server] = lab.hosts() else {
        return Err(Failure {
            what: "this rig has no two hosts".to_owned(),
            advice: "raw frames need the rig `netns`".to_owned(),
        });
    };
    let role = Role::Frames(FramesOrder {
        plan: plan.clone(),
        receiver: server.held_as(),
    });
    RoleProcess::start(here(program, Some(client))?, &role)?.said_or_stopped(stop)
}

/// Sends and receives frames as ordered, and reports the result.
pub(crate) fn exchange(order: &FramesOrder, output: &mut impl Write) -> io::Result<()> {
    let exchanged: Said<Exchanged> = exchanged(order);
    say(output, &exchanged)
}

fn exchanged(order: &FramesOrder) -> Said<Exchanged> {
    let plan = &order.plan;
    if !plan.is_raw() {
        return Err("only raw frames are sent from one host to another".to_owned());
    }
    inside_a_rig("the sender")?;
    let outlet = raw_outlet(plan, DEVICES[0]).map_err(|error| error.to_string())?;
    let (holder, descriptor) = order.receiver;
    NetworkNamespace::held_by(holder, descriptor)
        .and_then(|place| place.enter())
        .map_err(|error| format!("going to the receiver's host: {error}"))?;
    inside_a_rig("the receiver")?;
    let inlet = raw_inlet(plan, DEVICES[1]).map_err(|error| error.to_string())?;
    exchange_raw(plan, (outlet, inlet)).map_err(|error| error.to_string())
}

/// Fails outside of a rig: raw frames never leave one.
fn inside_a_rig(end: &str) -> Said<()> {
    match is_inside() {
        true => Ok(()),
        false => Err(format!(
            "{end} is not on a host of a rig of ours, and raw frames go nowhere else"
        )),
    }
}
