//! The flags of `linerate link`, and the plan made from them.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use model::link::spelling::{self, Overtaking, Said, Setting};
use model::link::{ImpossibleLink, LinkPlan, LinkRate, QueueLimit, Via};

use crate::values;

/// Run a command over a network with a delay, a rate, losses, reordering or burst credit
///
/// The command runs on a host of its own, a network namespace, with a link to another, the server.
/// The link is a program of ours between the two, or the kernel with `--via`: neither needs root
/// where the kernel lets ordinary users make namespaces. Nothing on this machine is changed, except
/// that the kernel may load modules for `--via`. When the command ends, so does every process that
/// is left on either host, and its exit code is passed on.
///
/// Every packet is carried by itself, no longer than the MTU of 1500 bytes, with its checksum, as
/// on a wire. Sizes and rates are of Ethernet frames without preamble, as tc counts them.
///
/// At the end it reports what the link carried and how late packets left by its own clock. Where it
/// could not keep up it says so.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Delay in each direction: half a round trip
    #[arg(long, value_name = "TIME", value_parser = spelling::parse_delay, allow_hyphen_values = true, help_heading = LINK)]
    delay: Option<u64>,
    /// Bits per second, in each direction
    #[arg(long, value_name = "RATE", value_parser = spelling::parse_rate, allow_hyphen_values = true, help_heading = LINK)]
    rate: Option<u64>,
    /// A burst rate while there is credit, earned at the base rate; the bucket starts full
    #[arg(long, value_name = "burst=RATE,bucket=SIZE,base=RATE", value_parser = spelling::parse_credit, conflicts_with = "rate", help_heading = LINK)]
    credit: Option<LinkRate>,
    /// Packets lost at random, each independently, such as 0.1%
    #[arg(long, value_name = "SHARE", value_parser = spelling::parse_share, allow_hyphen_values = true, help_heading = LINK)]
    loss: Option<f64>,
    /// Packets that skip the delay, or TIME of it, and so overtake others
    #[arg(long, value_name = "SHARE[,TIME]", value_parser = spelling::parse_reorder, allow_hyphen_values = true, help_heading = LINK)]
    reorder: Option<Overtaking>,
    /// What may wait for the rate: packets, a size or a time; the rest is dropped
    /// [default: 1000 packets]
    #[arg(long, value_name = "LIMIT", value_parser = spelling::parse_queue, help_heading = LINK)]
    queue: Option<QueueLimit>,
    /// Property of the direction from client to server, such as `rate=10Mbit/s`; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = LINK)]
    up: Vec<Setting>,
    /// Property of the direction from server to client; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = LINK)]
    down: Vec<Setting>,
    /// Seed of losses and reordering of a link in user space; the same seed hits the same packets
    /// [default: random, and shown]
    #[arg(long, value_name = "NUMBER", help_heading = LINK, hide_short_help = true)]
    seed: Option<u64>,
    /// What carries the link: a program of ours, or a queueing discipline of the kernel
    ///
    /// `userspace` does all that can be asked, needs nothing of the kernel, and reports how late
    /// packets were. Where the kernel has them, `tbf` keeps a rate or a credit, and `netem` delays,
    /// and loses and reorders or keeps a rate; what one cannot express is refused by name.
    ///
    /// tbf lets through at once what the rate carries in 1 ms, at least two frames. A credit is a
    /// bucket of at most 4.29 GB and 274 s. netem has one limit for what waits for the rate and
    /// what is under way, in packets: it is set to the queue plus as many frames of 1,514 bytes as
    /// are under way at that rate.
    #[arg(long, value_name = "CARRIER", default_value_t = Via::Userspace, value_parser = values::one_of::<Via>(Via::ALL.map(Via::name)), help_heading = LINK)]
    via: Via,

    /// A shell line to run on the server; the command starts when it listens on a TCP port
    #[arg(long, value_name = "LINE")]
    pub(super) server: Option<String>,
    /// How long to wait for the server to listen; then the command starts anyway
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration, requires = "server")]
    pub(super) server_wait: Duration,
    /// Print one JSON value (docs/schema/link.json); what the commands print goes to standard error
    #[arg(long)]
    pub(super) json: bool,
    /// The command and its arguments; it never runs as root
    ///
    /// It and the server's line find the addresses in LINERATE_SERVER and LINERATE_CLIENT.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const LINK: &str = "The link";

const EXAMPLES: &str = "\
Examples:
  A page over a satellite link, as its visitor waits for it:
    linerate link --delay 300ms --server 'python3 -m http.server' -- \\
      sh -c 'time curl -so /dev/null http://$LINERATE_SERVER:8000/'
  A download over 20 Mbit/s with one packet in a thousand lost:
    linerate link --delay 20ms --rate 20Mbit/s --loss 0.1% --server 'python3 -m http.server' -- \\
      sh -c 'curl -so /dev/null http://$LINERATE_SERVER:8000/big.iso'
  An instance with network credit:
    linerate link --credit burst=5Gbit/s,bucket=1GB,base=500Mbit/s --server 'iperf3 -s' -- \\
      sh -c 'iperf3 -t 60 -c $LINERATE_SERVER'
  The same delay by the kernel's own emulator:
    linerate link --via netem --delay 20ms --server 'python3 -m http.server' -- \\
      sh -c 'time curl -so /dev/null http://$LINERATE_SERVER:8000/'
  A slow uplink and a fast downlink:
    linerate link --delay 10ms --up rate=5Mbit/s --down rate=100Mbit/s -- sh

Exit codes:
  That of the command, or 128 plus the signal's number if a signal ended it.
  2 if there was no link, and 130, 143 or 129 if a signal ended Linerate.";

impl Arguments {
    pub(super) fn plan(&self) -> Result<LinkPlan, ImpossibleLink> {
        let both = [
            self.delay.map(Setting::Delay),
            self.rate.map(|rate| Setting::Rate(spelling::steady(rate))),
            self.credit.map(Setting::Rate),
            self.loss.map(Setting::Loss),
            self.reorder.map(Setting::Reorder),
            self.queue.map(Setting::Queue),
        ];
        let said = Said {
            both: both.into_iter().flatten().collect(),
            up: self.up.clone(),
            down: self.down.clone(),
        };
        LinkPlan::new(said.shapes()?, self.seed, self.via)
    }

    /// The command, with the addresses of both ends in its environment.
    pub(super) fn command(&self, server: Ipv4Addr, client: Ipv4Addr) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        if self.json {
            command.stdout(Stdio::from(std::io::stderr()));
        }
        with_addresses(command, server, client)
    }
}

/// The shell line of the server, which leaves the terminal to the command.
pub(super) fn shell(line: &str, server: Ipv4Addr, client: Ipv4Addr) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()));
    with_addresses(command, server, client)
}

fn with_addresses(mut command: Command, server: Ipv4Addr, client: Ipv4Addr) -> Command {
    command
        .env("LINERATE_SERVER", server.to_string())
        .env("LINERATE_CLIENT", client.to_string());
    command
}
