//! The sections of the terminal's page, in the order in which they are read.

use model::judgement::LatencyResult;
use model::{Judgement, RunRecord};

use super::paint::{Paint, Style};
use super::table::Table;
use super::wrap::{hanging, wrap};
use crate::not_crossed::not_crossed;
use crate::{answer, numbers, rows, sentences};

/// A page of a width under construction.
pub(crate) struct Page {
    width: usize,
    paint: Paint,
    text: String,
}

impl Page {
    pub(crate) fn new(width: usize, paint: Paint) -> Self {
        Self {
            width,
            paint,
            text: String::new(),
        }
    }

    pub(crate) fn render(mut self, run: &RunRecord, judgement: &Judgement) -> String {
        self.answer(run, judgement);
        self.table(run, judgement);
        self.beside(run, judgement);
        self.latency(&sentences::latency_for_readers(run, judgement));
        self.published(run);
        self.doubts(judgement);
        self.text
    }

    fn answer(&mut self, run: &RunRecord, judgement: &Judgement) {
        let lines = wrap(&answer::sentence(run, judgement), self.width);
        self.text += &self.paint.lines(Style::Strong, &lines.join("\n"));
        self.text.push('\n');
        if let Some(hidden) = sentences::hidden_cpu(judgement) {
            self.paragraph(hidden);
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
        self.put_table(&headings, cells);
    }

    fn beside(&mut self, run: &RunRecord, judgement: &Judgement) {
        if let Some(under_test) = sentences::under_test(run) {
            self.paragraph(&under_test);
        }
        if let Some(whole) = sentences::whole_effect(run, judgement) {
            self.paragraph(&format!("Whole effect: {whole}"));
        }
        let noise = [
            sentences::noise_floor(run, judgement),
            sentences::smallest_visible(judgement),
            sentences::sequential_error(judgement),
        ];
        let noise: Vec<String> = noise.into_iter().flatten().collect();
        if !noise.is_empty() {
            self.paragraph(&noise.join(" "));
        }
    }

    fn latency(&mut self, results: &[LatencyResult]) {
        let Some(design) = sentences::latency_design(results) else {
            return;
        };
        self.paragraph(&format!("Latency. {design}"));
        let mut headings = vec!["quantile".to_owned()];
        for result in results {
            headings.push(format!("{}: response", result.title));
            headings.push("service".to_owned());
        }
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        self.put_table(&headings, latency_cells(results));
    }

    fn published(&mut self, run: &RunRecord) {
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
        self.paragraph(&format!(
            "Published: {} ({}), on {}.",
            source.title, source.year, source.machine
        ));
        self.put_table(&["published step", "requests/s", "gain"], cells);
        self.not_crossed(run);
    }

    fn not_crossed(&mut self, run: &RunRecord) {
        let steps: Vec<String> = not_crossed(run)
            .into_iter()
            .map(|step| match step.gain.as_str() {
                "" => step.title,
                gain => format!("{} ({gain})", step.title),
            })
            .collect();
        if !steps.is_empty() {
            self.paragraph(&format!(
                "Published, not crossed here: {}.",
                steps.join("; ")
            ));
        }
    }

    /// The judge has put the run's own doubts among its own.
    fn doubts(&mut self, judgement: &Judgement) {
        if judgement.doubts.is_empty() {
            return;
        }
        self.paragraph("Doubts");
        for doubt in &judgement.doubts {
            for line in hanging("- ", &doubt.what(), self.width) {
                self.line(&line);
            }
            for line in hanging("  → ", doubt.advice(), self.width) {
                self.line(&line);
            }
        }
    }

    fn put_table(&mut self, headings: &[&str], rows: Vec<Vec<String>>) {
        self.text.push('\n');
        for line in Table::new(headings, rows).render(self.width, self.paint) {
            self.line(&line);
        }
    }

    fn paragraph(&mut self, text: &str) {
        self.text.push('\n');
        for line in wrap(text, self.width) {
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
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
