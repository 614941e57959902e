//! A metric against the numbers that are a factor's levels: one panel for each cell, with what was
//! predicted as a line.

use std::ops::Range;

use model::Estimate;
use model::command_study::LevelValue;
use plotters::style::text_anchor::HPos;

use super::canvas::{At, Canvas, Type, Words, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, fitted};
use crate::factorial::{Cell, PREDICTED, View, figure_on};
use crate::numbers;

/// Fewer numbers than these are no curve.
const FEWEST_POINTS: usize = 3;
const TOP: f64 = 60.0;
const PANEL: f64 = 230.0;
const TITLE: f64 = 30.0;
const FOOT: f64 = 40.0;
const LEFT: f64 = 66.0;

/// One level: its number, its figure, and what was predicted.
struct Point {
    x: f64,
    found: Estimate,
    predicted: Option<f64>,
    published: Vec<f64>,
}

struct Panel {
    title: String,
    points: Vec<Point>,
}

struct Plot<'a> {
    view: View<'a>,
    panels: Vec<Panel>,
    x: Range<f64>,
    y: Range<f64>,
    form: Form,
}

/// Draws the curves; `None` where the compared levels are no numbers, or too few.
pub(crate) fn curves(view: View<'_>, form: Form) -> Option<String> {
    let panels = view
        .cells()
        .iter()
        .map(|cell| panel(view, cell))
        .collect::<Option<Vec<_>>>()?;
    let panels: Vec<Panel> = panels
        .into_iter()
        .filter(|panel| panel.points.len() >= FEWEST_POINTS)
        .collect();
    let points = || panels.iter().flat_map(|panel| &panel.points);
    let first = points().next()?;
    let (mut x, mut high) = (first.x..first.x, 0.0_f64);
    for point in points() {
        x = x.start.min(point.x)..x.end.max(point.x);
        high = high
            .max(point.found.high)
            .max(point.predicted.unwrap_or(0.0));
        high = point.published.iter().copied().fold(high, f64::max);
    }
    let plot = Plot {
        view,
        x,
        y: 0.0..high * 1.05,
        form,
        panels,
    };
    let words = Words {
        id: form.id("curves"),
        title: "The metric against the compared factor",
        description: plot.described(),
    };
    Some(draw(form.width(), plot.height(), &words, |canvas| {
        plot.draw(canvas);
    }))
}

/// `None` where a level is no number.
fn panel(view: View<'_>, cell: &Cell<'_>) -> Option<Panel> {
    let metric = view.metric();
    let predicted = format!("{PREDICTED}{}", metric.name);
    let mut points = Vec::new();
    for arm in &cell.arms {
        let x = number(view, arm.levels.get(&view.judgement.compare)?)?;
        let predicted = figure_on(arm, &predicted).map(|figure| figure.estimate.value);
        let published = view.published_values(arm);
        points.extend(view.figure(arm).map(|figure| Point {
            x,
            found: figure.estimate,
            predicted,
            published,
        }));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Some(Panel {
        title: cell.title.clone(),
        points,
    })
}

/// A level's value, or its name where it has none, as a number.
fn number(view: View<'_>, name: &str) -> Option<f64> {
    let factor = view.run.study.factor(&view.judgement.compare)?;
    let level = factor.level(name)?;
    let text = match &level.value {
        Some(LevelValue::Text(text)) => text.as_str(),
        Some(LevelValue::Words(_)) => return None,
        None => level.name.as_str(),
    };
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

impl Plot<'_> {
    fn columns(&self) -> usize {
        match self.form {
            Form::Wide if self.panels.len() > 1 => 2,
            _ => 1,
        }
    }

    fn height(&self) -> f64 {
        TOP + self.panels.len().div_ceil(self.columns()) as f64 * PANEL
    }

    fn has_prediction(&self) -> bool {
        let mut points = self.panels.iter().flat_map(|panel| &panel.points);
        points.any(|point| point.predicted.is_some())
    }

    fn draw(&self, canvas: &Canvas<'_>) {
        let metric = self.view.metric();
        let factor = self.view.factor(&self.view.judgement.compare);
        let heading = format!("{} by {}", super::titled(metric), factor.to_lowercase());
        let set = Type::BODY.bold();
        canvas.text(&fitted(&heading, self.form.width(), set), (0.0, 10.0), set);
        self.legend(canvas);
        let width = self.form.width() / self.columns() as f64;
        for (index, panel) in self.panels.iter().enumerate() {
            let (row, column) = (index / self.columns(), index % self.columns());
            let corner = (width * column as f64, TOP + PANEL * row as f64);
            self.panel(canvas, panel, corner, width);
        }
    }

    fn legend(&self, canvas: &Canvas<'_>) {
        canvas.line((0.0, 32.0), (22.0, 32.0), Ink::Accent, 2.0);
        canvas.text("here", (28.0, 32.0), Type::SMALL.ink(Ink::Accent));
        if self.has_prediction() {
            canvas.line((80.0, 32.0), (102.0, 32.0), Ink::Published, 1.25);
            canvas.text("predicted", (108.0, 32.0), Type::SMALL.ink(Ink::Published));
        }
    }

    fn panel(&self, canvas: &Canvas<'_>, panel: &Panel, (left, top): At, width: f64) {
        let (from, to) = (left + LEFT, left + width - 20.0);
        let bottom = top + PANEL - FOOT;
        let x = Scale::new(self.x.clone(), from + 6.0..to);
        let y = Scale::new(self.y.clone(), bottom..top + TITLE);
        let set = Type::BODY.bold();
        canvas.text(
            &fitted(&panel.title, width - LEFT, set),
            (from, top + 12.0),
            set,
        );
        self.axes(canvas, (from, to, bottom), &x, &y);
        let place = |point: &Point| (x.at(point.x), y.at(point.found.value));
        let predicted = panel.points.iter();
        let predicted = predicted.filter_map(|point| Some((x.at(point.x), y.at(point.predicted?))));
        canvas.path(&predicted.collect::<Vec<_>>(), Ink::Published, 1.25);
        canvas.path(
            &panel.points.iter().map(place).collect::<Vec<_>>(),
            Ink::Accent,
            2.0,
        );
        for point in &panel.points {
            let (at, found) = (x.at(point.x), point.found);
            canvas.line(
                (at, y.at(found.low)),
                (at, y.at(found.high)),
                Ink::Accent,
                1.5,
            );
            canvas.dot(place(point), 3.0, Ink::Accent);
            for published in &point.published {
                canvas.diamond((at, y.at(*published)), 4.5, Ink::Published);
            }
        }
    }

    fn axes(&self, canvas: &Canvas<'_>, (from, to, bottom): (f64, f64, f64), x: &Scale, y: &Scale) {
        for tick in y.ticks(5) {
            let at = y.at(tick);
            canvas.line((from, at), (to, at), Ink::Rule, 1.0);
            let text = numbers::axis(tick, &self.view.metric().unit);
            let set = Type::SMALL.align(HPos::Right);
            canvas.text(&fitted(&text, LEFT - 8.0, set), (from - 8.0, at), set);
        }
        for tick in x.ticks(4) {
            let at = x.at(tick);
            canvas.line((at, bottom), (at, bottom + 4.0), Ink::Muted, 1.0);
            let set = Type::SMALL.align(HPos::Center);
            canvas.text(&numbers::whole(tick), (at, bottom + 15.0), set);
        }
        canvas.line((from, bottom), (to, bottom), Ink::Muted, 1.0);
    }

    fn described(&self) -> String {
        let unit = &self.view.metric().unit;
        let point = |point: &Point| {
            let predicted = point.predicted.map_or_else(String::new, |value| {
                format!(" (predicted {})", numbers::quantity(value, unit))
            });
            let found = numbers::quantity(point.found.value, unit);
            format!("{} {found}{predicted}", numbers::whole(point.x))
        };
        let panel = |panel: &Panel| {
            let points: Vec<String> = panel.points.iter().map(point).collect();
            match panel.title.as_str() {
                "" => points.join(", "),
                title => format!("{title}: {}", points.join(", ")),
            }
        };
        let panels: Vec<String> = self.panels.iter().map(panel).collect();
        panels.join("; ")
    }
}
