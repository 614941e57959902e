//! The clients ask for no more than the program already does.

use model::explanation::AccountKind;

use super::ledger::Asker;
use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    if Asker::of(case.seen) != Asker::Others || case.ledger.accounts.is_empty() {
        return Ruling::Silent;
    }
    let share = case.ledger.share(AccountKind::NotAsked);
    let by = format!(
        "all its threads wait for something to do for {} of the time",
        percent(share)
    );
    let mut found = limiter(
        "not-asked",
        share,
        format!(
            "Its clients ask for no more: it is idle for {} of the time.",
            percent(share)
        ),
        vec![by.clone(), format!("it used {:.2} CPUs", case.cpus_used())],
        "ask for more and look again: `linerate explain URL` offers load of its own",
    );
    found.gain = "nothing: it has room".to_owned();
    Ruling::by_share(found, || ruled_out("clients that ask for too little", by))
}

#[cfg(test)]
mod tests {
    use model::observation::Holder;

    use super::super::cases::{busy, held, idle, is_accused, moment};
    use super::*;

    #[test]
    fn an_idle_program_with_clients_of_its_own_is_not_asked() {
        let mut seen = busy();
        seen.moments
            .push(moment(Holder::Program, idle("ep_poll"), 300.0));
        assert!(!is_accused(rule, &seen), "our load asks all the time");
        seen.load = None;
        assert_eq!(held(rule, &seen).gain, "nothing: it has room");
    }
}
