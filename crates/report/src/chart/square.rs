//! Two factors of two levels: the four arms as two lines, and where the second line would end if
//! each factor did beside the other what it does alone.

use std::ops::Range;

use model::Estimate;
use model::judgement::{ArmFigures, InteractionResult, Levels};
use plotters::style::text_anchor::HPos;

use super::canvas::{At, Canvas, Type, Words, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, fitted};
use crate::factorial::{View, after_comma};
use crate::numbers;

const LEFT: f64 = 66.0;
const HEIGHT: f64 = 250.0;
/// Above the marks: the heading of the square, and the name of the axis.
const TOP: f64 = 58.0;
const FOOT: f64 = 56.0;
/// Labels nearer to one another than this are set apart.
const LABEL_GAP: f64 = 18.0;
/// Largest value ÷ smallest from which a log scale shows them better.
const LOG_FROM: f64 = 8.0;

/// The arms of one square: by level of the second factor, then of the first.
struct Square<'a> {
    title: String,
    arms: [[Estimate; 2]; 2],
    /// Titles of the levels of the first factor, and of the second with its name.
    across: [&'a str; 2],
    lines: [String; 2],
}

/// Draws every square; `None` where none is whole.
pub(crate) fn squares(view: View<'_>, form: Form) -> Option<String> {
    let all = view.judgement.interactions.iter();
    let squares: Vec<Square<'_>> = all.filter_map(|found| square(view, found)).collect();
    if squares.is_empty() {
        return None;
    }
    let described: Vec<String> = squares.iter().map(|one| one.described(view)).collect();
    let words = Words {
        id: form.id("squares"),
        title: "What two factors do alone and together",
        description: described.join("; "),
    };
    let height = HEIGHT * squares.len() as f64;
    Some(draw(form.width(), height, &words, |canvas| {
        for (index, one) in squares.iter().enumerate() {
            one.draw(canvas, view, form, HEIGHT * index as f64);
        }
    }))
}

fn square<'a>(view: View<'a>, found: &'a InteractionResult) -> Option<Square<'a>> {
    let [first, second] = &found.factors;
    let (first, second) = (
        view.run.study.factor(first)?,
        view.run.study.factor(second)?,
    );
    let estimate = |across: usize, line: usize| {
        let mut levels: Levels = found.cell.clone();
        levels.insert(first.name.clone(), first.levels.get(across)?.name.clone());
        levels.insert(second.name.clone(), second.levels.get(line)?.name.clone());
        let mut arms = view.judgement.arms.iter();
        let arm: &ArmFigures = arms.find(|arm| arm.levels == levels)?;
        Some(view.figure(arm)?.estimate)
    };
    let line = |line: usize| Some([estimate(0, line)?, estimate(1, line)?]);
    let named = |level: usize| view.level(&second.name, &second.levels[level].name);
    Some(Square {
        title: view.cell(&found.cell),
        arms: [line(0)?, line(1)?],
        across: [&first.levels[0].title, &first.levels[1].title],
        lines: [named(0), named(1)],
    })
}

impl Square<'_> {
    /// Where both would lie if their ratios multiplied.
    fn expected(&self) -> f64 {
        let [[neither, first], [second, _]] = self.arms;
        first.value * second.value / neither.value
    }

    fn scale(&self, pixels: Range<f64>) -> Scale {
        let all = self.arms.iter().flatten();
        let ends = all.flat_map(|found| [found.low, found.high]);
        let ends: Vec<f64> = ends
            .chain([self.expected()])
            .filter(|end| end.is_finite())
            .collect();
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(0.0, f64::max);
        if low > 0.0 && high / low >= LOG_FROM {
            return Scale::logarithmic(low * 0.8..high * 1.25, pixels);
        }
        Scale::new(0.0..high * 1.05, pixels)
    }

    fn draw(&self, canvas: &Canvas<'_>, view: View<'_>, form: Form, top: f64) {
        let right = match form {
            Form::Wide => 520.0,
            Form::Narrow => 190.0,
        };
        let bottom = top + HEIGHT - FOOT;
        let y = self.scale(bottom..top + TOP);
        let x = [LEFT + (right - LEFT) * 0.15, right - 8.0];
        self.axes(canvas, view, form, (top, bottom, right), &y, x);
        for (line, ink) in [(0, Ink::Muted), (1, Ink::Accent)] {
            let ends = [0, 1].map(|across| (x[across], y.at(self.arms[line][across].value)));
            canvas.path(&ends, ink, 2.0);
            for (across, at) in ends.into_iter().enumerate() {
                mark(canvas, &y, &self.arms[line][across], at, ink);
            }
        }
        let expected = y.at(self.expected());
        canvas.diamond((x[1], expected), 5.0, Ink::Published);
        self.labels(canvas, view, form, (x[1] + 14.0, expected), &y);
    }

    fn axes(
        &self,
        canvas: &Canvas<'_>,
        view: View<'_>,
        form: Form,
        (top, bottom, right): (f64, f64, f64),
        y: &Scale,
        x: [f64; 2],
    ) {
        let metric = view.metric();
        let heading = super::titled(metric) + &after_comma(&self.title);
        let set = Type::BODY.bold();
        let heading = fitted(&heading, form.width() - 8.0, set);
        canvas.text(&heading, (0.0, top + 12.0), set);
        canvas.text("medians with intervals", (0.0, top + 30.0), Type::SMALL);
        for tick in y.ticks(5) {
            let at = y.at(tick);
            canvas.line((LEFT, at), (right, at), Ink::Rule, 1.0);
            let set = Type::SMALL.align(HPos::Right);
            canvas.text(&numbers::axis(tick, &metric.unit), (LEFT - 8.0, at), set);
        }
        // Each has as much room as lies between the two, or to the left edge.
        let room = (x[1] - x[0]).min(2.0 * x[0]) - 8.0;
        for (x, title) in x.into_iter().zip(self.across) {
            let set = Type::SMALL.align(HPos::Center);
            canvas.text(&fitted(title, room, set), (x, bottom + 18.0), set);
        }
    }

    /// Right of the lines' ends, set apart where they would touch.
    fn labels(
        &self,
        canvas: &Canvas<'_>,
        view: View<'_>,
        form: Form,
        (x, expected): At,
        y: &Scale,
    ) {
        let unit = &view.metric().unit;
        let shown = |value: f64| numbers::quantity(value, unit);
        let end = |line: usize| {
            let value = self.arms[line][1].value;
            (
                y.at(value),
                format!("{} {}", shown(value), self.lines[line]),
            )
        };
        let independent = (
            expected,
            format!("{} if independent", shown(self.expected())),
        );
        let mut labels = [
            (end(0), Ink::Muted),
            (end(1), Ink::Accent),
            (independent, Ink::Published),
        ];
        labels.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
        let mut last = f64::NEG_INFINITY;
        for ((at, text), ink) in labels {
            let at = at.max(last + LABEL_GAP);
            let set = Type::BODY.ink(ink);
            canvas.text(&fitted(&text, form.width() - x, set), (x, at), set);
            last = at;
        }
    }

    fn described(&self, view: View<'_>) -> String {
        let shown = |found: &Estimate| numbers::quantity(found.value, &view.metric().unit);
        let lines = self.lines.iter().zip(&self.arms).map(|(line, arms)| {
            let [off, on] = self.across;
            format!(
                "{line}: {off} {}, {on} {}",
                shown(&arms[0]),
                shown(&arms[1])
            )
        });
        let lines: Vec<String> = lines.collect();
        lines.join("; ")
    }
}

fn mark(canvas: &Canvas<'_>, y: &Scale, found: &Estimate, (x, at): At, ink: Ink) {
    let (low, high) = (y.at(found.low), y.at(found.high));
    canvas.line((x, low), (x, high), ink, 1.5);
    for end in [low, high] {
        canvas.line((x - 4.0, end), (x + 4.0, end), ink, 1.5);
    }
    canvas.dot((x, at), 4.0, ink);
}
