//! The machine's facts as rows of a list.

use model::RunRecord;
use serde::Serialize;

use crate::numbers;

/// A name and what it is.
#[derive(Serialize)]
pub(crate) struct Fact {
    name: String,
    value: String,
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.into(),
    }
}

/// What the machine is and how busy it was at rest; what is unknown is left out.
pub(crate) fn facts<S, A>(run: &RunRecord<S, A>) -> Vec<Fact> {
    let (facts, watched) = (&run.facts, &run.watched);
    let mut rows = vec![
        fact("CPU", &facts.cpu_model),
        fact(
            "CPUs",
            format!(
                "{} online, {} allowed",
                facts.cpus_online, facts.cpus_allowed
            ),
        ),
    ];
    let optional = [
        (
            "CPU quota",
            facts.cpu_quota.map(|quota| format!("{quota} CPUs")),
        ),
        ("Memory", Some(numbers::bytes(facts.memory_bytes))),
        (
            "Kernel",
            Some(format!("{} {}", facts.kernel_release, facts.architecture)),
        ),
        ("Distribution", facts.distribution.clone()),
        ("Hypervisor", facts.virtualisation.clone()),
        ("Clock source", facts.clocksource.clone()),
        ("Frequency governor", facts.frequency_governor.clone()),
        ("Halt polling", facts.halt_poll_ns.map(numbers::duration)),
        ("Congestion control", facts.congestion_control.clone()),
        (
            "Time of interrupts",
            facts.irq_time_accounting.map(|how| how.words().to_owned()),
        ),
        (
            "Work of others at rest",
            watched
                .foreign_cpu_share
                .map(|share| format!("{} of the CPUs", numbers::share(share))),
        ),
        (
            "CPU pressure at rest",
            watched
                .psi_cpu_some_avg10
                .map(|percent| format!("{percent:.1} % (PSI some avg10)")),
        ),
        (
            "Spread of fixed work",
            Some(format!(
                "{} (robust CV)",
                numbers::share(watched.spin_robust_cv)
            )),
        ),
    ];
    rows.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some(fact(name, value?))),
    );
    rows.extend(boots(run));
    rows.extend(identity(run));
    rows.extend(client_host(run));
    rows
}

/// The client's host, where it has one of its own.
fn client_host<S, A>(run: &RunRecord<S, A>) -> Vec<Fact> {
    let Some(client) = &run.client else {
        return Vec::new();
    };
    let facts = &client.facts;
    let host = if client.same_machine {
        "another namespace of this machine".to_owned()
    } else {
        format!(
            "{}, {} CPUs, kernel {} {}",
            facts.cpu_model, facts.cpus_online, facts.kernel_release, facts.architecture
        )
    };
    let within = numbers::duration(client.clocks.uncertainty_ns);
    vec![
        fact("The client's host", host),
        fact("Clocks of both hosts", format!("known to within {within}")),
    ]
}

/// That these facts are of one boot among others.
fn boots<S, A>(run: &RunRecord<S, A>) -> Option<Fact> {
    let reboot = run.reboot.as_ref()?;
    let with = reboot.boots.iter().filter(|boot| boot.has_step).count();
    Some(fact(
        "Boots",
        format!(
            "{}, of which {with} with {}; what is told here is of the boot in which the run began",
            reboot.boots.len().max(1),
            reboot.option
        ),
    ))
}

/// Only there when it was asked for.
fn identity<S, A>(run: &RunRecord<S, A>) -> Vec<Fact> {
    run.facts
        .identity
        .as_ref()
        .map_or_else(Vec::new, |identity| {
            vec![
                fact("Host", &identity.host_name),
                fact("User", &identity.user_name),
                fact("Addresses", identity.addresses.join(", ")),
            ]
        })
}

/// The kernel's mitigations by vulnerability.
pub(crate) fn mitigations<S, A>(run: &RunRecord<S, A>) -> Vec<Fact> {
    run.facts
        .mitigations
        .iter()
        .map(|(name, state)| fact(name, state))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::run::ClientHost;

    #[test]
    fn a_client_with_a_host_of_its_own_is_told_with_it() {
        let mut run = sample::run();
        let alone = facts(&run).len();
        let mut client = ClientHost::default();
        client.facts.cpu_model = "Another CPU".to_owned();
        client.clocks.uncertainty_ns = 40_000;
        run.client = Some(client);
        let rows = facts(&run);
        assert_eq!(rows.len(), alone + 2);
        assert!(rows[alone].value.starts_with("Another CPU"));
        assert_eq!(rows[alone + 1].value, "known to within 40.0 µs");
    }
}
