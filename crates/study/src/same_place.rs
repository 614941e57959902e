//! Does a run go on where it was begun? Blocks of two rigs, of other machines or of other versions do not mix.

use model::run::{ClientHost, Rig};
use model::{Facts, RunRecord};

use crate::campaign::Acquaintance;
use crate::refusal::Refusal;

/// Holds what the agents tell now against what they told when the run began.
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
    let hosts = (told(&now.facts), told_of(now.client.as_ref()));
    if now.rig == Rig::Hosts && hosts != (told(&run.facts), told_of(run.client.as_ref())) {
        let why = "this run was measured on machines of another CPU or kernel than those of the hosts \
                   file: they do not mix";
        return Err(Refusal(why.to_owned()));
    }
    match run.reboot {
        // Its own rules say what a boot may change.
        Some(_) => check_version(run),
        None => check_machine(run, &now.facts),
    }
}

/// Holds a machine and this version against those of which a run has blocks.
///
/// # Errors
/// What differs.
pub fn check_machine<S, A>(run: &RunRecord<S, A>, now: &Facts) -> Result<(), Refusal> {
    check_version(run)?;
    if told(now) == told(&run.facts) {
        return Ok(());
    }
    let [was, is] = [&run.facts, now].map(|facts| {
        let (model, cpus, kernel) = told(facts);
        format!("{cpus} CPUs {model}, kernel {kernel}")
    });
    Err(Refusal(format!(
        "this run was measured on another CPU or kernel ({was}) than this machine has ({is}): they do not mix; \
         go on with it there, or measure anew here"
    )))
}

/// The load, the timing of commands and the built-in server are this program's own.
fn check_version<S, A>(run: &RunRecord<S, A>) -> Result<(), Refusal> {
    let (was, is) = (&run.linerate_version, env!("CARGO_PKG_VERSION"));
    if was == is {
        return Ok(());
    }
    Err(Refusal(format!(
        "this run was measured by Linerate {was}, and this is {is}: they do not mix; go on with it by that \
         version, or measure anew"
    )))
}

/// What tells machines apart among what is told of them, which is not who they are.
fn told(facts: &Facts) -> (&str, u32, &str) {
    (&facts.cpu_model, facts.cpus_online, &facts.kernel_release)
}

fn told_of(client: Option<&ClientHost>) -> Option<(&str, u32, &str)> {
    client.map(|client| told(&client.facts))
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
