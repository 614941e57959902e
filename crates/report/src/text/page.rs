//! The sections of the terminal's page, in the order in which they are read.

use model::judgement::LatencyResult;
use model::{Judgement, RunRecord};

use super::paint::{Paint, Style};
use super::sheet::Sheet;
use crate::between_boots::{self, BootsView};
use crate::not_crossed::not_crossed;
use crate::side_by_side::{self, LatencyByArm};
use crate::whole::{self, WholeLadder};
use crate::{answer, link, numbers, rows, sentences};

/// A page under construction.
pub(crate) struct Page {
    sheet: Sheet,
}

impl Page {
    pub(crate) fn new(width: usize, paint: Paint) -> Self {
        Self {
            sheet: Sheet::new(width, paint),
        }
    }

    pub(crate) fn render(mut self, run: &RunRecord, judgement: &Judgement) -> String {
        self.answer(run, judgement);
        self.table(run, judgement);
        self.machine(run, judgement);
        self.beside(run, judgement);
        self.latency(&sentences::latency_for_readers(run, judgement));
        self.published(run, judgement);
        self.sheet.doubts(&judgement.doubts);
        self.sheet.text()
    }

    fn answer(&mut self, run: &RunRecord, judgement: &Judgement) {
        self.sheet
            .styled(Style::Strong, &answer::sentence(run, judgement));
        if let Some(hidden) = sentences::hidden_cpu(judgement) {
            self.sheet.paragraph(hidden);
        }
    }

    fn table(&mut self, run: &RunRecord, judgement: &Judgement) {
        let rows = rows::rows(judgement);
        let against = sentences::compared_with(run);
        let headings = [
            "step",
            "server CPU, µs per request",
            &format!("change against {against}"),
            "verdict",
            "client, µs",
            "requests/s seen",
            "of the floor",
            "n",
        ];
        let cells = rows.into_iter().map(|row| {
            vec![
                row.title,
                row.server_cpu.joined(),
                row.change.joined(),
                row.verdict,
                row.client_cpu.value,
                row.throughput.value,
                row.share_of_floor.value,
                row.n,
            ]
        });
        let cells = cells.collect();
        self.sheet.table(&headings, cells);
    }

    /// The account of the whole machine beside those of the processes; older runs have none.
    fn machine(&mut self, run: &RunRecord, judgement: &Judgement) {
        let rows = rows::rows(judgement);
        let rows = rows.into_iter().filter(|row| !row.machine_parts.is_empty());
        let cells = rows.map(|row| {
            let accounts = [
                row.title,
                row.server_cpu.value,
                row.client_cpu.value,
                row.machine.joined(),
            ];
            accounts.into_iter().chain(row.machine_parts).collect()
        });
        let cells: Vec<Vec<String>> = cells.collect();
        if cells.is_empty() {
            return;
        }
        let processes = ["CPU, µs per request", "server process", "client process"];
        let mut headings = processes.to_vec();
        headings.push(sentences::whole_machine(run));
        headings.extend(rows::MACHINE_PARTS);
        self.sheet.table(&headings, cells);
    }

    fn beside(&mut self, run: &RunRecord, judgement: &Judgement) {
        if let Some(under_test) = sentences::under_test(run) {
            self.sheet.paragraph(&under_test);
        }
        if let Some(link) = &run.study.link {
            let words = link::of_study(link);
            self.sheet.paragraph(&format!("Link: {words}."));
        }
        if let Some(whole) = sentences::whole_effect(run, judgement) {
            self.sheet.paragraph(&format!("Whole effect: {whole}"));
        }
        if let Some(whole) = whole::of(run, judgement) {
            self.both_ends(whole);
        }
        if let Some(boots) = between_boots::of(run, judgement) {
            self.between_boots(&boots);
        }
        let noise = [
            sentences::noise_floor(run, judgement),
            sentences::smallest_visible(judgement),
            sentences::sequential_error(judgement),
        ];
        let noise: Vec<String> = noise.into_iter().flatten().collect();
        if !noise.is_empty() {
            self.sheet.paragraph(&noise.join(" "));
        }
    }

    fn both_ends(&mut self, whole: WholeLadder) {
        let headings = [
            "step",
            "alone on the first state",
            "verdict",
            "in the last state",
            "verdict",
        ];
        let cells = whole.rows.into_iter().map(|row| {
            vec![
                row.title,
                row.alone.change,
                row.alone.verdict,
                row.at_the_top.change,
                row.at_the_top.verdict,
            ]
        });
        self.sheet.table(&headings, cells.collect());
        self.sheet.paragraph(&whole.confirmed);
        for sentence in &whole.together {
            self.sheet.paragraph(sentence);
        }
    }

    fn between_boots(&mut self, view: &BootsView) {
        self.sheet.paragraph(&view.state);
        self.sheet.list(&view.boots);
        self.sheet.paragraph(&view.warning);
    }

    fn latency(&mut self, results: &[LatencyResult]) {
        let Some(design) = sentences::latency_design(results) else {
            return;
        };
        self.sheet.paragraph(&format!("Latency. {design}"));
        if let Some(LatencyByArm { quantiles, rows }) = side_by_side::latency(results) {
            let quantiles = quantiles.iter().map(String::as_str);
            let headings: Vec<&str> = std::iter::once("response").chain(quantiles).collect();
            self.sheet.table(&headings, rows);
            return;
        }
        let mut headings = vec!["quantile".to_owned()];
        for result in results {
            headings.push(format!("{}: response", result.title));
            headings.push("service".to_owned());
        }
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        self.sheet.table(&headings, latency_cells(results));
    }

    fn published(&mut self, run: &RunRecord, judgement: &Judgement) {
        let Some(source) = &run.study.source else {
            return;
        };
        let baseline = [(
            run.study.baseline.title.as_str(),
            run.study.baseline.published,
        )];
        let steps = run
            .study
            .steps
            .iter()
            .map(|step| (step.title.as_str(), step.published));
        let cells: Vec<Vec<String>> = baseline
            .into_iter()
            .chain(steps)
            .filter_map(|(title, published)| {
                let published = published?;
                let gain = published.gain.map(numbers::published_gain);
                Some(vec![
                    title.to_owned(),
                    numbers::rate(published.throughput_rps),
                    gain.unwrap_or_default(),
                ])
            })
            .collect();
        if cells.is_empty() {
            return;
        }
        self.sheet.paragraph(&format!(
            "Published: {} ({}), on {}.",
            source.title, source.year, source.machine
        ));
        self.sheet
            .table(&["published step", "requests/s", "gain"], cells);
        self.not_crossed(run, judgement);
    }

    fn not_crossed(&mut self, run: &RunRecord, judgement: &Judgement) {
        let steps: Vec<String> = not_crossed(run, judgement)
            .into_iter()
            .map(|step| match step.gain.as_str() {
                "" => format!("{}: {}", step.title, step.why),
                gain => format!("{} ({gain}): {}", step.title, step.why),
            })
            .collect();
        if !steps.is_empty() {
            self.sheet.paragraph("Published, not crossed here:");
            self.sheet.list(&steps);
        }
    }
}

/// One row per quantile that any arm carries; response and service of each arm side by side.
fn latency_cells(results: &[LatencyResult]) -> Vec<Vec<String>> {
    sentences::carried_quantiles(results)
        .into_iter()
        .map(|quantile| {
            let mut cells = vec![numbers::quantile(quantile)];
            for result in results {
                cells.push(sentences::quantile_with_interval(
                    &result.response,
                    quantile,
                ));
                cells.push(sentences::quantile_alone(&result.service, quantile));
            }
            cells
        })
        .collect()
}
