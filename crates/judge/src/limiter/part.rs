//! The part of the work that takes most of the program's CPU time and could be less.

use model::explanation::Hindrance;

use super::{Case, Ruling, later_calls, limiter, memory, parts, percent, system_calls, work};

/// A part of the work that has a name.
pub(super) struct NamedPart {
    pub(super) name: &'static str,
    /// Phrase for it within a sentence.
    pub(super) what: String,
    pub(super) advice: &'static str,
    /// Share of the program's CPU time, 0 to 1.
    pub(super) of_cpu: f64,
    /// Share of our load's CPU time, 0 to 1.
    pub(super) of_client: f64,
    /// Name of the system call, where the part is one call.
    pub(super) call: Option<String>,
}

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let Some(part) = of(case).filter(|part| !memory::is_fetching(case, part)) else {
        return Ruling::Silent;
    };
    let at_work = case.at_work();
    let share = at_work * part.of_cpu + case.client_works() * part.of_client;
    let mut found = limiter(
        part.name,
        share,
        format!(
            "{} of its CPU time goes to {}.",
            percent(part.of_cpu),
            part.what
        ),
        vec![format!("it has a CPU for {} of the time", percent(at_work))],
        part.advice,
    );
    if part.of_client > 0.0 {
        found.shown_by.push(format!(
            "so does {} of the CPU time of our load",
            percent(part.of_client)
        ));
    }
    found.shown_by.extend(work::calls(case));
    found
        .shown_by
        .extend(case.seen.stacks.as_ref().and_then(work::functions));
    found.hindrance = Some(Hindrance::ServerCpus);
    found.closer = part
        .call
        .and_then(|call| later_calls::named(case.seen, &call, case.cpus_used()));
    match share >= super::ENOUGH {
        true => Ruling::Holds(found),
        false => Ruling::Silent,
    }
}

/// The named part that takes most of the program's CPU time.
pub(super) fn of(case: &Case<'_>) -> Option<NamedPart> {
    let stacks = case.seen.stacks.as_ref()?;
    let largest = parts::largest(stacks).map(|(part, of_cpu)| NamedPart {
        name: part.name,
        what: part.what.to_owned(),
        advice: part.advice,
        of_cpu,
        of_client: case
            .seen
            .client_stacks
            .as_ref()
            .map_or(0.0, |of| part.share(of)),
        call: None,
    });
    let both = [system_calls::part(case.seen), largest]
        .into_iter()
        .flatten();
    both.max_by(|one, other| one.of_cpu.total_cmp(&other.of_cpu))
}

#[cfg(test)]
mod tests {
    use model::stacks::{StackFrame, Stacks};

    use super::super::cases::{busy, held};
    use super::*;

    #[test]
    fn what_a_part_costs_our_load_is_time_too() {
        let stacks = |rules: u64| {
            let frames = |name| vec![StackFrame::of_program("app"), StackFrame::of_kernel(name)];
            let weights = [
                (frames("nft_do_chain"), rules),
                (frames("tcp_sendmsg"), 100 - rules),
            ];
            Some(Stacks::of(100, weights))
        };
        let mut seen = busy();
        seen.stacks = stacks(40);
        let found = held(rule, &seen);
        assert_eq!((&found.name[..], found.share), ("netfilter", 0.9 * 0.4));
        seen.client_stacks = stacks(50);
        assert!((held(rule, &seen).share - 0.9 * 0.4 - 0.1 * 0.5).abs() < 1e-9);
    }
}
