//! The view of servers under load: a ladder, or arms side by side.

use model::judgement::{ArmResult, LatencyResult, Outcome, StepResult};
use model::source::Source;
use model::study::DesignKind;
use model::{BlockRecord, Judgement, RunRecord, Verdict};

use crate::view::{Article, Item, Key, Page, Table};
use crate::{
    answer, between_boots, ceilings, chart, functions, gate, link, not_crossed, numbers, rows,
    scale, sentences, side_by_side, whole,
};

const SERIES_CAPTION: &str = "One mark for each block. What the machine does to every arm rises and falls in all \
     strips together, and pairs within a round cancel it. The control is the baseline again.";

const MACHINE_NOTE: &str = "The whole machine is all CPUs by `/proc/stat`: user, system, irq and softirq, including \
     interrupts on idle CPUs and in kernel threads, and the work of others. It is counted in ticks, so no verdict \
     is based on it; time that a hypervisor stole is not part of the sum.";

/// What the article's figures must not be used for.
const CAUTION: &str = "Its machine is not this one, and its rates grow with every step of the article: compare gains, \
     not rates.";

/// Builds the view of a judged run. Without `blocks` it lacks only their chart.
pub(crate) fn view(run: &RunRecord, blocks: &[BlockRecord], judgement: &Judgement) -> Page {
    let hidden = sentences::hidden_cpu(judgement).map(str::to_owned);
    let mut page = Page {
        answer: answer::sentence(run, judgement),
        note: hidden.clone(),
        keys: keys(run, judgement),
        doubts: judgement.doubts.clone(),
        ..Page::default()
    };
    let title = match run.study.design.kind {
        DesignKind::Ladder => "What each step buys",
        DesignKind::Compare => "Side by side",
    };
    page.section("steps", title);
    if let Some(hidden) = hidden {
        page.add_to_terminal(Item::Paragraph(hidden));
    }
    figures(&mut page, run, judgement);
    beside(&mut page, run, judgement);
    let title = |name: &str| {
        let arm = judgement.arms.iter().find(|arm| arm.name == name);
        arm.map_or(name, |arm| arm.title.as_str()).to_owned()
    };
    let each = match sentences::unit(run) {
        "run" => "run",
        _ => "answer",
    };
    ceilings::add_arms_to(&mut page, &judgement.ceilings, each, title);
    page.section("trust", "How far these figures can be trusted");
    trust(&mut page, run, judgement);
    let series = chart::servers::series(run, blocks, judgement);
    page.figure("series", &series, SERIES_CAPTION);
    page.section("latency-heading", "How long an answer takes");
    latency(&mut page, &sentences::latency_for_readers(run, judgement));
    functions::add_to(&mut page, run, judgement);
    page.section("published", "Compared with the article");
    published(&mut page, run, judgement);
    page
}

fn figures(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    let gains = chart::servers::gains(run, judgement);
    let caption = gains_caption(run, judgement, gains.has_published());
    page.figure("gains", &gains, caption);
    page.table(rows::arms(run, judgement));
    let machine = rows::machine(run, judgement);
    if !machine.rows.is_empty() && sentences::unit(run) != "run" {
        page.add(Item::Heading(
            "What the processes spent, and what all CPUs did",
        ));
        page.table(machine);
        page.add_to_browser(Item::Note(MACHINE_NOTE.to_owned()));
    }
}

fn beside(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    if let Some(under_test) = sentences::under_test(run) {
        page.paragraph(under_test);
    }
    if let Some(link) = &run.study.link {
        page.paragraph(format!("Link: {}.", link::of_study(link)));
    }
    if let Some(whole) = whole::first_to_last(run, judgement) {
        page.paragraph(format!("Whole effect: {whole}"));
    }
    whole::add_to(page, run, judgement);
    scale::add_to(page, judgement);
    between_boots::add_to(page, run, judgement);
}

fn trust(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    let sentences = [
        sentences::noise_floor(run, judgement),
        judgement.gate.as_ref().and_then(gate::floor),
        sentences::smallest_visible(judgement),
        sentences::sequential_error(run, judgement),
    ];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    if !sentences.is_empty() {
        page.add(Item::Sentences(sentences));
    }
}

/// Adds the latency: few arms as columns, with curves that can be told apart, many as rows.
fn latency(page: &mut Page, results: &[LatencyResult]) {
    let Some(design) = side_by_side::latency_design(results) else {
        return;
    };
    if let Some(table) = side_by_side::latency(results) {
        page.paragraph(format!("Latency. {design}"));
        page.table(table);
        return;
    }
    page.add_to_terminal(Item::Paragraph(format!("Latency. {design}")));
    page.figure("latency", &chart::servers::latency(results), design);
    let mut headings = vec!["quantile".to_owned()];
    for result in results {
        headings.push(format!("{}: response", result.title));
        headings.push("service".to_owned());
    }
    let row = |quantile: f64| {
        let mut cells = vec![numbers::quantile(quantile)];
        for result in results {
            let response = sentences::quantile_with_interval(&result.response, quantile);
            let service = sentences::quantile_alone(&result.service, quantile);
            cells.extend([response, service]);
        }
        cells
    };
    let rows = sentences::carried_quantiles(results).into_iter().map(row);
    page.table(Table::of_texts("Latency by quantile", headings, rows));
}

fn published(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    let (Some(source), study) = (&run.study.source, &run.study) else {
        return;
    };
    let baseline = [(study.baseline.title.as_str(), study.baseline.published)];
    let steps = study.steps.iter();
    let steps = steps.map(|step| (step.title.as_str(), step.published));
    let rows = baseline.into_iter().chain(steps);
    let rows = rows.filter_map(|(title, published)| {
        let published = published?;
        let gain = published.gain.map(numbers::published_gain);
        let rate = numbers::rate(published.throughput_rps);
        Some(vec![title.to_owned(), rate, gain.unwrap_or_default()])
    });
    let headings = ["published step", "requests/s", "gain"];
    let table = Table::of_texts("Published figures", headings, rows);
    if table.rows.is_empty() {
        page.add_to_browser(Item::Article(article(source, "")));
        return;
    }
    page.add_to_terminal(Item::Paragraph(format!(
        "Published: {} ({}), on {}.",
        source.title, source.year, source.machine
    )));
    page.add_to_browser(Item::Article(article(source, CAUTION)));
    page.table(table);
    let steps = not_crossed::not_crossed(run, judgement);
    if !steps.is_empty() {
        page.paragraph("Published steps that were not taken here:");
        page.add(Item::List(steps));
    }
}

/// The article of a study, as a page shows it.
pub(crate) fn article(source: &Source, caution: &'static str) -> Article {
    let is_web = ["https://", "http://"].map(|scheme| source.url.starts_with(scheme));
    Article {
        title: source.title.clone(),
        url: source.url.clone(),
        is_web: is_web.contains(&true),
        year: source.year,
        machine: source.machine.clone(),
        caution,
    }
}

fn gains_caption(run: &RunRecord, judgement: &Judgement, has_published: bool) -> String {
    let is_ladder = run.study.design.kind == DesignKind::Ladder;
    let is_void = |step: &StepResult| step.verdict == Verdict::Invalid;
    let band = sentences::noise(judgement).map(|_| {
        let identical = sentences::servers(run);
        format!("The grey band is how far two identical {identical} differed in this run.")
    });
    let parts = [
        is_ladder.then_some("Each step is taken on top of those before it."),
        Some(
            "Gains come from pairs of blocks within a round, so what drifts from round to round does \
             not affect them.",
        ),
        band.as_deref(),
        (judgement.steps.iter().any(is_void))
            .then_some("Hollow marks have no verdict; the doubts say why."),
        has_published.then_some("Diamonds are the published gains."),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Figures that a reader should remember.
fn keys(run: &RunRecord, judgement: &Judgement) -> Vec<Key> {
    let key = |figure: String, caption: &str| Key {
        figure,
        caption: caption.to_owned(),
    };
    let mut keys = Vec::new();
    if side_by_side::is_so(run, judgement) {
        keys.extend(
            side_by_side::range(judgement).map(|(figure, caption)| Key { figure, caption }),
        );
    } else if let Some((first, last)) = ends(judgement) {
        let is_ladder = run.study.design.kind == DesignKind::Ladder;
        keys.extend(from_to((run, judgement.outcome), is_ladder, first, last));
        if let (Outcome::ServerCpuPerRequest, true, Some(rate)) =
            (judgement.outcome, is_ladder, last.implied_rps_per_cpu)
        {
            let caption = "requests/s that this implies for one server CPU";
            keys.push(key(numbers::rate(rate.value), caption));
        }
        if let Some(share) = last.share_of_floor {
            let caption = "of what this kernel can do: a bare echo over the same sockets";
            keys.push(key(numbers::share(share.value), caption));
        }
    }
    if let Some(effect) = sentences::noise(judgement) {
        let spread = format!("{} %", sentences::spread(&effect));
        keys.push(key(
            spread,
            &format!(
                "is how far two identical {} differ here",
                sentences::servers(run)
            ),
        ));
    }
    keys
}

/// The two arms whose comparison is the answer.
fn ends(judgement: &Judgement) -> Option<(&ArmResult, &ArmResult)> {
    let ends = whole::confirmed_ends(judgement).or_else(|| answer::climbed(judgement));
    ends.map(|(first, last, _)| (first, last))
}

fn from_to(
    (run, outcome): (&RunRecord, Outcome),
    is_ladder: bool,
    first: &ArmResult,
    last: &ArmResult,
) -> Option<Key> {
    let (figure, noun) = match outcome {
        Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
            let [first, last] = [first, last].map(|arm| arm.server_cpu_us_per_request);
            let first = numbers::micros_roughly(first?.value);
            let last = numbers::micros_roughly(last?.value);
            let first = first.trim_end_matches(" µs");
            (
                format!("{first} → {last}"),
                sentences::outcome_of(run, outcome),
            )
        }
        Outcome::Throughput => {
            let [first, last] = [first, last].map(|arm| arm.throughput_rps);
            let [first, last] = [first?, last?].map(|found| numbers::rate(found.value));
            (format!("{first} → {last}"), "requests/s seen")
        }
    };
    let caption = if is_ladder {
        format!("{noun}, first to last")
    } else {
        format!("{noun}, {} → {}", first.title, last.title)
    };
    Some(Key { figure, caption })
}

/// Describes the load. The request is shown without its query, which may hold private data.
pub(crate) fn workload(run: &RunRecord) -> String {
    let (workload, design) = (&run.study.workload, &run.study.design);
    if sentences::unit(run) == "run" {
        return format!(
            "as many runs of the command as fit into {} ms, at least one, in up to {} rounds",
            design.score_ms, design.rounds
        );
    }
    if run.is_watched() {
        return format!(
            "the traffic that the server has, none of it ours; {} rounds of {} ms to settle and {} ms scored",
            design.rounds, design.settle_ms, design.score_ms
        );
    }
    format!(
        "GET {} over {} keep-alive connections from {} load generator thread{}; {}{} rounds of {} ms \
         to settle and {} ms scored{}",
        workload.path.split(['?', '#']).next().unwrap_or_default(),
        workload.connections,
        workload.threads,
        if workload.threads == 1 { "" } else { "s" },
        if design.looks.is_empty() {
            ""
        } else {
            "up to "
        },
        design.rounds,
        design.settle_ms,
        design.score_ms,
        match workload.workers.counts(1)[..] {
            [1] => String::new(),
            [workers, ..] => format!("; {workers} workers of the target"),
            [] => String::new(),
        }
    )
}
