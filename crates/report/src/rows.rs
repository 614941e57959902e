//! The tables of servers under load: one row per arm, and the account of the whole machine.

use model::judgement::{ArmResult, MachineResult, StepResult};
use model::{Estimate, Judgement, Role, RunRecord};

use crate::view::{Column, Medium, Row, Shown, Table};
use crate::{numbers, sentences};

/// Figures of every arm in the study's order, with control and floor last.
pub(crate) fn arms(run: &RunRecord, judgement: &Judgement) -> Table {
    let (against, unit) = (sentences::compared_with(run), sentences::unit(run));
    // Shown only where requests are counted: nobody loads a command, and nothing serves it.
    let of_request = |found: Option<Estimate>| found.filter(|_| unit == "request");
    let columns = vec![
        Column::words("step"),
        Column::figures(match unit {
            "run" => "CPU, µs per run".to_owned(),
            _ => format!("server CPU, µs per {unit}"),
        }),
        Column::figures(format!("change against {against}")),
        Column::words("verdict"),
        Column::figures("client, µs"),
        Column::figures(sentences::rate_of(unit)),
        Column::figures("of the floor"),
        Column::figures("n"),
        Column::figures("implied requests/s per server CPU").only_on(Medium::Browser),
    ];
    let row = |arm: &ArmResult| {
        let step = comparison_of(judgement, arm);
        let why = run.study.steps.iter().find(|step| step.name == arm.name);
        Row {
            beside: is_beside(arm.role),
            cells: vec![
                Shown::text(role_title(arm)).with_remark(why.map_or("", |step| &step.why)),
                Shown::estimate(arm.server_cpu_us_per_request, numbers::micros),
                Shown::change(step.and_then(|step| step.effect)),
                Shown::verdict(step.map(|step| step.verdict)),
                Shown::estimate(of_request(arm.client_cpu_us_per_request), numbers::micros)
                    .without_interval(),
                Shown::estimate(arm.throughput_rps, numbers::rate).without_interval(),
                Shown::estimate(arm.share_of_floor, numbers::share).without_interval(),
                Shown::text(n(arm, step)),
                Shown::estimate(of_request(arm.implied_rps_per_cpu), numbers::rate)
                    .without_interval(),
            ],
        }
    };
    let rows = in_order(judgement).map(row).collect();
    Table::new("Figures of every arm", columns, rows)
}

/// The whole machine's account beside those of the processes; older runs have none.
pub(crate) fn machine(run: &RunRecord, judgement: &Judgement) -> Table {
    let per = format!("CPU, µs per {}", sentences::unit(run));
    let processes = [&per, "server process", "client process"];
    let headings = processes.into_iter().chain([sentences::whole_machine(run)]);
    let columns = headings.chain(MACHINE_PARTS).map(Column::figures);
    let row = |arm: &ArmResult| {
        let found = arm.machine.as_ref()?;
        let mut cells = vec![
            Shown::text(role_title(arm)),
            Shown::estimate(arm.server_cpu_us_per_request, numbers::micros).without_interval(),
            Shown::estimate(arm.client_cpu_us_per_request, numbers::micros).without_interval(),
            Shown::estimate(Some(found.cpu_us_per_request), numbers::micros),
        ];
        cells.extend(machine_parts(found).map(Shown::text));
        let beside = is_beside(arm.role);
        Some(Row { beside, cells })
    };
    let rows = in_order(judgement).filter_map(row).collect();
    let title = match run.is_watched() {
        true => "CPU time per kB carried of the server and of the whole machine",
        false => "CPU time per request of the processes and of the whole machine",
    };
    Table::new(title, columns.collect(), rows)
}

fn in_order(judgement: &Judgement) -> impl Iterator<Item = &ArmResult> {
    let arms = || judgement.arms.iter();
    let rungs = arms().filter(|arm| !is_beside(arm.role));
    rungs.chain(arms().filter(|arm| is_beside(arm.role)))
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

/// Headings for the parts of the whole machine's CPU time.
pub(crate) const MACHINE_PARTS: [&str; 5] = ["user", "system", "irq", "softirq", "stolen"];

fn machine_parts(found: &MachineResult) -> [String; 5] {
    let parts = [
        found.user_us_per_request,
        found.system_us_per_request,
        found.irq_us_per_request,
        found.softirq_us_per_request,
        found.stolen_us_per_request,
    ];
    parts.map(numbers::micros)
}

/// Returns an arm's title; control and floor say what they are, whatever their titles.
pub(crate) fn role_title(arm: &ArmResult) -> String {
    match arm.role {
        Role::Control => format!("control: {}", arm.title),
        Role::Floor => format!("floor: {}", arm.title),
        _ => arm.title.clone(),
    }
}

/// Number of pairs behind a comparison, or of blocks behind an arm that is compared with nothing.
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
        let judgement = sample::judgement();
        let names: Vec<&str> = in_order(&judgement).map(|arm| arm.name.as_str()).collect();
        assert_eq!(names[..2], ["baseline", "application"]);
        assert_eq!(names[6..], ["control", "floor"]);
        let rows = arms(&sample::run(), &judgement).rows;
        assert_eq!(rows.iter().filter(|row| row.beside).count(), 2);
    }

    #[test]
    fn a_row_carries_value_interval_verdict_and_n() {
        let rows = arms(&sample::run(), &sample::judgement()).rows;
        let netfilter: Vec<String> = rows[3].cells.iter().map(Shown::joined).collect();
        let expected = ["−22.1 % (−23.0…−21.2)", "better"];
        assert_eq!(netfilter[2..4], expected);
        assert_eq!(netfilter[7], "16");
        assert!(rows[0].cells[2].is_empty());
    }
}
