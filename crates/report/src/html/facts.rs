//! The machine's facts, each with its name.

use model::facts::Watched;
use model::run::ClientHost;
use model::{Reboot, RunRecord};

use crate::numbers;

/// Lists what the machine is and how busy it was at rest; unknown facts are left out.
pub(crate) fn facts<S, A>(run: &RunRecord<S, A>) -> Vec<(&'static str, String)> {
    let (facts, watched) = (&run.facts, &run.watched);
    let (identity, client) = (facts.identity.as_ref(), run.client.as_ref());
    let cpus = format!(
        "{} online, {} allowed",
        facts.cpus_online, facts.cpus_allowed
    );
    let kernel = format!("{} {}", facts.kernel_release, facts.architecture);
    let quota = facts.cpu_quota.map(|quota| format!("{quota} CPUs"));
    let interrupts = facts.irq_time_accounting.map(|how| how.words().to_owned());
    let foreign = watched.foreign_cpu_share.map(numbers::share);
    let pressure = watched.psi_cpu_some_avg10;
    // A run that did not watch the machine at rest has a default here, whose spread would read as
    // none.
    let was_seen = *watched != Watched::default();
    let spread = was_seen.then_some(watched.spin_robust_cv);
    let spread = spread.map(|cv| format!("{} (robust CV)", numbers::share(cv)));
    let clocks = client.map(|client| numbers::duration(client.clocks.uncertainty_ns));
    let rows = [
        ("CPU", Some(facts.cpu_model.clone())),
        ("CPUs", Some(cpus)),
        ("CPU quota", quota),
        ("Memory", Some(numbers::bytes(facts.memory_bytes))),
        ("Kernel", Some(kernel)),
        ("Distribution", facts.distribution.clone()),
        ("Hypervisor", facts.virtualisation.clone()),
        ("Clock source", facts.clocksource.clone()),
        ("Frequency governor", facts.frequency_governor.clone()),
        ("Halt polling", facts.halt_poll_ns.map(numbers::duration)),
        ("Congestion control", facts.congestion_control.clone()),
        ("Time of interrupts", interrupts),
        (
            "Work of others at rest",
            foreign.map(|share| format!("{share} of the CPUs")),
        ),
        (
            "CPU pressure at rest",
            pressure.map(|percent| format!("{percent:.1} % (PSI some avg10)")),
        ),
        ("Spread of fixed work", spread),
        ("Boots", run.reboot.as_ref().map(boots)),
        ("Host", identity.map(|of| of.host_name.clone())),
        ("User", identity.map(|of| of.user_name.clone())),
        ("Addresses", identity.map(|of| of.addresses.join(", "))),
        ("The client's host", client.map(host_of)),
        (
            "Clocks of both hosts",
            clocks.map(|within| format!("known to within {within}")),
        ),
    ];
    let known = rows.map(|(name, value)| Some((name, value?)));
    known.into_iter().flatten().collect()
}

/// Describes the client's host: another namespace of this machine, or another machine.
fn host_of(client: &ClientHost) -> String {
    let facts = &client.facts;
    if client.same_machine {
        return "another namespace of this machine".to_owned();
    }
    format!(
        "{}, {} CPUs, kernel {} {}",
        facts.cpu_model, facts.cpus_online, facts.kernel_release, facts.architecture
    )
}

/// Counts the boots of the run, and says that these facts are of the first one.
fn boots(reboot: &Reboot) -> String {
    let with = reboot.boots.iter().filter(|boot| boot.has_step).count();
    format!(
        "{}, of which {with} with {}; these facts are of the boot in which the run began",
        reboot.boots.len().max(1),
        reboot.option
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

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
        assert!(rows[alone].1.starts_with("Another CPU"));
        assert_eq!(rows[alone + 1].1, "known to within 40.0 µs");
    }

    #[test]
    fn a_machine_that_was_not_watched_at_rest_has_no_spread_of_fixed_work() {
        let mut run = sample::run();
        let has_spread = |run: &RunRecord| {
            let mut rows = facts(run).into_iter();
            rows.any(|(name, _)| name == "Spread of fixed work")
        };
        assert!(has_spread(&run));
        run.watched = Watched::default();
        assert!(!has_spread(&run));
    }
}
