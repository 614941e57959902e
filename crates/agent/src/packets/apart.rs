//! Packets between machines of their own: a process of ours is on each.

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

/// What the sender is told each time.
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
    /// On which they run, each by its own kernel's number.
    pub cpus: [usize; 2],
}

impl FarEnds {
    /// Starts them by their commands; packets go to an address of the receiver. After so long without a word an end is
    /// given up.
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

    /// Sends packets from one to the other, until we are asked to stop.
    ///
    /// # Errors
    /// Says what could not be done, and where.
    pub fn exchange(&mut self, plan: &PacketPlan, stop: &StopSignal) -> Result<Exchanged, Failure> {
        self.receiver.order(plan)?;
        // The port alone: where they go is not for the far end to say.
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
        // A sender can fail since the receiver did.
        let received: (Received, SocketSettings) = self.receiver.said()?;
        Exchanged::apart(plan, sent?, received).map_err(|error| Failure {
            what: error.to_string(),
            advice: "see `linerate packets --help`".to_owned(),
        })
    }
}

/// Says on which CPU, and then sends whenever it is told to.
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

/// Says on which CPU, and then opens a socket whenever it is told to, says at which port, and receives until it hears how many
/// were sent.
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

/// One of those that it may use: the receiver has the last, as interrupts are on the first as a rule.
fn own_cpu(which: impl FnOnce(&[usize]) -> Option<&usize>) -> Said<usize> {
    let cpus = sys::cpu::allowed().map_err(|error| error.to_string())?;
    which(&cpus).copied().ok_or_else(|| "no CPU".to_owned())
}
