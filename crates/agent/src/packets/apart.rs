//! Packets between two machines, with a process of ours on each.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use model::failure::Failure;
use serde::{Deserialize, Serialize};
use sys::stop::StopSignal;
use traffic::packets::{
    Exchanged, FarInlet, GreetingWords, PacketPlan, Received, Sent, SocketSettings, send_far,
};

use crate::role::{Role, RoleProcess, Said, next, say};

/// The order to the sender for one exchange.
#[derive(Debug, Serialize, Deserialize)]
struct FarSending {
    plan: PacketPlan,
    server: SocketAddr,
    words: GreetingWords,
}

/// Both ends, which exchange packets as often as they are asked to.
#[derive(Debug)]
pub struct FarEnds {
    sender: RoleProcess,
    receiver: RoleProcess,
    address: IpAddr,
    /// The CPUs of sender and receiver, each by its own kernel's number.
    pub cpus: [usize; 2],
}

impl FarEnds {
    /// Starts both ends by their commands; packets go to `address`, which is the receiver's. An end
    /// is given up after `silence` without a message.
    ///
    /// # Errors
    /// Says what could not be done, and where.
    pub fn start(
        [sender, receiver]: [Command; 2],
        address: IpAddr,
        silence: Duration,
    ) -> Result<Self, Failure> {
        let role = Role::PacketReceiver(address);
        let mut receiver = RoleProcess::start_held(receiver, &role, silence)?;
        let mut sender = RoleProcess::start_held(sender, &Role::PacketSender, silence)?;
        let cpus = [sender.said()?, receiver.said()?];
        Ok(Self {
            sender,
            receiver,
            address,
            cpus,
        })
    }

    /// Sends packets from one end to the other, until we are asked to stop.
    ///
    /// # Errors
    /// Says what could not be done, and where.
    pub fn exchange(&mut self, plan: &PacketPlan, stop: &StopSignal) -> Result<Exchanged, Failure> {
        self.receiver.order(plan)?;
        // Only the port is taken over: the far end does not decide where packets go.
        let (port, words): (u16, GreetingWords) = self.receiver.said()?;
        let sending = FarSending {
            plan: plan.clone(),
            server: SocketAddr::new(self.address, port),
            words,
        };
        self.sender.order(&sending)?;
        let sent: Result<(Sent, Option<u32>), Failure> = self.sender.said_or_stopped(stop);
        let count = sent.as_ref().map_or(0, |(sent, _)| sent.packets);
        self.receiver.order(&count)?;
        // A sender can fail because the receiver did, so the receiver's failure comes first.
        let received: (Received, SocketSettings) = self.receiver.said()?;
        Exchanged::apart(plan, sent?, received).map_err(|error| Failure {
            what: error.to_string(),
            advice: "see `linerate packets --help`".to_owned(),
        })
    }
}

/// Reports its CPU, and then sends packets for each order.
pub(crate) fn send(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    say(output, &own_cpu(|cpus| cpus.first()))?;
    while let Some(FarSending {
        plan,
        server,
        words,
    }) = next(input)?
    {
        let sent = send_far(&plan, server, words);
        say(output, &sent.map_err(|error| error.to_string()))?;
    }
    Ok(())
}

/// Reports its CPU. Then, for each order, opens a socket, reports how to reach it, and receives
/// until it is told how many packets were sent.
pub(crate) fn receive(
    address: IpAddr,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    say(output, &own_cpu(|cpus| cpus.last()))?;
    while let Some(plan) = next(input)? {
        let inlet = match FarInlet::open(&plan, address) {
            Ok(inlet) => inlet,
            Err(error) => return say(output, &Said::<()>::Err(error.to_string())),
        };
        say(output, &Said::Ok(inlet.door()?))?;
        let received = inlet.take(|| next(input).ok().flatten());
        say(output, &received.map_err(|error| error.to_string()))?;
    }
    Ok(())
}

/// One of the CPUs that this process may use. The receiver uses the last, since interrupts are
/// mostly on the first.
fn own_cpu(which: impl FnOnce(&[usize]) -> Option<&usize>) -> Said<usize> {
    let cpus = sys::cpu::allowed().map_err(|error| error.to_string())?;
    which(&cpus).copied().ok_or_else(|| "no CPU".to_owned())
}
