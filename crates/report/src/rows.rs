//! One row per arm, in words: the table that text and HTML both show.

use model::judgement::{ArmResult, MachineResult, StepResult};
use model::{Effect, Estimate, Judgement, Role, Verdict};

use crate::numbers;

/// A value and its interval, as shown; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Figure {
    pub(crate) value: String,
    pub(crate) interval: String,
}

impl Figure {
    fn of(estimate: Option<Estimate>, shown: impl Fn(f64) -> String) -> Self {
        estimate.map_or_else(Self::default, |found| Self {
            value: shown(found.value),
            interval: numbers::interval(&found, &shown),
        })
    }

    fn of_change(effect: Option<Effect>) -> Self {
        effect.map_or_else(Self::default, |found| Self {
            value: numbers::change(found.ratio),
            interval: numbers::change_interval(&found),
        })
    }

    /// On one line: `11.9 (11.7…12.1)`.
    pub(crate) fn joined(&self) -> String {
        if self.interval.is_empty() {
            self.value.clone()
        } else {
            let tight = self.interval.replace(" … ", "…");
            format!("{} ({tight})", self.value)
        }
    }
}

/// One arm of the table.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) title: String,
    /// Control and floor: beside the ladder, not a rung of it.
    pub(crate) beside: bool,
    pub(crate) server_cpu: Figure,
    pub(crate) client_cpu: Figure,
    /// All CPUs of the server's host, and what they did: user, system, irq, softirq, stolen.
    pub(crate) machine: Figure,
    pub(crate) machine_parts: Vec<String>,
    pub(crate) change: Figure,
    pub(crate) throughput: Figure,
    pub(crate) implied: Figure,
    pub(crate) share_of_floor: Figure,
    pub(crate) verdict: String,
    /// `better`, `worse`, `none`, for the page's colours.
    pub(crate) tone: &'static str,
    pub(crate) n: String,
    pub(crate) published_rate: String,
    pub(crate) published_gain: String,
}

/// The rows in the study's order, with control and floor last.
pub(crate) fn rows(judgement: &Judgement) -> Vec<Row> {
    let (rungs, beside): (Vec<_>, Vec<_>) =
        judgement.arms.iter().partition(|arm| !is_beside(arm.role));
    rungs
        .into_iter()
        .chain(beside)
        .map(|arm| row(arm, comparison_of(judgement, arm)))
        .collect()
}

/// Whether an arm stands beside the ladder rather than on it.
pub(crate) fn is_beside(role: Role) -> bool {
    matches!(role, Role::Control | Role::Floor)
}

fn comparison_of<'a>(judgement: &'a Judgement, arm: &ArmResult) -> Option<&'a StepResult> {
    match arm.role {
        Role::Control => judgement.control.as_ref(),
        _ => judgement.steps.iter().find(|step| step.arm == arm.name),
    }
}

fn row(arm: &ArmResult, step: Option<&StepResult>) -> Row {
    let share = |value: f64| numbers::share(value);
    Row {
        name: arm.name.clone(),
        title: role_title(arm),
        beside: is_beside(arm.role),
        server_cpu: Figure::of(arm.server_cpu_us_per_request, numbers::micros),
        client_cpu: Figure::of(arm.client_cpu_us_per_request, numbers::micros),
        machine: Figure::of(
            arm.machine.map(|found| found.cpu_us_per_request),
            numbers::micros,
        ),
        machine_parts: arm.machine.as_ref().map_or_else(Vec::new, machine_parts),
        change: Figure::of_change(step.and_then(|step| step.effect)),
        throughput: Figure::of(arm.throughput_rps, numbers::rate),
        implied: Figure::of(arm.implied_rps_per_cpu, numbers::rate),
        share_of_floor: Figure::of(arm.share_of_floor, share),
        verdict: step.map_or_else(String::new, |step| step.verdict.words().to_owned()),
        tone: tone(step.map(|step| step.verdict)),
        n: n(arm, step),
        published_rate: arm
            .published
            .map_or_else(String::new, |beside| numbers::rate(beside.throughput_rps)),
        published_gain: arm
            .published
            .and_then(|beside| beside.gain)
            .map_or_else(String::new, numbers::published_gain),
    }
}

/// The headings of [`Row::machine_parts`].
pub(crate) const MACHINE_PARTS: [&str; 5] = ["user", "system", "irq", "softirq", "stolen"];

fn machine_parts(found: &MachineResult) -> Vec<String> {
    let parts = [
        found.user_us_per_request,
        found.system_us_per_request,
        found.irq_us_per_request,
        found.softirq_us_per_request,
        found.stolen_us_per_request,
    ];
    parts.map(numbers::micros).into()
}

/// Control and floor say what they are, whatever their titles.
pub(crate) fn role_title(arm: &ArmResult) -> String {
    match arm.role {
        Role::Control => format!("control: {}", arm.title),
        Role::Floor => format!("floor: {}", arm.title),
        _ => arm.title.clone(),
    }
}

/// The colour of a verdict.
pub(crate) fn tone(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Better) => "better",
        Some(Verdict::Worse | Verdict::Invalid) => "worse",
        _ => "none",
    }
}

/// Pairs behind a comparison; blocks behind an arm that is compared with nothing.
fn n(arm: &ArmResult, step: Option<&StepResult>) -> String {
    let pairs = step.and_then(|step| step.effect).map(|effect| effect.n);
    let blocks = arm
        .server_cpu_us_per_request
        .or(arm.throughput_rps)
        .map(|found| found.n);
    pairs
        .or(blocks)
        .map_or_else(String::new, |count| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn rungs_come_first_and_control_and_floor_stand_beside_them() {
        let rows = rows(&sample::judgement());
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "baseline",
                "application",
                "seccomp",
                "netfilter",
                "conntrack",
                "nosy-neighbour",
                "control",
                "floor"
            ]
        );
        assert_eq!(rows.iter().filter(|row| row.beside).count(), 2);
    }

    #[test]
    fn a_row_carries_value_interval_verdict_and_n() {
        let rows = rows(&sample::judgement());
        let netfilter = &rows[3];
        assert_eq!(netfilter.change.joined(), "−22.1 % (−23.0…−21.2)");
        assert_eq!(
            (netfilter.verdict.as_str(), netfilter.n.as_str()),
            ("better", "16")
        );
        assert_eq!(netfilter.published_gain, "+22 %");
        assert_eq!(rows[0].change, Figure::default());
    }
}
