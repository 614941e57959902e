//! The view of a sweep: the answer, the levels, knee and law.

use model::judgement::{LevelShape, LoadSweep, QuantileShape, RoundsEstimate};
use model::load_run::SavedLoad;
use model::sweep::Axis;

use super::{add_list, add_notes, at_once, connections, stopped};
use crate::chart::sweep::curve;
use crate::view::{Column, Page, Row, Shown, Table};
use crate::{html, numbers, text, usl};

/// Fewest rounds for an interval at 95 %; with fewer, it is the whole range.
const FEWEST_ROUNDS: u32 = 6;

/// Adds notes to a sweep: about its levels and rounds, and about what stopped it.
pub fn remarked(mut sweep: LoadSweep, stopped_by: Option<&str>) -> LoadSweep {
    let named = |is: &dyn Fn(&LevelShape) -> bool| {
        let of = sweep.levels.iter().filter(|level| is(level));
        let loads: Vec<String> = of.map(|level| numbers::whole(level.load)).collect();
        (!loads.is_empty()).then(|| loads.join(", "))
    };
    let limited = named(&|level| level.client_is_limit)
        .map(|loads| format!("at {loads} the client was the limit: knee and law leave that out"));
    let silent = named(&|level| is_silent(&sweep, level)).map(|loads| {
        format!("at {loads} a block had no right answer: knee and law leave that out")
    });
    let lowest = sweep
        .levels
        .first()
        .map_or(f64::INFINITY, |level| level.load);
    let is_few = sweep.axis == Axis::Connections && lowest < f64::from(sweep.threads);
    let fewer = is_few
        .then(|| "levels below the number of threads (-t) are offered by fewer threads".to_owned());
    let mut found = sweep.levels.iter().filter_map(|level| level.throughput_rps);
    let short = found.any(|found| found.rounds < FEWEST_ROUNDS).then(|| {
        format!(
            "with fewer than {FEWEST_ROUNDS} rounds an interval is the whole range, and covers less than \
             95 %"
        )
    });
    let stopped = stopped(sweep.is_over, stopped_by, sweep.blocks.len());
    let notes = [limited, silent, fewer, short, stopped];
    sweep.notes.extend(notes.into_iter().flatten());
    sweep
}

/// Whether a block of the level had no right answer.
fn is_silent(sweep: &LoadSweep, level: &LevelShape) -> bool {
    let mut blocks = sweep.blocks.iter();
    blocks.any(|block| block.load.to_bits() == level.load.to_bits() && block.throughput_rps <= 0.0)
}

/// Renders a sweep for a terminal of `width` columns, with or without colour.
pub fn render(sweep: &LoadSweep, width: usize, colour: bool) -> String {
    text::laid_out(view(sweep), width, colour)
        .trim_end()
        .to_owned()
}

/// Renders a sweep for a browser.
pub fn page(run: &SavedLoad, sweep: &LoadSweep) -> String {
    html::render_load(
        run,
        "Beyond which load does more bring only waiting?",
        "Every level was measured once a round, in random order.",
        view(sweep),
    )
}

fn view(sweep: &LoadSweep) -> Page {
    let mut page = Page {
        answer: format!("{} {}", most(sweep), knee(sweep)),
        doubts: sweep.doubts.iter().map(|it| it.doubt.clone()).collect(),
        ..Page::default()
    };
    page.section("levels", "Level by level");
    page.figure(
        "levels",
        &curve(sweep),
        "Estimates over the rounds, with intervals at 95 %.",
    );
    page.table(table(sweep));
    add_list(&mut page, usl::TITLE, law(sweep));
    add_list(&mut page, "Measured as follows", measured(sweep));
    add_notes(&mut page, &sweep.notes);
    page
}

/// Names the level with the most throughput.
fn most(sweep: &LoadSweep) -> String {
    let known = sweep
        .levels
        .iter()
        .filter_map(|level| Some((level, level.throughput_rps?)));
    let most = known.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let Some((level, throughput)) = most else {
        return format!("No request to {} was answered.", sweep.target);
    };
    let limit = if level.client_is_limit {
        "; there the client was the limit, and the target may carry more"
    } else {
        ""
    };
    format!(
        "At most {} requests/s ({}), at {} {}{limit}.",
        numbers::rate(throughput.value),
        numbers::interval(&throughput.into(), numbers::rate),
        numbers::rate(level.load),
        offered(sweep.axis, level.load)
    )
}

fn knee(sweep: &LoadSweep) -> String {
    let none = "No knee within the range:";
    let knee = &sweep.knee;
    match (knee.is, knee.load.zip(knee.low).zip(knee.high)) {
        (_, Some(((load, low), high))) => format!(
            "The knee is at {} {} ({} … {}): more load costs more in waiting than it brings.",
            numbers::rate(load),
            offered(sweep.axis, load),
            numbers::rate(low),
            numbers::rate(high)
        ),
        ("above", _) => format!("{none} throughput over time to an answer may rise beyond it."),
        ("below", _) => {
            format!("{none} throughput over time to an answer may fall from its start.")
        }
        _ => format!("{none} the levels do not determine one."),
    }
}

fn offered(axis: Axis, load: f64) -> &'static str {
    match axis {
        Axis::Connections if load.total_cmp(&1.0).is_eq() => "connection",
        Axis::Connections => "connections",
        Axis::Rate => "requests/s offered",
    }
}

/// Lists how the sweep was measured.
fn measured(sweep: &LoadSweep) -> Vec<String> {
    let rounds = sweep.blocks.iter().map(|block| block.round).max();
    let load = match sweep.connections {
        None => at_once(sweep.http, sweep.streams)
            .map(|(protocol, each)| format!("{protocol}, {each} on each connection")),
        Some(held) => Some(format!(
            "{} arrivals over {}",
            sweep.arrivals.unwrap_or_default().name(),
            connections(held, sweep.http, sweep.streams)
        )),
    };
    let sweeping = format!(
        "{}, {} levels in {} rounds in random order",
        sweep.sweep,
        sweep.levels.len(),
        rounds.unwrap_or(0)
    );
    let block = format!(
        "{} after {} of settling",
        numbers::seconds(sweep.block_seconds),
        numbers::seconds(sweep.settle_seconds)
    );
    let mut items = vec![
        format!("target: {} ({})", sweep.target, sweep.address),
        format!("sweep: {sweeping}"),
    ];
    items.extend(load.map(|load| format!("load: {load}")));
    items.push(format!("block: {block}"));
    items
}

fn table(sweep: &LoadSweep) -> Table {
    let (load, time) = match sweep.axis {
        Axis::Connections => ("connections", "service"),
        Axis::Rate => ("offered/s", "response"),
    };
    let headings = [
        load,
        "requests/s",
        &format!("{time} p50"),
        "p99",
        "server CPU µs/req",
        "client CPU µs/req",
        "whole machine µs/req",
        "limit",
    ];
    let columns = headings.into_iter().map(Column::figures).collect();
    let rows = sweep.levels.iter().map(row).collect();
    Table::new("Figures of every level", columns, rows)
}

fn row(level: &LevelShape) -> Row {
    let figure = |found: Option<RoundsEstimate>, shown: fn(f64) -> String| {
        Shown::estimate(found.map(Into::into), shown)
    };
    let limit = if level.client_is_limit { "client" } else { "" };
    Row::of(vec![
        Shown::text(numbers::rate(level.load)),
        figure(level.throughput_rps, numbers::rate),
        quantile(level.latency_us_p50),
        quantile(level.latency_us_p99),
        figure(level.server_cpu_us_per_request, numbers::micros),
        figure(level.client_cpu_us_per_request, numbers::micros),
        figure(level.machine_cpu_us_per_request, numbers::micros),
        Shown::text(limit),
    ])
}

fn quantile(found: Option<QuantileShape>) -> Shown {
    let shown = found.map(|of| numbers::seconds(of.value / 1e6));
    Shown::text(shown.unwrap_or_else(|| numbers::MISSING.to_owned()))
}

/// Lists the law's coefficients, or says why it is not fitted.
fn law(sweep: &LoadSweep) -> Vec<String> {
    if sweep.axis == Axis::Rate {
        return Vec::new();
    }
    let Some(fit) = &sweep.usl else {
        let why = "not fitted: it needs two complete rounds of six levels that answer and at which the client is \
                   not the limit";
        return vec![why.to_owned()];
    };
    let is_usable = |level: &&LevelShape| !level.client_is_limit && !is_silent(sweep, level);
    let usable = sweep.levels.iter().filter(is_usable);
    let most = usable.map(|level| level.load).fold(0.0, f64::max);
    usl::items(fit, "connections", most)
}
