//! What each step gains here and in the article, on one scale: relative gains can be compared
//! between machines, absolute figures cannot.

use model::judgement::{Outcome, StepResult};
use model::{Effect, Judgement, RunRecord, Verdict};
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Type, Words, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, TITLES, fitted};
use crate::{numbers, sentences};

const TOP: f64 = 30.0;
const FOOT: f64 = 44.0;
/// Right of the largest mark: its figure.
const LABEL: f64 = 118.0;

/// A gain in requests per unit of server CPU, per cent, with its interval.
struct Gain {
    percent: f64,
    low: f64,
    high: f64,
}

impl Gain {
    /// A cost that falls to a ratio r makes room for 1/r as many requests.
    fn of(effect: &Effect, outcome: Outcome) -> Self {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        match outcome {
            Outcome::ServerCpuPerRequest => Self {
                percent: percent(1.0 / effect.ratio),
                low: percent(1.0 / effect.high),
                high: percent(1.0 / effect.low),
            },
            Outcome::Throughput => Self {
                percent: percent(effect.ratio),
                low: percent(effect.low),
                high: percent(effect.high),
            },
        }
    }
}

struct Row<'a> {
    title: &'a str,
    here: Gain,
    is_void: bool,
    article: Option<f64>,
}

/// The rows with the scale that they share.
struct Plot<'a> {
    rows: Vec<Row<'a>>,
    noise: Option<Gain>,
    scale: Scale,
    left: f64,
    form: Form,
    outcome: Outcome,
}

/// Draws the gains of the steps; `None` where there are none.
pub(crate) fn gains(run: &RunRecord, judgement: &Judgement, form: Form) -> Option<String> {
    let steps = judgement.steps.iter();
    let rows: Vec<Row<'_>> = steps.filter_map(|step| row(step, judgement)).collect();
    if rows.is_empty() {
        return None;
    }
    let noise = sentences::noise(judgement).map(|effect| Gain::of(&effect, judgement.outcome));
    let left = if form == Form::Wide { TITLES } else { 0.0 };
    let extent = extent(&rows, noise.as_ref());
    let plot = Plot {
        scale: Scale::new(extent, left + 10.0..form.width() - LABEL),
        rows,
        noise,
        left,
        form,
        outcome: judgement.outcome,
    };
    let words = Words {
        id: form.id("gains"),
        title: "What each step gains",
        description: described(&plot.rows, sentences::compared_with(run)),
    };
    Some(draw(form.width(), plot.bottom() + FOOT, &words, |canvas| {
        plot.draw(canvas);
    }))
}

impl Plot<'_> {
    fn draw(&self, canvas: &Canvas<'_>) {
        if let Some(noise) = &self.noise {
            let at = (self.scale.at(noise.low), TOP - 16.0);
            canvas.text("two identical servers", at, Type::SMALL);
        }
        for (from, to) in self.spans() {
            self.ground(canvas, from, to);
        }
        for (index, row) in self.rows.iter().enumerate() {
            row.draw(canvas, &self.scale, self.row_top(index), self.form);
        }
        self.axis(canvas);
    }

    fn axis(&self, canvas: &Canvas<'_>) {
        let bottom = self.bottom();
        let most = if self.form == Form::Wide { 8 } else { 5 };
        for tick in self.scale.ticks(most) {
            let x = self.scale.at(tick);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            let text = if tick == 0.0 {
                "0".to_owned()
            } else {
                format!("{tick:+.0} %").replace('-', "−")
            };
            let set = Type::SMALL.align(HPos::Center);
            canvas.text(&text, (x, bottom + 14.0), set);
        }
        let caption = match self.outcome {
            Outcome::ServerCpuPerRequest => "gain in requests for the same server CPU",
            Outcome::Throughput => "gain in requests seen",
        };
        canvas.text(caption, (self.left, bottom + 34.0), Type::SMALL);
    }

    fn row_top(&self, index: usize) -> f64 {
        let height = match self.form {
            Form::Wide => 44.0,
            Form::Narrow => 62.0,
        };
        TOP + index as f64 * height
    }

    fn bottom(&self) -> f64 {
        self.row_top(self.rows.len())
    }

    /// Where the line of no gain is drawn: throughout, or only beside the marks where titles stand
    /// above them.
    fn spans(&self) -> Vec<(f64, f64)> {
        match self.form {
            Form::Wide => vec![(TOP - 4.0, self.bottom())],
            Form::Narrow => (0..self.rows.len())
                .map(|index| (self.row_top(index) + 21.0, self.row_top(index) + 57.0))
                .collect(),
        }
    }

    /// The line of no gain, and about it the band in which identical servers differ.
    fn ground(&self, canvas: &Canvas<'_>, top: f64, bottom: f64) {
        if let Some(noise) = &self.noise {
            let ends = (self.scale.at(noise.low), self.scale.at(noise.high));
            canvas.noise(ends, (top, bottom));
        }
        let zero = self.scale.at(0.0);
        canvas.line((zero, top), (zero, bottom), Ink::Muted, 1.0);
    }
}

fn row<'a>(step: &'a StepResult, judgement: &Judgement) -> Option<Row<'a>> {
    Some(Row {
        title: &step.title,
        here: Gain::of(step.effect.as_ref()?, judgement.outcome),
        is_void: step.verdict == Verdict::Invalid,
        article: step
            .published
            .and_then(|beside| beside.gain)
            .map(|gain| gain * 100.0),
    })
}

fn extent(rows: &[Row<'_>], noise: Option<&Gain>) -> std::ops::Range<f64> {
    let here = rows.iter().map(|row| &row.here).chain(noise);
    let ends = here.flat_map(|gain| [gain.low, gain.high]);
    let ends = ends
        .chain(rows.iter().filter_map(|row| row.article))
        .filter(|end| end.is_finite());
    let (low, high) = ends.fold((0.0, 0.0), |(low, high): (f64, f64), end| {
        (low.min(end), high.max(end))
    });
    low..high
}

impl Row<'_> {
    fn draw(&self, canvas: &Canvas<'_>, scale: &Scale, top: f64, form: Form) {
        let (here_y, article_y) = match form {
            Form::Wide => (top + 12.0, top + 30.0),
            Form::Narrow => (top + 30.0, top + 48.0),
        };
        match form {
            Form::Wide => {
                let text = fitted(self.title, TITLES - 12.0, Type::BODY);
                canvas.text(
                    &text,
                    (TITLES - 12.0, top + 12.0),
                    Type::BODY.align(HPos::Right),
                );
            }
            Form::Narrow => canvas.text(
                &fitted(self.title, 350.0, Type::BODY),
                (0.0, top + 12.0),
                Type::BODY,
            ),
        }
        self.mark(canvas, scale, here_y, form);
        if let Some(article) = self.article {
            canvas.diamond((scale.at(article), article_y), 4.5, Ink::Published);
            let label = format!("article {}", numbers::published_gain(article / 100.0));
            canvas.text(
                &label,
                (scale.at(article) + 12.0, article_y),
                Type::BODY.ink(Ink::Published),
            );
        }
    }

    /// The gain here with its interval and figure; hollow and grey where there is no verdict.
    fn mark(&self, canvas: &Canvas<'_>, scale: &Scale, y: f64, form: Form) {
        let ink = if self.is_void {
            Ink::Muted
        } else {
            Ink::Accent
        };
        canvas.whisker(scale.at(self.here.low), scale.at(self.here.high), y, ink);
        // On a narrow chart a larger dot would hide its interval.
        let radius = if form == Form::Wide { 4.5 } else { 3.0 };
        let at = (scale.at(self.here.percent), y);
        if self.is_void {
            canvas.ring(at, radius, ink);
        } else {
            canvas.dot(at, radius, ink);
        }
        let label = format!("here {} %", numbers::signed(self.here.percent));
        let from = scale.at(self.here.high) + 12.0;
        canvas.text(&label, (from, y), Type::BODY.bold().ink(ink));
    }
}

fn described(rows: &[Row<'_>], against: &str) -> String {
    let gains: Vec<String> = rows
        .iter()
        .map(|row| {
            let article = row.article.map_or_else(String::new, |gain| {
                format!(", in the article {}", numbers::published_gain(gain / 100.0))
            });
            let void = if row.is_void {
                " without a verdict"
            } else {
                ""
            };
            let here = numbers::signed(row.here.percent);
            format!("{} {here} %{void}{article}", row.title)
        })
        .collect();
    format!("Gain of each step over {against}: {}", gains.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_cost_cut_to_four_fifths_makes_room_for_a_quarter_more() {
        let effect = Effect {
            ratio: 0.8,
            low: 0.5,
            high: 1.0,
            n: 16,
            alpha: 0.05,
            p_value: 0.01,
        };
        let gain = Gain::of(&effect, Outcome::ServerCpuPerRequest);
        assert!((gain.percent - 25.0).abs() < 1e-9);
        assert!((gain.low - 0.0).abs() < 1e-9 && (gain.high - 100.0).abs() < 1e-9);
        let rate = Gain::of(&effect, Outcome::Throughput);
        assert!((rate.percent + 20.0).abs() < 1e-9 && rate.low < rate.high);
    }

    #[test]
    fn a_step_without_a_verdict_has_a_hollow_mark_and_says_so() {
        let mut judgement = sample::judgement();
        judgement.steps[0].verdict = Verdict::Invalid;
        let svg = gains(&sample::run(), &judgement, Form::Wide).unwrap();
        assert_eq!(svg.matches("without a verdict").count(), 1);
        assert_eq!(
            svg.matches("fill=\"none\" stroke=\"var(--muted)\"").count(),
            1,
            "{svg}"
        );
    }
}
