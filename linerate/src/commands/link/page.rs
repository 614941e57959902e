//! What a person sees of a link: what it was, what it carried, what to doubt.

use agent::link::Carried;
use model::link::{LinkRate, LinkReading, LinkShape, QdiscReading, QueueLimit, Via};
use report::numbers;

use super::Report;
use crate::commands::quantiles::carried;

pub(super) fn render(report: &Report) -> String {
    let mut parts = vec![answer(report), table(report)];
    parts.extend(doubts(report));
    parts.join("\n\n")
}

fn answer(report: &Report) -> String {
    let (up, down) = (&report.plan.up, &report.plan.down);
    let what = if up == down {
        format!("{} each way", words(up))
    } else {
        format!("up {}; down {}", words(up), words(down))
    };
    let elapsed_ns = u64::try_from(report.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let time = numbers::duration(elapsed_ns);
    let code = report.exit_code;
    let by = match report.plan.via {
        Via::Userspace => String::new(),
        via => format!(" by {via}"),
    };
    format!("link{by}: {what}. The command ended with {code} after {time}.")
}

fn words(shape: &LinkShape) -> String {
    let mut words = vec![match shape.delay_ns {
        0 => "no delay".to_owned(),
        ns => format!("{} of delay", numbers::duration(ns)),
    }];
    words.extend(shape.rate.map(|rate| rate_words(rate, shape.queue)));
    if shape.loss_share > 0.0 {
        words.push(format!("{} lost", percent(shape.loss_share)));
    }
    words.extend(shape.reorder.map(|reorder| {
        let early = numbers::duration(reorder.early_ns);
        format!("{} early by {early}", percent(reorder.share))
    }));
    words.join(", ")
}

/// As it was typed: twelve places are more than anybody types and fewer than a share has wrong.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e14).round() / 1e12)
}

fn rate_words(rate: LinkRate, queue: QueueLimit) -> String {
    let queue = match queue {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => numbers::bytes(bytes),
        QueueLimit::WaitNs(ns) => numbers::duration(ns),
    };
    let rate = match rate {
        LinkRate::Steady { bits_per_second } => bits(bits_per_second),
        LinkRate::Credit {
            burst_bits_per_second,
            bucket_bytes,
            base_bits_per_second,
        } => format!(
            "{} until {} of credit are spent, then {}",
            bits(burst_bits_per_second),
            numbers::bytes(bucket_bytes),
            bits(base_bits_per_second)
        ),
    };
    format!("{rate} with a queue of {queue}")
}

/// In the unit that suits it, as it may be typed.
fn bits(bits_per_second: u64) -> String {
    let rate = bits_per_second as f64;
    match bits_per_second {
        1_000_000_000.. => format!("{} Gbit/s", rate / 1e9),
        1_000_000.. => format!("{} Mbit/s", rate / 1e6),
        1_000.. => format!("{} kbit/s", rate / 1e3),
        _ => format!("{bits_per_second} bit/s"),
    }
}

const COLUMNS: [&str; 8] = [
    "", "packets", "carried", "lost", "dropped", "late p50", "p99", "most",
];

/// The kernel tells neither how late packets were nor by which of two ways they were lost.
const KERNEL_COLUMNS: [&str; 5] = ["", "packets", "carried", "dropped", "waiting"];

fn table(report: &Report) -> String {
    let lines = match &report.carried {
        Carried::Userspace(readings) => vec![
            line(&COLUMNS.map(str::to_owned)),
            row("up", &readings.up),
            row("down", &readings.down),
        ],
        Carried::Kernel([up, down]) => vec![
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
        let late_ns = carried(&reading.lateness_ns, quantile);
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

fn doubts(report: &Report) -> Option<String> {
    let lines = report
        .doubts
        .iter()
        .map(|doubt| format!("  - {}\n    → {}", doubt.what(), doubt.advice()));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::link::spelling;

    #[test]
    fn a_share_is_told_as_it_was_typed() {
        for text in ["0.41", "7", "0.0001", "29.7", "100"] {
            let share = spelling::parse_share(&format!("{text}%")).unwrap();
            assert_eq!(percent(share), format!("{text} %"));
        }
    }
}
