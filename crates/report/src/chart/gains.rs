//! What each step gains here and in the article, on one scale: relative gains can be compared
//! between machines, absolute figures cannot.

use model::judgement::{Outcome, StepResult};
use model::study::DesignKind;
use model::{Effect, Judgement, RunRecord};
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Type, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, fitted};
use crate::numbers;

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
    article: Option<f64>,
}

/// Draws the gains of a ladder's steps; `None` where there are none.
pub(crate) fn gains(run: &RunRecord, judgement: &Judgement, form: Form) -> Option<String> {
    let rows: Vec<Row<'_>> = judgement
        .steps
        .iter()
        .filter_map(|step| row(step, judgement))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let control = judgement
        .control
        .as_ref()
        .and_then(|control| control.effect);
    let noise = control.map(|effect| Gain::of(&effect, judgement.outcome));
    let row_height = match form {
        Form::Wide => 44.0,
        Form::Narrow => 62.0,
    };
    let height = TOP + rows.len() as f64 * row_height + FOOT;
    let against = match run.study.design.kind {
        DesignKind::Ladder => "the step before",
        DesignKind::Compare => "the baseline",
    };
    Some(draw(
        form.width(),
        height,
        &described(&rows, against),
        |canvas| {
            let left = if form == Form::Wide { 240.0 } else { 0.0 };
            let scale = Scale::new(
                extent(&rows, noise.as_ref()),
                left + 10.0..form.width() - LABEL,
            );
            let bottom = height - FOOT;
            ground(canvas, &scale, noise.as_ref(), bottom);
            for (index, row) in rows.iter().enumerate() {
                row.draw(canvas, &scale, TOP + index as f64 * row_height, form);
            }
            axis(canvas, &scale, bottom, form);
        },
    ))
}

fn row<'a>(step: &'a StepResult, judgement: &Judgement) -> Option<Row<'a>> {
    Some(Row {
        title: &step.title,
        here: Gain::of(step.effect.as_ref()?, judgement.outcome),
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
                let text = fitted(self.title, 228.0, Type::BODY.size);
                canvas.text(&text, (228.0, top + 12.0), Type::BODY.align(HPos::Right));
            }
            Form::Narrow => canvas.text(
                &fitted(self.title, 350.0, Type::BODY.size),
                (0.0, top + 12.0),
                Type::BODY,
            ),
        }
        canvas.whisker(
            scale.at(self.here.low),
            scale.at(self.here.high),
            here_y,
            Ink::Accent,
        );
        canvas.dot((scale.at(self.here.percent), here_y), 4.5, Ink::Accent);
        let label = format!("here {} %", numbers::signed(self.here.percent));
        let from = scale.at(self.here.high) + 12.0;
        canvas.text(&label, (from, here_y), Type::BODY.bold().ink(Ink::Accent));
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
}

/// The line of no gain, and about it the band in which identical servers differ.
fn ground(canvas: &Canvas<'_>, scale: &Scale, noise: Option<&Gain>, bottom: f64) {
    if let Some(noise) = noise {
        let (from, to) = (scale.at(noise.low), scale.at(noise.high));
        // A band thinner than two pixels could not be seen.
        let widen = ((2.0 - (to - from)) / 2.0).max(0.0);
        canvas.fill((from - widen, TOP - 4.0), (to + widen, bottom), Ink::Floor);
        let text = "two identical servers: here";
        canvas.text(
            &format!(
                "{text} {} … {} %",
                numbers::signed(noise.low),
                numbers::signed(noise.high)
            ),
            (from - widen, TOP - 16.0),
            Type::SMALL,
        );
    }
    canvas.line(
        (scale.at(0.0), TOP - 4.0),
        (scale.at(0.0), bottom),
        Ink::Muted,
        1.0,
    );
}

fn axis(canvas: &Canvas<'_>, scale: &Scale, bottom: f64, form: Form) {
    let most = if form == Form::Wide { 8 } else { 5 };
    for tick in scale.ticks(most) {
        let x = scale.at(tick);
        canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
        let text = format!("{tick:+.0} %")
            .replace('-', "−")
            .replace("+0 %", "0");
        canvas.text(&text, (x, bottom + 14.0), Type::SMALL.align(HPos::Center));
    }
    canvas.text(
        "gain in requests for the same server CPU",
        (scale.at(0.0), bottom + 34.0),
        Type::SMALL,
    );
}

fn described(rows: &[Row<'_>], against: &str) -> String {
    let gains: Vec<String> = rows
        .iter()
        .map(|row| {
            let article = row.article.map_or_else(String::new, |gain| {
                format!(", in the article {}", numbers::published_gain(gain / 100.0))
            });
            format!(
                "{} {} %{article}",
                row.title,
                numbers::signed(row.here.percent)
            )
        })
        .collect();
    format!("Gain of each step over {against}: {}", gains.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
