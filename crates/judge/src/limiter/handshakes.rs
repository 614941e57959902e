//! Requests wait for handshakes of TLS, by the clock of our load. This needs no names of functions,
//! and so no symbols.

use model::explanation::{AccountKind, Hindrance};
use model::observation::Observation;

use super::{Case, Ruling, limiter, part, parts, percent};

const NAME: &str = "handshakes";

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    // Where the functions of the program have names, the rule of parts says so, with the cost.
    let is_named = part::of(case).is_some_and(|part| part.name == NAME);
    let Some(shaken) = share(case).filter(|share| *share >= super::ENOUGH && !is_named) else {
        return Ruling::Silent;
    };
    let opening = case.ledger.share(AccountKind::Opening);
    let share = match are_most(case, opening) {
        true => shaken.max(opening),
        false => shaken,
    };
    let mut found = limiter(
        NAME,
        share,
        format!(
            "Requests wait for handshakes of TLS for {} of the time.",
            percent(share)
        ),
        vec![format!(
            "by our load's clock, {} of the time of its connections goes to handshakes",
            percent(shaken)
        )],
        parts::advice(NAME),
    );
    match case.at_work() >= case.client_works() {
        true => found.hindrance = Some(Hindrance::ServerCpus),
        false => (found.hindrance, found.follows) = (Some(Hindrance::ClientCpus), None),
    }
    Ruling::Holds(found)
}

/// Whether handshakes are most of `opening`, the share of the time in which connections are opened.
pub(super) fn are_most(case: &Case<'_>, opening: f64) -> bool {
    share(case).is_some_and(|shaken| shaken >= super::ENOUGH && shaken >= opening / 2.0)
}

/// Share of the time of our load's connections that goes to handshakes, 0 to 1.
fn share(case: &Case<'_>) -> Option<f64> {
    let shaken_us = us_per_answer(case.seen)? * case.answered()? as f64;
    Some((shaken_us / case.connections_us()?).min(1.0))
}

/// Time in handshakes for each answer, µs: of handshakes within the look, and no more than one for
/// each answer. Connections that were opened before and stay open cost nothing.
pub(super) fn us_per_answer(seen: &Observation) -> Option<f64> {
    let load = seen.load.filter(|load| load.answered > 0)?;
    let each = seen.rise("Tcp.PassiveOpens") as f64 / load.answered as f64;
    Some(load.handshake_us? * each.min(1.0))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::super::opening;
    use super::*;

    #[test]
    fn handshakes_are_told_in_the_place_of_connections_where_they_are_most_of_what_those_cost() {
        let mut seen = busy();
        let moments = moment(Holder::Opening, idle("ep_poll"), 100.0);
        seen.moments.push(moments);
        let opened = "Tcp.PassiveOpens".to_owned();
        seen.counters.insert(opened.clone(), 100_000);
        assert!(!is_accused(rule, &seen), "there are none");
        // Each connection has 160 µs for an answer, and half of them go to opening the next.
        let shaken =
            |seen: &mut Observation, us| seen.load.as_mut().unwrap().handshake_us = Some(us);
        shaken(&mut seen, 60.0);
        assert_eq!(held(rule, &seen).share, 0.5);
        assert!(!is_accused(opening::rule, &seen));
        shaken(&mut seen, 10.0);
        assert!(!is_accused(rule, &seen), "they are quick");
        assert_eq!(held(opening::rule, &seen).name, "connections");
        shaken(&mut seen, 60.0);
        seen.counters.insert(opened, 0);
        assert!(!is_accused(rule, &seen), "all were before the look");
    }
}
