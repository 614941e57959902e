//! What watching the machine at rest shows: whether other work uses its CPUs, whether others are
//! served, and whether its speed is steady.

use model::finding::Finding;

use super::{Subject, counted};

/// Shares of all CPUs: from the first on, other work is reported; above the second, a study needs
/// the owner's consent.
const WORK_SHOWS: f64 = 0.03;
const TOO_MUCH_WORK: f64 = 0.10;
/// Per cent of the last ten seconds in which a task waited; above it, a study needs the owner's
/// consent.
const TOO_MUCH_WAITING: f64 = 5.0;
/// Robust spread of the duration of a fixed piece of work: a quiet machine stays below the first.
/// Above the second, pairs of blocks can show only large effects.
const STEADY: f64 = 0.02;
const UNSTEADY: f64 = 0.15;

pub(super) fn check_work(subject: &Subject) -> Option<Finding> {
    Some(work(subject.watched.foreign_cpu_share))
}

pub(super) fn work(share: Option<f64>) -> Finding {
    let Some(share) = share else {
        return say!("foreign-work.hidden");
    };
    let exact = format!("{:.1}", share * 100.0);
    let percent = format!("{:.0}", share * 100.0);
    match share {
        ..WORK_SHOWS => say!("foreign-work.rest", exact),
        ..=TOO_MUCH_WORK => say!("foreign-work.some", percent, exact),
        _ => say!("foreign-work.much", percent, exact),
    }
}

pub(super) fn check_pressure(subject: &Subject) -> Option<Finding> {
    Some(pressure(subject.watched.psi_cpu_some_avg10))
}

pub(super) fn pressure(some_avg10: Option<f64>) -> Finding {
    let Some(some) = some_avg10 else {
        return say!("cpu-pressure.hidden");
    };
    let (exact, percent) = (format!("{some:.1}"), format!("{some:.0}"));
    match some <= TOO_MUCH_WAITING {
        true => say!("cpu-pressure.little", exact),
        false => say!("cpu-pressure.much", percent, exact),
    }
}

pub(super) fn check_connections(subject: &Subject) -> Option<Finding> {
    Some(connections(subject.watched.foreign_served_connections))
}

pub(super) fn connections(count: u32) -> Finding {
    let live = counted(count as usize, "live connection", "live connections");
    match count {
        0 => say!("served-connections.none"),
        _ => say!("served-connections.some", live),
    }
}

pub(super) fn check_speed(subject: &Subject) -> Option<Finding> {
    Some(speed(subject.watched.spin_robust_cv))
}

pub(super) fn speed(robust_cv: f64) -> Finding {
    let percent = format!("{:.1}", robust_cv * 100.0);
    match robust_cv {
        ..STEADY => say!("steady-speed.steady", percent),
        ..=UNSTEADY => say!("steady-speed.varies", percent),
        _ => say!("steady-speed.unsteady", percent),
    }
}
