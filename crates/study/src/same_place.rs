//! Checks that a run is resumed where it began. Blocks of different rigs, machines or versions must
//! not mix.

use model::run::{ClientHost, Rig};
use model::{Facts, RunRecord};

use crate::campaign::Acquaintance;
use crate::refusal::Refusal;

/// Compares what the agents report now with what they reported when the run began.
///
/// # Errors
/// What differs.
pub(crate) fn check<S, A>(run: &RunRecord<S, A>, now: &Acquaintance) -> Result<(), Refusal> {
    if !now.rig.is_like(&run.rig) {
        return Err(Refusal(format!(
            "this run was measured on {}, here it would be {}: they do not mix",
            name(&run.rig),
            name(&now.rig)
        )));
    }
    let hosts = (kind(&now.facts), client_kind(now.client.as_ref()));
    if now.rig == Rig::Hosts && hosts != (kind(&run.facts), client_kind(run.client.as_ref())) {
        let why = "this run was measured on machines of another CPU or kernel than those of the hosts \
                   file: they do not mix";
        return Err(Refusal(why.to_owned()));
    }
    match run.reboot {
        // A run with a reboot has its own rules for what a boot may change.
        Some(_) => check_version(run),
        None => check_machine(run, &now.facts),
    }
}

/// Compares a machine and this version with those that measured the blocks of a run.
///
/// # Errors
/// What differs.
pub fn check_machine<S, A>(run: &RunRecord<S, A>, now: &Facts) -> Result<(), Refusal> {
    check_version(run)?;
    if kind(now) == kind(&run.facts) {
        return Ok(());
    }
    let [was, is] = [&run.facts, now].map(|facts| {
        let (model, cpus, kernel) = kind(facts);
        format!("{cpus} CPUs {model}, kernel {kernel}")
    });
    Err(Refusal(format!(
        "this run was measured on another CPU or kernel ({was}) than this machine has ({is}): they do not mix; \
         resume it there, or measure anew here"
    )))
}

/// Checks the version, because the load, the timing of commands and the built-in server are this
/// program's own.
fn check_version<S, A>(run: &RunRecord<S, A>) -> Result<(), Refusal> {
    let (was, is) = (&run.linerate_version, env!("CARGO_PKG_VERSION"));
    if was == is {
        return Ok(());
    }
    Err(Refusal(format!(
        "this run was measured by Linerate {was}, and this is {is}: they do not mix; resume it with \
         that version, or measure anew"
    )))
}

/// What distinguishes kinds of machines among their facts; it does not identify a machine.
fn kind(facts: &Facts) -> (&str, u32, &str) {
    (&facts.cpu_model, facts.cpus_online, &facts.kernel_release)
}

fn client_kind(client: Option<&ClientHost>) -> Option<(&str, u32, &str)> {
    client.map(|client| kind(&client.facts))
}

fn name(rig: &Rig) -> &'static str {
    match rig {
        Rig::PrivateNamespace => "a private namespace",
        Rig::Loopback { .. } => "the machine's loopback",
        Rig::Netns => "the rig `netns`",
        Rig::Router => "the rig `router`",
        Rig::Tunnel => "the rig `tunnel`",
        Rig::Hosts => "the hosts of a hosts file",
    }
}
