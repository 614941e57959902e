//! Interrupts for others take time of the program's CPUs: they handle packets that are not its own.

use model::explanation::AccountKind;

use super::{Case, Ruling, limiter, percent, ruled_out};

/// How often each of its own packets is handled at most where it comes from elsewhere: by the card,
/// a bridge and the device behind that.
const PASSES: f64 = 3.0;
/// Counters of packets that go to sockets of its network namespace, or come from them.
const OWN: [&str; 4] = [
    "Tcp.InSegs",
    "Tcp.OutSegs",
    "Udp.InDatagrams",
    "Udp.OutDatagrams",
];

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let handled = case.seen.rise("program.cpus_packets");
    let interrupt_ns = case.seen.rise("program.cpus_interrupt_ns");
    let busy_ns = case.seen.rise("program.cpus_busy_ns");
    let others = of_others(case);
    let share = others * case.at_work() + of_ready(case);
    let figures = format!(
        "{:.0} interrupts and {:.0} packets a second are handled on its CPUs, and {:.0} go to or come from sockets of its network",
        case.rate(case.seen.rise("program.cpus_interrupts")),
        case.rate(handled),
        case.rate(own(case))
    );
    let mut found = limiter(
        "interrupts",
        share,
        format!(
            "Its CPUs handle packets that are not its own for {} of the time.",
            percent(share)
        ),
        vec![
            figures.clone(),
            format!(
                "interrupts take {} of the time that its CPUs are busy (/proc/stat)",
                percent(interrupt_ns as f64 / busy_ns.max(1) as f64)
            ),
        ],
        "have other CPUs handle them: the affinity of the card's interrupts (/proc/irq/N/smp_affinity), receive packet steering (rps_cpus), or pin the program elsewhere",
    );
    found.advice.push(
        "see what they are: `ss -s`, `nstat`, counters of devices (`ip -s link`); drop what nobody wants at the card or by XDP".to_owned(),
    );
    Ruling::by_share(found, || ruled_out("interrupts for others", figures))
}

/// Share of the time in which the program is ready and its CPUs handle interrupts for others, 0 to
/// 1.
pub(super) fn of_ready(case: &Case<'_>) -> f64 {
    of_others(case) * case.ledger.share(AccountKind::NoCpu)
}

/// Share of the busy time of its CPUs that goes to packets of others, 0 to 1.
fn of_others(case: &Case<'_>) -> f64 {
    let handled = case.seen.rise("program.cpus_packets") as f64;
    let own = own_handled(case);
    let interrupt_ns = case.seen.rise("program.cpus_interrupt_ns") as f64;
    let busy_ns = case.seen.rise("program.cpus_busy_ns") as f64;
    let of_others = (handled - own) / handled.max(1.0);
    of_others.max(0.0) * (interrupt_ns / busy_ns.max(1.0)).min(1.0)
}

/// How often its own packets are handled at most: once over loopback, and otherwise as often as
/// they may be passed on.
fn own_handled(case: &Case<'_>) -> f64 {
    let received = case.seen.rise("Tcp.InSegs") + case.seen.rise("Udp.InDatagrams");
    let looped = case.seen.rise("network.loopback_packets").min(received);
    let elsewhere = (received - looped) as f64 / received.max(1) as f64;
    looped as f64 + elsewhere * PASSES * own(case) as f64
}

fn own(case: &Case<'_>) -> u64 {
    let each = OWN.iter().map(|name| case.seen.rise(name));
    each.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::cases::{SECOND, busy, held, is_accused};
    use super::*;

    #[test]
    fn packets_of_others_take_the_time_that_interrupts_take_and_own_ones_none() {
        let mut seen = busy();
        for (name, count) in [
            ("program.cpus_busy_ns", SECOND),
            ("program.cpus_interrupt_ns", SECOND / 2),
            ("program.cpus_packets", 400_000),
            ("Tcp.InSegs", 100_000),
            ("Tcp.OutSegs", 100_000),
        ] {
            seen.counters.insert(name.to_owned(), count);
        }
        assert!(!is_accused(rule, &seen), "they come three times each");
        let loopback = "network.loopback_packets".to_owned();
        seen.counters.insert(loopback.clone(), 100_000);
        let found = held(rule, &seen);
        assert!((found.share - 0.9 * 0.375).abs() < 1e-9, "{found:?}");
        seen.counters.remove(&loopback);
        seen.counters
            .insert("program.cpus_packets".to_owned(), 6_000_000);
        let found = held(rule, &seen);
        assert_eq!(found.name, "interrupts");
        assert!((found.share - 0.9 * 0.45).abs() < 1e-9, "{found:?}");
    }
}
