//! What `linerate rig` says of rigs.

use std::net::Ipv4Addr;

use machine::rig::HeldHost;
use machine::rig::standing::{Standing, State, TakenDown};
use model::Topology;
use schemars::JsonSchema;
use serde::Serialize;

/// The rig that was put up.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigUp {
    /// The rig.
    pub(super) rig: StandingRig,
}

/// The rigs there are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigStatus {
    /// One entry for each rig, the oldest first.
    pub(super) rigs: Vec<StandingRig>,
}

/// What was taken down.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigClean {
    /// One entry for each rig, the oldest first.
    pub(super) cleaned: Vec<TakenDown>,
}

/// A rig of `linerate rig`.
#[derive(Serialize, JsonSchema)]
pub(super) struct StandingRig {
    /// What its owner calls it.
    name: String,
    /// Its hosts and how they are linked.
    kind: Topology,
    /// up: its holder lives; left: its holder has ended and nobody cleaned up; of_earlier_boot:
    /// only its entry in the journal is left.
    #[schemars(extend("enum" = ["up", "left", "of_earlier_boot"]))]
    state: &'static str,
    /// Number of the process that holds it, or held it.
    holder: u32,
    /// The client first, the server last; empty while it is being built.
    hosts: Vec<HostShape>,
    /// Numbers of the processes in it that `rig exec` started, and of theirs.
    programs: Vec<u32>,
}

/// A host of it.
#[derive(Serialize, JsonSchema)]
struct HostShape {
    /// What `rig exec` takes.
    name: String,
    /// IPv4 address at which the other hosts reach it; null where it has none.
    address: Option<Ipv4Addr>,
    /// Inode of its network namespace.
    namespace: u64,
    /// Path of the namespace for other programs, as `nsenter --net=PATH`; null where the rig is
    /// not up.
    enter: Option<String>,
}

/// A rig that was just put up, with what to do next.
pub(super) fn put_up(rig: &Standing) -> String {
    let name = rig.name();
    format!(
        "{}\n\
         run a program on a host: linerate rig exec --name {name} client -- CMD\n\
         take it down again:      linerate rig clean {name}",
        line(rig)
    )
}

/// All rigs, a line each.
pub(super) fn status(rigs: &[Standing]) -> String {
    if rigs.is_empty() {
        return "no rig is up".to_owned();
    }
    let lines: Vec<String> = rigs.iter().map(line).collect();
    lines.join("\n")
}

fn line(rig: &Standing) -> String {
    let (title, holder) = (title(rig), rig.holder());
    let programs = counted(rig.programs().len());
    match rig.state() {
        State::Up => format!(
            "{title} is up, held by process {holder}; {programs} in it\n{}",
            hosts(rig.hosts())
        ),
        State::Left => format!(
            "{title} was left over when its holder, process {holder}, ended; {programs} in it"
        ),
        State::OfEarlierBoot => format!(
            "{title} is from before this machine was last started; only its entry in the journal \
             is left"
        ),
    }
}

/// Its name, and its kind where that is another word.
fn title(rig: &Standing) -> String {
    let (name, kind) = (rig.name().as_str(), rig.topology().name());
    if name == kind {
        name.to_owned()
    } else {
        format!("{name} ({kind})")
    }
}

fn hosts(hosts: &[HeldHost]) -> String {
    let line = |host: &HeldHost| {
        let address = host.address.map(|address| address.to_string());
        format!("  {:<7} {}", host.name, address.unwrap_or_default())
    };
    hosts.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn counted(programs: usize) -> String {
    match programs {
        0 => "no program runs".to_owned(),
        1 => "1 program runs".to_owned(),
        count => format!("{count} programs run"),
    }
}

/// For programs.
pub(super) fn shape(rig: &Standing) -> StandingRig {
    let state = match rig.state() {
        State::Up => "up",
        State::Left => "left",
        State::OfEarlierBoot => "of_earlier_boot",
    };
    let host = |host: &HeldHost| HostShape {
        name: host.name.clone(),
        address: host.address,
        namespace: host.namespace,
        enter: (rig.state() == State::Up)
            .then(|| format!("/proc/{}/fd/{}", rig.holder(), host.descriptor)),
    };
    StandingRig {
        name: rig.name().to_string(),
        kind: rig.topology(),
        state,
        holder: rig.holder(),
        hosts: rig.hosts().iter().map(host).collect(),
        programs: rig.programs(),
    }
}

/// Rigs that were taken down, a line each.
pub(super) fn cleaned(taken: &[TakenDown]) -> String {
    if taken.is_empty() {
        return "no rig was up".to_owned();
    }
    let line = |rig: &TakenDown| match rig.ended.len() {
        0 => format!("{} is down", rig.name),
        1 => format!("{} is down; the program in it was ended", rig.name),
        count => format!(
            "{} is down; the {count} programs in it were ended",
            rig.name
        ),
    };
    taken.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What still keeps a rig's namespaces, and what to do.
pub(super) fn kept(rig: &TakenDown) -> Option<String> {
    let pids: Vec<String> = rig.kept_by.iter().map(ToString::to_string).collect();
    let pids = pids.join(" ");
    (!pids.is_empty()).then(|| {
        format!(
            "namespaces of the rig `{}` stay for as long as processes run in them that `rig exec` \
             did not start, or that do not end when killed: {pids}; end them if they are yours: \
             kill {pids}",
            rig.name
        )
    })
}
