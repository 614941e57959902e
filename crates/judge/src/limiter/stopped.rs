//! Somebody stops the program repeatedly: a debugger, a signal, or a frozen control group.

use model::explanation::AccountKind;

use super::{Case, Ruling, limiter, percent, ruled_out};

pub(super) fn rule(case: &Case<'_>) -> Ruling {
    let share = case.ledger.share(AccountKind::Stopped);
    let found = limiter(
        "stopped",
        share,
        format!(
            "Something stops the program: for {} of the time it cannot run at all.",
            percent(share)
        ),
        vec![format!(
            "threads in the state T of /proc/PID/stat at {} of the moments",
            percent(share)
        )],
        "look for a debugger or tracer (TracerPid in /proc/PID/status) and for what sends SIGSTOP: auditd, a batch system, a limiter of CPU time",
    );
    Ruling::by_share(found, || {
        ruled_out(
            "stopped by a signal or debugger",
            format!("in state T at {} of the moments", percent(share)),
        )
    })
}

#[cfg(test)]
mod tests {
    use model::observation::{Doing, Holder};

    use super::super::cases::{busy, held, is_accused, moment};
    use super::*;

    #[test]
    fn a_program_that_is_stopped_a_third_of_the_time_is_told() {
        let mut seen = busy();
        assert!(!is_accused(rule, &seen));
        seen.moments
            .push(moment(Holder::Unread, Doing::Stopped, 50.0));
        let found = held(rule, &seen);
        assert!((found.share - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(found.gain, "up to 50 % more answers");
    }
}
