//! The view of a test of streams: what a path carries.

use model::Estimate;
use model::credit::Credit;
use model::stream_run::{SavedStreams, StreamBlock, StreamWayJudged, StreamsJudged};

use crate::chart::streams::rates;
use crate::view::{Item, Key, Page, Shown, Table};
use crate::{numbers, text};

/// A test of streams, the blocks that were saved, and the judgement of them.
#[derive(Clone, Copy)]
pub struct StreamsSeen<'a> {
    pub run: &'a SavedStreams,
    pub blocks: &'a [StreamBlock],
    pub judged: &'a StreamsJudged,
}

/// Renders a test of streams for a terminal of `width` columns, with or without colour.
#[must_use]
pub fn render(seen: StreamsSeen<'_>, width: usize, colour: bool) -> String {
    text::laid_out(view(seen), width, colour)
}

pub(crate) fn view(seen: StreamsSeen<'_>) -> Page {
    let mut page = Page {
        answer: answer(seen),
        keys: seen.judged.ways.iter().map(key).collect(),
        doubts: seen.run.doubts.clone(),
        ..Page::default()
    };
    page.section("rates", "What was carried over time");
    let (chart, together) = rates(seen.blocks, &seen.judged.ways);
    let caption = match together {
        1 => "One interval at each point.".to_owned(),
        several => format!("{several} intervals together at each point."),
    };
    page.figure("rates", &chart, caption);
    page.table(plateaus(seen.judged));
    for way in &seen.judged.ways {
        if let Some(credit) = &way.credit {
            page.paragraph(format!("Credit {}", way.way));
            page.add(Item::List(of_credit(credit)));
        }
    }
    page.section("measured", "Measured as follows");
    page.add(Item::List(measured(seen)));
    page
}

fn answer(seen: StreamsSeen<'_>) -> String {
    let ways = seen.judged.ways.iter().map(of_way);
    let mut sentences: Vec<String> = ways.collect();
    match &seen.run.study.ending {
        None => {
            sentences.push(
                "The test has no recorded end: these are the intervals that were saved.".to_owned(),
            );
        }
        Some(ending) => {
            let ways = seen.judged.ways.iter().zip(&ending.limits);
            sentences
                .extend(ways.map(|(way, limit)| format!("The limit {} was {limit}.", way.way)));
            sentences.extend(
                ending
                    .broken
                    .as_ref()
                    .map(|why| format!("The test broke off: {why}.")),
            );
        }
    }
    sentences.join(" ")
}

fn of_way(way: &StreamWayJudged) -> String {
    let over = numbers::seconds(way.seconds);
    let rate = gbit(way.bits_per_second());
    match &way.credit {
        None => format!("{rate} {} over {over}.", way.way),
        Some(credit) => format!(
            "{} {} until a credit of {} is spent after {}, and {} from then on: {rate} over {over}.",
            gbit(credit.burst_bits_per_second.value),
            way.way,
            numbers::quantity(credit.credit_bytes.value, "bytes"),
            numbers::seconds(credit.spent_after_seconds.value),
            gbit(credit.base_bits_per_second.value),
        ),
    }
}

fn key(way: &StreamWayJudged) -> Key {
    let shown = way.credit.as_ref().map_or_else(
        || (way.bits_per_second(), "over the whole test"),
        |credit| {
            (
                credit.base_bits_per_second.value,
                "when the credit is spent",
            )
        },
    );
    Key {
        figure: gbit(shown.0),
        caption: format!("{} {}", way.way, shown.1),
    }
}

fn plateaus(judged: &StreamsJudged) -> Table {
    let rows = judged.ways.iter().flat_map(|way| {
        way.plateaus.iter().map(|one| {
            let rate = Shown::estimate(Some(one.bits_per_second), |bits| {
                numbers::three_digits(bits / 1e9)
            });
            vec![
                way.way.to_string(),
                numbers::three_digits(one.from_seconds),
                numbers::three_digits(one.to_seconds),
                rate.value,
                rate.interval,
            ]
        })
    });
    let headings = ["way", "from, s", "to, s", "Gbit/s", "interval at 95 %"];
    Table::of_texts("Plateaus of the rate", headings, rows)
}

fn of_credit(credit: &Credit) -> Vec<String> {
    let rate = |of: &Estimate| {
        let shown = |bits: f64| numbers::three_digits(bits / 1e9);
        format!("{} ({})", gbit(of.value), numbers::interval(of, shown))
    };
    let refill = credit.refill_seconds;
    vec![
        format!("burst rate: {}", rate(&credit.burst_bits_per_second)),
        format!("base rate: {}", rate(&credit.base_bits_per_second)),
        format!(
            "credit: {} above the base rate",
            numbers::quantity_with_interval(&credit.credit_bytes, "bytes")
        ),
        format!(
            "spent after: {} ({})",
            numbers::seconds(credit.spent_after_seconds.value),
            numbers::interval(&credit.spent_after_seconds, numbers::seconds)
        ),
        format!(
            "earned again without traffic in: {} ({})",
            numbers::seconds(refill.value),
            numbers::interval(&refill, numbers::seconds)
        ),
    ]
}

fn measured(seen: StreamsSeen<'_>) -> Vec<String> {
    let test = &seen.run.study;
    let asked = test.asked_seconds.map(numbers::seconds);
    let cost = test.ending.as_ref().and_then(|it| it.cpu_seconds_per_gb);
    let of_way = |way: &StreamWayJudged| {
        let again = way.retransmits.map_or_else(String::new, |count| {
            format!(", {} segments sent again", numbers::whole(count as f64))
        });
        let bytes = numbers::quantity(way.bytes as f64, "bytes");
        format!("{}: {bytes}{again}", way.way)
    };
    let streams = match test.streams {
        1 => "1 stream".to_owned(),
        count => format!("{count} streams"),
    };
    let mut items = vec![format!(
        "{streams} of {} each way, server on {}",
        test.carrier, test.target
    )];
    items.extend(asked.map(|asked| format!("asked for: {asked}")));
    items.extend(seen.judged.ways.iter().map(of_way));
    items.extend(
        cost.map(|cost| format!("both ends: {} CPU-s per GB", numbers::three_digits(cost))),
    );
    items
}

fn gbit(bits: f64) -> String {
    format!("{} Gbit/s", numbers::three_digits(bits / 1e9))
}
