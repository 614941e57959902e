//! The page of a factorial run: the answer, then the table cell by cell.

use model::command_run::{CommandBlock, Evidence, EvidencePiece};
use model::judgement::{ArmFigures, Beside, LevelResult, MetricInfo};
use model::study::Role;

use super::told::size;
use super::view::{Cell, View, figure_on};
use super::words::{after_comma, pairs};
use super::{answer, sentences};
use crate::chart;
use crate::view::{Column, Item, Key, Listing, Medium, Page, Row, Shown, Table};
use crate::{ceilings, machine_runs, numbers, servers};

const SERIES_CAPTION: &str = "One mark for each run of the first cell. What the machine does to every arm rises and falls in \
     all strips together, and pairs within a round cancel it. The control is the first arm once more.";
const MACHINE_NOTE: &str = "The whole machine is all CPUs by `/proc/stat`, which counts in ticks: user, system, irq and \
     softirq, including interrupts on idle CPUs and in kernel threads, and the work of others.";

/// Builds the page of a judged run. Without `blocks` it lacks only their chart.
pub(crate) fn page(view: View<'_>, blocks: &[CommandBlock], evidence: &Evidence) -> Page {
    let mut page = Page {
        answer: answer::sentence(view),
        note: sentences::lone_cells(view),
        keys: keys(view),
        doubts: view.judgement.doubts.clone(),
        ..Page::default()
    };
    page.section("cells", "What each level does");
    figures(&mut page, view);
    let title = |name: &str| {
        view.arm(name)
            .map_or(name, |arm| arm.title.as_str())
            .to_owned()
    };
    ceilings::add_arms_to(&mut page, &view.judgement.ceilings, "run", title);
    page.section("trust", "How far these figures can be trusted");
    let trust = sentences::trust(view);
    if !trust.is_empty() {
        page.add(Item::Sentences(trust));
    }
    let series = chart::commands::series(view, blocks);
    page.figure("series", &series, SERIES_CAPTION);
    if let Some(programs) = sentences::programs(view) {
        page.paragraph(programs);
    }
    page.section("evidence", "Evidence");
    add_evidence(&mut page, &evidence.pieces);
    page.section("cpu-time", "Where the CPU time went");
    others(&mut page, view);
    machine(&mut page, view);
    page.section("published", "Compared with the article");
    published(&mut page, view);
    page
}

fn figures(page: &mut Page, view: View<'_>) {
    let judgement = view.judgement;
    let curves = chart::commands::curves(view);
    page.figure("curves", &curves, "Medians with their intervals.");
    let ratios = chart::commands::ratios(view);
    page.figure("ratios", &ratios, ratios_caption(view));
    page.table(arms(view));
    for mean in &judgement.means {
        page.paragraph(sentences::mean(view, mean));
    }
    for found in &judgement.interactions {
        page.paragraph(sentences::interaction(view, found));
    }
    if let Some(lone) = sentences::lone_cells(view) {
        page.add_to_terminal(Item::Paragraph(lone));
    }
    page.add(Item::Note(sentences::comparisons(view)));
}

/// Table of every arm, cell by cell; the control comes last under a heading of its own. In a
/// browser, the other metrics stand beside the first.
fn arms(view: View<'_>) -> Table {
    let metric = view.metric();
    let others = || view.judgement.metrics.iter().skip(1);
    let mut columns = vec![
        Column::words(view.factor(&view.judgement.compare)),
        Column::figures(metric.title.clone()),
        Column::figures("change"),
        Column::words("verdict"),
        Column::figures("n"),
        Column::words("failed"),
    ];
    let titles = others().map(|metric| Column::figures(metric.title.clone()));
    columns.extend(titles.map(|column| column.only_on(Medium::Browser)));
    let row = |arm: &ArmFigures| {
        let found = view.contrast(arm);
        let figure = view.figure(arm);
        let n = found.map_or_else(
            || figure.map_or_else(String::new, |figure| figure.estimate.n.to_string()),
            |found| pairs(&found.change).to_string(),
        );
        let failed = match arm.failed {
            0 => String::new(),
            failed => format!("{failed} of {} runs failed", arm.runs),
        };
        let mut cells = vec![
            Shown::text(match arm.role {
                Role::Control => &arm.title,
                _ => view.own_level(arm),
            }),
            Shown::figure(figure, metric),
            found.map_or_else(Shown::default, |found| Shown::changed(&found.change)),
            Shown::verdict(found.map(|found| found.verdict)),
            Shown::text(n),
            Shown::text(failed),
        ];
        cells.extend(others().map(|metric| {
            let [figure, change] = other(arm, found, metric);
            figure.without_interval().with_remark(change.spoken())
        }));
        let beside = arm.role == Role::Control;
        Row { beside, cells }
    };
    let mut rows = by_cell(view, row);
    rows.extend(
        view.control()
            .into_iter()
            .flat_map(|control| [Row::heading("control".to_owned()), row(control)]),
    );
    Table::new("Figures of every arm, cell by cell", columns, rows)
}

/// Rows of all cells: for each cell a heading with its title, then its arms.
fn by_cell<'a>(view: View<'a>, row: impl Fn(&'a ArmFigures) -> Row) -> Vec<Row> {
    let of_cell = |cell: Cell<'a>| {
        let title = (!cell.title.is_empty()).then(|| Row::heading(cell.title.clone()));
        let arms: Vec<Row> = cell.arms.into_iter().map(&row).collect();
        title.into_iter().chain(arms).collect::<Vec<Row>>()
    };
    view.cells().into_iter().flat_map(of_cell).collect()
}

/// An arm's figure and its change on a metric that verdicts are not about.
fn other(arm: &ArmFigures, found: Option<&LevelResult>, metric: &MetricInfo) -> [Shown; 2] {
    let mut beside = found.into_iter().flat_map(|found| &found.beside);
    let change = beside.find(|beside: &&Beside| beside.metric == metric.name);
    [
        Shown::figure(figure_on(arm, &metric.name), metric),
        change.map_or_else(Shown::default, |beside| Shown::changed(&beside.change)),
    ]
}

/// Most lines of evidence that a terminal shows, or a browser shows unfolded.
const FEW_LINES: usize = 16;

/// Whether a piece of evidence is complete and so short that it may itself be the answer.
fn is_short(piece: &EvidencePiece) -> bool {
    let lines = piece.output.lines().count();
    piece.end.is_success() && piece.lines_left_out == 0 && (1..=FEW_LINES).contains(&lines)
}

/// Adds what the evidence commands printed. A terminal shows only short output.
fn add_evidence(page: &mut Page, pieces: &[EvidencePiece]) {
    for piece in pieces {
        if is_short(piece) {
            page.add_to_terminal(Item::Paragraph(format!("{}:", piece.title)));
            let lines = piece.output.lines().map(str::to_owned).collect();
            page.add_to_terminal(Item::Lines(lines));
        }
        page.add_to_browser(Item::Listing(listing(piece)));
    }
}

fn listing(piece: &EvidencePiece) -> Listing {
    let counts = piece.counts.iter();
    let mut remarks: Vec<String> = counts
        .map(|(text, count)| format!("{count} lines contain “{text}”"))
        .collect();
    if piece.lines_left_out > 0 {
        let left_out = piece.lines_left_out;
        remarks.push(format!("{left_out} more lines are left out here"));
    }
    if !piece.end.is_success() {
        remarks.push(format!("the command {}", piece.end.words()));
    }
    Listing {
        title: piece.title.clone(),
        command: piece.command.clone(),
        output: piece.output.clone(),
        remarks: remarks.join("; "),
        is_open: is_short(piece),
    }
}

/// Most arms for which a terminal shows all metrics beside the first.
const MOST_ARMS: usize = 12;

/// Adds the metrics beside the first for a terminal: the figure of the reference, and how the other
/// levels change it. With many arms only predicted metrics are shown, beside their predictions.
fn others(page: &mut Page, view: View<'_>) {
    let metrics = view.judgement.metrics.iter().skip(1);
    let is_shown = |metric: &&MetricInfo| {
        view.judgement.arms.len() <= MOST_ARMS || view.is_predicted(&metric.name)
    };
    let (shown, left_out): (Vec<_>, Vec<_>) = metrics.partition(is_shown);
    if !shown.is_empty() {
        let row = |arm: &ArmFigures| {
            let found = view.contrast(arm);
            let text = |metric: &&MetricInfo| {
                let [figure, change] = other(arm, found, metric);
                if change.is_empty() || view.is_predicted(&metric.name) {
                    return figure.without_interval();
                }
                change
            };
            let level = Shown::text(view.own_level(arm));
            Row::of(
                std::iter::once(level)
                    .chain(shown.iter().map(text))
                    .collect(),
            )
        };
        let mut columns = vec![Column::words(view.factor(&view.judgement.compare))];
        columns.extend(
            shown
                .iter()
                .map(|metric| Column::figures(metric.title.clone())),
        );
        let table = Table::new("Other metrics", columns, by_cell(view, row));
        page.add_to_terminal(Item::Table(table));
    }
    if !left_out.is_empty() {
        let titles = left_out.iter().map(|metric| metric.title.as_str());
        let titles = titles.collect::<Vec<_>>().join(", ");
        page.add_to_terminal(Item::Paragraph(format!(
            "The report and --json also have: {titles}."
        )));
    }
}

/// Adds the CPU account of the whole machine beside that of each arm's commands.
fn machine(page: &mut Page, view: View<'_>) {
    let arms = view.judgement.arms.iter().map(|arm| {
        let process = figure_on(arm, "cpu_ns").map(|figure| figure.estimate.value);
        (arm.title.as_str(), process, arm.machine.as_ref())
    });
    let table = machine_runs::table("arm", arms);
    if !table.rows.is_empty() {
        page.add(Item::Heading(
            "What the processes spent, and what the whole machine did",
        ));
        page.table(table);
        page.add_to_browser(Item::Note(MACHINE_NOTE.to_owned()));
    }
}

fn published(page: &mut Page, view: View<'_>) {
    let rows = view.published();
    if let Some(source) = &view.run.study.source {
        page.add_to_browser(Item::Article(servers::article(source, "")));
        if !rows.is_empty() {
            let text = format!("Published: {} ({}).", source.title, source.year);
            page.add_to_terminal(Item::Paragraph(text));
        }
    }
    let columns = vec![
        Column::words("published for"),
        Column::words("metric"),
        Column::figures("published"),
        Column::figures("here"),
        Column::words("claim"),
        Column::words("machine"),
    ];
    let row = |cells: Vec<String>| Row::of(cells.into_iter().map(Shown::text).collect());
    let rows = rows.into_iter().map(row).collect();
    let title = "Published figures and those of this run";
    page.table(Table::new(title, columns, rows));
}

/// Figures that a reader should remember: means, an interaction, the largest change and the noise.
fn keys(view: View<'_>) -> Vec<Key> {
    let judgement = view.judgement;
    let mut keys = Vec::new();
    let mut key = |figure: String, caption: String| keys.push(Key { figure, caption });
    let called = judgement.means.iter().filter(|mean| mean.verdict.is_call());
    for mean in called.take(2) {
        if let Some(effect) = &mean.effect {
            let [level, against] = [&mean.level, &mean.against].map(|name| view.compared(name));
            let place = after_comma(&view.cell(&mean.cell));
            key(
                numbers::ratio(effect.ratio),
                format!("geometric mean of {level} against {against}{place}"),
            );
        }
    }
    let mut interactions = judgement.interactions.iter();
    let called = interactions.find(|found| found.square.both.verdict.is_call());
    if let Some((found, effect)) = called.and_then(|found| Some((found, found.square.both.effect?)))
    {
        let [first, second] = &found.factors;
        let place = after_comma(&view.cell(&found.cell));
        key(
            numbers::ratio(effect.ratio),
            format!(
                "{} and {} together{place}",
                view.factor(first),
                view.factor(second)
            ),
        );
    }
    let called = judgement
        .contrasts
        .iter()
        .filter(|found| found.verdict.is_call());
    let largest = called.max_by(|a, b| size(a).total_cmp(&size(b)));
    if let Some((found, ratio)) = largest.and_then(|found| Some((found, found.change.ratio()?))) {
        let place = after_comma(&view.cell(&found.cell));
        let level = view.compared(&found.level);
        key(
            numbers::ratio(ratio),
            format!("is the largest change: {level}{place}"),
        );
    }
    let control = judgement.control.as_ref();
    let noise = control.and_then(|control| control.change.effect());
    if let Some(effect) = noise.filter(|effect| crate::sentences::is_bounded(effect)) {
        key(
            format!("{} %", crate::sentences::spread(effect)),
            "is how far the same command differs from itself here".to_owned(),
        );
    }
    keys
}

fn ratios_caption(view: View<'_>) -> String {
    let judgement = view.judgement;
    let mut parts = vec![
        "Changes come from pairs of runs within a round, so what drifts from round to round does not \
         affect them.",
    ];
    if judgement.control.is_some() {
        parts.push("The grey band is how far the same command differed from itself in this run.");
    }
    if judgement
        .contrasts
        .iter()
        .any(|found| found.verdict.is_void())
    {
        parts.push("Hollow marks have no verdict; the doubts say why.");
    }
    let mut contrasts = judgement.contrasts.iter();
    let mut means = judgement.means.iter();
    if contrasts.any(|found| !view.published_ratios(found).is_empty())
        || means.any(|mean| !view.published_means(mean).is_empty())
    {
        parts.push("Diamonds are the article’s ratios, one for each of its machines.");
    }
    parts.join(" ")
}
