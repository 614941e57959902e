//! What a person sees of a link: what it was, what it carried, what to doubt.

use agent::link::Carried;
use model::link::{LinkPlan, LinkReading, LinkShape, QdiscReading};
use report::numbers;

use super::LinkReport;

pub(super) fn render(report: &LinkReport) -> String {
    let mut parts = vec![answer(report), table(report)];
    parts.extend(doubts(report));
    parts.join("\n\n")
}

fn answer(report: &LinkReport) -> String {
    let elapsed_ns = u64::try_from(report.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let time = numbers::duration(elapsed_ns);
    let (link, code) = (report::link::words(&report.plan), report.exit_code);
    let chances = chances(&report.plan);
    format!("link: {link}.{chances} The command ended with {code} after {time}.")
}

/// The way to have the same packets struck again, where any are by chance.
fn chances(plan: &LinkPlan) -> String {
    let has_any = |shape: &LinkShape| shape.loss_share > 0.0 || shape.reorder.is_some();
    let is_by_chance = [plan.up, plan.down].iter().any(has_any);
    let seed = plan.seed.filter(|_| is_by_chance);
    seed.map_or_else(String::new, |seed| {
        format!(" Its chances were those of --seed {seed}.")
    })
}

const COLUMNS: [&str; 8] = [
    "", "packets", "carried", "lost", "dropped", "late p50", "p99", "most",
];

/// The kernel tells neither how late packets were nor by which of two ways they were lost.
const KERNEL_COLUMNS: [&str; 5] = ["", "packets", "carried", "dropped", "waiting"];

fn table(report: &LinkReport) -> String {
    let lines = match &report.carried {
        Carried::Userspace(readings) => vec![
            line(&COLUMNS.map(str::to_owned)),
            row("up", &readings.up),
            row("down", &readings.down),
        ],
        Carried::Kernel {
            readings: [up, down],
            ..
        } => vec![
            line(&KERNEL_COLUMNS.map(str::to_owned)),
            kernel_row("up", up),
            kernel_row("down", down),
            String::new(),
            format!("  The kernel has {} up", up.qdisc),
            format!("  and {} down.", down.qdisc),
        ],
    };
    lines.join("\n")
}

fn row(direction: &str, reading: &LinkReading) -> String {
    let tally = &reading.tally;
    let late = |quantile| {
        let late_ns = reading.lateness_ns.carried(quantile);
        late_ns.map_or_else(|| "–".to_owned(), numbers::duration)
    };
    let most = reading.lateness_ns.quantile(1.0);
    line(&[
        direction.to_owned(),
        count(tally.offered_packets),
        numbers::bytes(tally.carried_bytes),
        count(tally.lost_packets),
        count(tally.dropped_packets),
        late(0.5),
        late(0.99),
        most.map_or_else(|| "–".to_owned(), numbers::duration),
    ])
}

fn kernel_row(direction: &str, reading: &QdiscReading) -> String {
    let offered = reading.carried_packets + reading.dropped_packets + reading.held_packets;
    line(&[
        direction.to_owned(),
        count(offered),
        numbers::bytes(reading.carried_bytes),
        count(reading.dropped_packets),
        count(reading.held_packets),
    ])
}

fn count(packets: u64) -> String {
    numbers::whole(packets as f64)
}

fn line(cells: &[String]) -> String {
    let [name, rest @ ..] = cells else {
        return String::new();
    };
    let mut line = format!("  {name:<5}");
    for cell in rest {
        line += &format!("{cell:>11}");
    }
    line
}

fn doubts(report: &LinkReport) -> Option<String> {
    let lines = report
        .doubts
        .iter()
        .map(|doubt| format!("  - {}\n    → {}", doubt.what(), doubt.advice()));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
