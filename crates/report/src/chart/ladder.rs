//! The ladder: what a request costs at each step, with its interval and the kernel's floor, and
//! beside it the article's steps. The two have scales of their own: machines differ.

use model::judgement::{ArmResult, Outcome};
use model::{Estimate, Judgement, Role, RunRecord};

use super::canvas::{Words, draw};
use super::ink::Ink;
use super::panel::{Bar, Panel, Place, Titles};
use super::{Form, TITLES};
use crate::numbers;
use crate::rows::is_beside;

/// Width of the panels that stand beside the first: of one, and of each of two.
const BESIDE: f64 = 280.0;
const BESIDE_EACH: f64 = 180.0;
const GAP: f64 = 30.0;

/// Draws the ladder; `None` where no arm has a figure.
pub(crate) fn ladder(run: &RunRecord, judgement: &Judgement, form: Form) -> Option<String> {
    let mut panels = vec![here(judgement)?];
    panels.extend(rates_here(judgement));
    panels.extend(article(run, judgement));
    let (places, height) = places(&panels, form);
    let words = Words {
        id: form.id("ladder"),
        title: "The figure of every step",
        description: described(&panels),
    };
    let svg = draw(form.width(), height, &words, |canvas| {
        for (panel, place) in panels.iter().zip(&places) {
            panel.draw(canvas, place);
        }
    });
    Some(svg)
}

/// The panels side by side on a wide page, one above the other on a narrow one.
fn places(panels: &[Panel], form: Form) -> (Vec<Place>, f64) {
    let place = |left, top, width, titles| Place {
        left,
        top,
        width,
        titles,
    };
    let mut places = Vec::new();
    let (width, mut height) = (form.width(), 0.0_f64);
    let beside = if panels.len() > 2 {
        BESIDE_EACH
    } else {
        BESIDE
    };
    let left_of = |index: usize| width - (panels.len() - index) as f64 * (beside + GAP) + GAP;
    for (index, panel) in panels.iter().enumerate() {
        let titles = match (form, index) {
            (Form::Wide, 0) => Titles::Left(TITLES),
            (Form::Wide, _) => Titles::Elsewhere,
            (Form::Narrow, _) => Titles::Above,
        };
        places.push(match titles {
            Titles::Left(_) => place(0.0, 0.0, left_of(1) - GAP, titles),
            Titles::Elsewhere => place(left_of(index), 0.0, beside, titles),
            Titles::Above => place(0.0, height, width, titles),
        });
        height = match form {
            Form::Wide => height.max(panel.height(titles)),
            Form::Narrow => height + panel.height(titles),
        };
    }
    (places, height)
}

fn here(judgement: &Judgement) -> Option<Panel> {
    type Figure = fn(&ArmResult) -> Option<Estimate>;
    let (figure, shown, heading, remark): (Figure, fn(f64) -> String, _, _) =
        match judgement.outcome {
            Outcome::ServerCpuPerRequest => (
                |arm| arm.server_cpu_us_per_request,
                numbers::micros,
                "This machine: server CPU per request",
                "µs, median with interval; shorter is better",
            ),
            Outcome::Throughput => (
                |arm| arm.throughput_rps,
                numbers::rate,
                "This machine: throughput",
                "requests/s, median with interval; longer is better",
            ),
        };
    let bars = rungs(judgement).map(|arm| {
        let found = figure(arm);
        Bar {
            title: arm.title.clone(),
            value: found.map(|found| found.value),
            interval: found.map(|found| (found.low, found.high)),
            label: found.map_or_else(|| numbers::MISSING.to_owned(), |found| shown(found.value)),
        }
    });
    let floor = judgement.arms.iter().find(|arm| arm.role == Role::Floor);
    let is_cost = judgement.outcome == Outcome::ServerCpuPerRequest;
    with_a_value(Panel {
        heading,
        remark: remark.to_owned(),
        bars: bars.collect(),
        floor: floor
            .and_then(figure)
            .filter(|_| is_cost)
            .map(|found| found.value),
        body: Ink::Soft,
    })
}

/// The throughput beside the cost, of a whole ladder: it is what the article has.
fn rates_here(judgement: &Judgement) -> Option<Panel> {
    judgement.ladder.as_ref()?;
    if judgement.outcome == Outcome::Throughput {
        return None;
    }
    let bars = rungs(judgement).map(|arm| {
        let rate = arm.throughput_rps;
        Bar {
            title: arm.title.clone(),
            value: rate.map(|rate| rate.value),
            interval: rate.map(|rate| (rate.low, rate.high)),
            label: rate.map_or_else(|| numbers::MISSING.to_owned(), |rate| thousands(rate.value)),
        }
    });
    with_a_value(Panel {
        heading: "This machine: seen",
        remark: "requests/s; longer is better".to_owned(),
        bars: bars.collect(),
        floor: None,
        body: Ink::Soft,
    })
}

fn article(run: &RunRecord, judgement: &Judgement) -> Option<Panel> {
    let source = run.study.source.as_ref()?;
    let bars = rungs(judgement).map(|arm| {
        let rate = arm.published.map(|published| published.throughput_rps);
        Bar {
            title: arm.title.clone(),
            value: rate,
            interval: None,
            label: rate.map_or_else(|| "no such step".to_owned(), thousands),
        }
    });
    with_a_value(Panel {
        heading: "The article: throughput",
        remark: format!("requests/s, {}; longer is better", source.year),
        bars: bars.collect(),
        floor: None,
        body: Ink::PublishedSoft,
    })
}

fn rungs(judgement: &Judgement) -> impl Iterator<Item = &ArmResult> {
    judgement.arms.iter().filter(|arm| !is_beside(arm.role))
}

fn with_a_value(panel: Panel) -> Option<Panel> {
    let has_one = panel.bars.iter().any(|bar| bar.value.is_some());
    has_one.then_some(panel)
}

/// `224k`, `1.12M`: as articles write their figures.
fn thousands(rate: f64) -> String {
    if rate < 1e6 {
        format!("{:.0}k", rate / 1e3)
    } else {
        format!("{:.2}M", rate / 1e6)
    }
}

fn described(panels: &[Panel]) -> String {
    let panels: Vec<String> = panels
        .iter()
        .map(|panel| {
            let bars = panel.bars.iter();
            let bars: Vec<String> = bars
                .map(|bar| format!("{} {}", bar.title, bar.label))
                .collect();
            let floor = panel.floor.map_or_else(String::new, |floor| {
                format!("; floor {}", numbers::micros(floor))
            });
            format!("{}: {}{floor}", panel.heading, bars.join(", "))
        })
        .collect();
    panels.join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_articles_steps_stand_beside_ours_and_a_step_it_lacks_is_named() {
        let svg = ladder(&sample::run(), &sample::judgement(), Form::Wide).unwrap();
        for label in [
            "11.9",
            "6.32",
            "224k",
            "1.12M",
            "no such step",
            "a bare echo: 5.62",
        ] {
            assert!(svg.contains(label), "{label}");
        }
    }

    #[test]
    fn panels_are_side_by_side_on_a_wide_page_and_stacked_on_a_narrow_one() {
        let judgement = sample::judgement();
        let panels = [
            here(&judgement).unwrap(),
            article(&sample::run(), &judgement).unwrap(),
        ];
        let (wide, _) = places(&panels, Form::Wide);
        assert!(wide[1].left >= wide[0].left + wide[0].width && wide[1].top == wide[0].top);
        let (narrow, _) = places(&panels, Form::Narrow);
        assert!(narrow[1].top > narrow[0].top && narrow[1].left == narrow[0].left);
    }
}
