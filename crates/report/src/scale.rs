//! What further workers bring, as a sentence and as a table.

use model::Judgement;
use model::judgement::{Scale, ScaleLevel};

use crate::view::{Column, Item, Page, Row, Shown, Table};
use crate::{numbers, usl};

/// Answers how a target scales: what the largest number of workers achieves, and from which number
/// on more workers bring nothing.
pub(crate) fn sentence(scale: &Scale) -> Option<String> {
    let (first, last) = (scale.levels.first()?, scale.levels.last()?);
    let times = f64::from(last.workers) / f64::from(first.workers);
    let of_linear = format!(
        "of {} times what {}",
        (times * 100.0).round() / 100.0,
        match first.workers {
            1 => "one does".to_owned(),
            several => format!("{several} do"),
        }
    );
    let mut sentence = if first.client_is_limit || last.client_is_limit {
        let seen = last.throughput_rps.map(|rate| numbers::rate(rate.value))?;
        let implied = implied_share(first, last).map_or_else(String::new, |share| {
            let rate = last.implied_rps.map_or(0.0, |rate| rate.value);
            format!(
                "; by CPU time they could carry {} requests/s, {} {of_linear}",
                numbers::rate(rate),
                numbers::share(share)
            )
        });
        let with = match last.client_is_limit {
            true => last.workers,
            false => first.workers,
        };
        let noun = if with == 1 { "worker" } else { "workers" };
        format!(
            "The client is the limit with {with} {noun}; {} workers reached {seen} requests/s{implied}.",
            last.workers
        )
    } else {
        let share = last.share_of_linear?;
        let seen = last.throughput_rps.map(|rate| numbers::rate(rate.value))?;
        format!(
            "{} workers answer {seen} requests/s, {} ({}) {of_linear}.",
            last.workers,
            numbers::share(share.value),
            numbers::interval(&share, numbers::share)
        )
    };
    if let Some(peak) = scale.usl.as_ref().and_then(|usl| usl.peak_at) {
        let [value, low, high] =
            [peak.value, peak.low, peak.high].map(|workers| numbers::rate(workers.round()));
        sentence += &format!(" More than {value} ({low} … {high}) bring nothing.");
    }
    Some(sentence)
}

/// Share of linear scaling that `last` achieves over `first`, by CPU time alone.
fn implied_share(first: &ScaleLevel, last: &ScaleLevel) -> Option<f64> {
    let times = f64::from(last.workers) / f64::from(first.workers);
    Some(last.implied_rps?.value / first.implied_rps?.value / times)
}

/// Adds the table of all numbers of workers, and the law.
pub(crate) fn add_to(page: &mut Page, judgement: &Judgement) {
    let Some(scale) = &judgement.scale else {
        return;
    };
    page.add(Item::Heading("What further workers bring"));
    page.table(table(scale));
    let is_usable = |level: &&ScaleLevel| !level.client_is_limit && level.throughput_rps.is_some();
    let usable = scale.levels.iter().filter(is_usable);
    let most = usable
        .map(|level| f64::from(level.workers))
        .fold(0.0, f64::max);
    let items = scale.usl.as_ref().map_or_else(
        || {
            let why = "not fitted: it needs two complete rounds of six numbers of workers at which the \
                       client is not the limit";
            vec![why.to_owned()]
        },
        |fit| usl::items(fit, "workers", most),
    );
    page.paragraph(format!("{}:", usl::TITLE));
    page.add(Item::List(items));
}

fn table(scale: &Scale) -> Table {
    let columns = [
        "workers",
        "requests/s seen",
        "share of linear",
        "requests/s that CPU time implies",
    ];
    let columns = columns.into_iter().map(Column::figures);
    let columns = columns.chain([Column::words("limit")]).collect();
    let row = |level: &ScaleLevel| {
        let limit = if level.client_is_limit { "client" } else { "" };
        Row::of(vec![
            Shown::text(level.workers.to_string()),
            Shown::estimate(level.throughput_rps, numbers::rate),
            Shown::estimate(level.share_of_linear, numbers::share),
            Shown::estimate(level.implied_rps, numbers::rate).without_interval(),
            Shown::text(limit),
        ])
    };
    let rows = scale.levels.iter().map(row).collect();
    Table::new("Figures of every number of workers", columns, rows)
}
