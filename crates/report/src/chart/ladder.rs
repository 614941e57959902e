//! The ladder: what a request costs at each step, with its interval and the kernel's floor, and
//! beside it the article's steps. The two have scales of their own: machines differ.

use model::judgement::{ArmResult, Outcome};
use model::{Estimate, Judgement, Role, RunRecord};
use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Type, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, fitted};
use crate::numbers;
use crate::rows::is_beside;

const HEADING: f64 = 52.0;
const FOOT: f64 = 26.0;
const BAR: f64 = 18.0;
/// Beyond the end of a bar: whisker and figure.
const LABEL: f64 = 62.0;

/// One panel of bars.
struct Panel {
    heading: &'static str,
    remark: String,
    bars: Vec<Bar>,
    floor: Option<f64>,
    body: Ink,
}

struct Bar {
    title: String,
    /// `None` leaves a gap, so that rows of two panels stay level.
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    label: String,
}

/// Where a panel stands, and where its titles do.
struct Place {
    left: f64,
    top: f64,
    width: f64,
    /// Width of titles left of the bars; `None` puts them above.
    titles: Option<f64>,
}

/// Draws the ladder; `None` where no arm has a figure.
pub(crate) fn ladder(run: &RunRecord, judgement: &Judgement, form: Form) -> Option<String> {
    let here = here(judgement)?;
    let article = article(run, judgement);
    let label = described(&here);
    let wide = form == Form::Wide;
    let height = here.height(wide);
    let total = match &article {
        Some(article) if !wide => height + 24.0 + article.height(false),
        _ => height,
    };
    let svg = draw(form.width(), total, &label, |canvas| {
        let titles = 240.0;
        let article_width = 290.0;
        let (width, gap) = (form.width(), 36.0);
        match (&article, wide) {
            (Some(article), true) => {
                here.draw(
                    canvas,
                    &Place {
                        left: 0.0,
                        top: 0.0,
                        width: width - article_width - gap,
                        titles: Some(titles),
                    },
                );
                article.draw(
                    canvas,
                    &Place {
                        left: width - article_width,
                        top: 0.0,
                        width: article_width,
                        titles: Some(0.0),
                    },
                );
            }
            (article, _) => {
                here.draw(
                    canvas,
                    &Place {
                        left: 0.0,
                        top: 0.0,
                        width,
                        titles: wide.then_some(titles),
                    },
                );
                if let Some(article) = article {
                    article.draw(
                        canvas,
                        &Place {
                            left: 0.0,
                            top: height + 24.0,
                            width,
                            titles: None,
                        },
                    );
                }
            }
        }
    });
    Some(svg)
}

fn here(judgement: &Judgement) -> Option<Panel> {
    let figure = |arm: &ArmResult| -> Option<Estimate> {
        match judgement.outcome {
            Outcome::ServerCpuPerRequest => arm.server_cpu_us_per_request,
            Outcome::Throughput => arm.throughput_rps,
        }
    };
    let shown: fn(f64) -> String = match judgement.outcome {
        Outcome::ServerCpuPerRequest => numbers::micros,
        Outcome::Throughput => numbers::rate,
    };
    let bars: Vec<Bar> = rungs(judgement)
        .map(|arm| Bar {
            title: arm.title.clone(),
            value: figure(arm).map(|found| found.value),
            interval: figure(arm).map(|found| (found.low, found.high)),
            label: figure(arm).map_or_else(String::new, |found| shown(found.value)),
        })
        .collect();
    bars.iter().any(|bar| bar.value.is_some()).then_some(())?;
    let (heading, remark) = match judgement.outcome {
        Outcome::ServerCpuPerRequest => (
            "This machine: server CPU per request",
            "µs, median with interval; shorter is better",
        ),
        Outcome::Throughput => (
            "This machine: throughput",
            "requests/s, median with interval; longer is better",
        ),
    };
    let floor = judgement.arms.iter().find(|arm| arm.role == Role::Floor);
    Some(Panel {
        heading,
        remark: remark.to_owned(),
        bars,
        floor: floor.and_then(figure).map(|found| found.value),
        body: Ink::Soft,
    })
}

fn article(run: &RunRecord, judgement: &Judgement) -> Option<Panel> {
    let source = run.study.source.as_ref()?;
    let bars: Vec<Bar> = rungs(judgement)
        .map(|arm| Bar {
            title: arm.title.clone(),
            value: arm.published.map(|beside| beside.throughput_rps),
            interval: None,
            label: arm.published.map_or_else(
                || "no such step".to_owned(),
                |beside| thousands(beside.throughput_rps),
            ),
        })
        .collect();
    bars.iter().any(|bar| bar.value.is_some()).then_some(())?;
    Some(Panel {
        heading: "The article: throughput",
        remark: format!("requests/s, {}; longer is better", source.year),
        bars,
        floor: None,
        body: Ink::Rule,
    })
}

fn rungs(judgement: &Judgement) -> impl Iterator<Item = &ArmResult> {
    judgement.arms.iter().filter(|arm| !is_beside(arm.role))
}

/// `224k`, `1.12M`: as the article writes its figures.
fn thousands(rate: f64) -> String {
    if rate < 1e6 {
        format!("{:.0}k", rate / 1e3)
    } else {
        format!("{:.2}M", rate / 1e6)
    }
}

fn described(panel: &Panel) -> String {
    let bars: Vec<String> = panel
        .bars
        .iter()
        .map(|bar| format!("{} {}", bar.title, bar.label))
        .collect();
    let floor = panel.floor.map_or_else(String::new, |floor| {
        format!("; floor {}", numbers::micros(floor))
    });
    format!("{}: {}{floor}", panel.heading, bars.join(", "))
}

impl Panel {
    fn row_height(wide: bool) -> f64 {
        if wide { 36.0 } else { 50.0 }
    }

    fn height(&self, wide: bool) -> f64 {
        HEADING + self.bars.len() as f64 * Self::row_height(wide) + FOOT
    }

    fn draw(&self, canvas: &Canvas<'_>, place: &Place) {
        let titles = place.titles.unwrap_or(0.0);
        let bars_from = place.left + titles;
        let scale = Scale::new(
            0.0..self.largest(),
            bars_from..place.left + place.width - LABEL,
        );
        canvas.text(
            self.heading,
            (bars_from, place.top + 10.0),
            Type::BODY.bold(),
        );
        canvas.text(&self.remark, (bars_from, place.top + 28.0), Type::SMALL);
        let row_height = Self::row_height(place.titles.is_some());
        for (index, bar) in self.bars.iter().enumerate() {
            let row = place.top + HEADING + index as f64 * row_height;
            let middle = match place.titles {
                Some(_) => row + row_height / 2.0,
                None => row + 32.0,
            };
            Self::title(canvas, bar, place, row, middle);
            self.bar(canvas, bar, &scale, middle);
        }
        let bottom = place.top + HEADING + self.bars.len() as f64 * row_height + 4.0;
        canvas.line(
            (bars_from, place.top + HEADING - 2.0),
            (bars_from, bottom),
            Ink::Muted,
            1.0,
        );
        self.floor_line(canvas, &scale, place.top + HEADING - 2.0, bottom);
    }

    fn title(canvas: &Canvas<'_>, bar: &Bar, place: &Place, row: f64, middle: f64) {
        match place.titles {
            Some(width) if width > 0.0 => {
                let at = (place.left + width - 12.0, middle);
                let text = fitted(&bar.title, width - 12.0, Type::BODY.size);
                canvas.text(&text, at, Type::BODY.align(HPos::Right));
            }
            Some(_) => {}
            None => {
                let text = fitted(&bar.title, place.width, Type::BODY.size);
                canvas.text(&text, (place.left, row + 12.0), Type::BODY);
            }
        }
    }

    fn bar(&self, canvas: &Canvas<'_>, bar: &Bar, scale: &Scale, middle: f64) {
        let (top, bottom) = (middle - BAR / 2.0, middle + BAR / 2.0);
        let Some(value) = bar.value else {
            canvas.text(&bar.label, (scale.at(0.0) + 8.0, middle), Type::SMALL);
            return;
        };
        let end = scale.at(value);
        canvas.fill((scale.at(0.0), top), (end, bottom), self.body);
        if let Some(floor) = self.floor {
            canvas.fill(
                (scale.at(0.0), top),
                (scale.at(floor.min(value)), bottom),
                Ink::Floor,
            );
        }
        let mut label_from = end;
        if let Some((low, high)) = bar.interval {
            canvas.whisker(scale.at(low), scale.at(high), middle, Ink::Ink);
            label_from = label_from.max(scale.at(high));
        }
        canvas.text(&bar.label, (label_from + 9.0, middle), Type::BODY.bold());
    }

    fn floor_line(&self, canvas: &Canvas<'_>, scale: &Scale, top: f64, bottom: f64) {
        let Some(floor) = self.floor else { return };
        let x = scale.at(floor);
        canvas.line((x, top), (x, bottom + 4.0), Ink::Muted, 1.0);
        let text = format!("floor, a bare echo: {}", numbers::micros(floor));
        canvas.text(&text, (x, bottom + 14.0), Type::SMALL.align(HPos::Center));
    }

    fn largest(&self) -> f64 {
        let ends = self
            .bars
            .iter()
            .filter_map(|bar| bar.interval.map(|(_, high)| high).or(bar.value));
        ends.chain(self.floor)
            .filter(|end| end.is_finite())
            .fold(0.0, f64::max)
    }
}
