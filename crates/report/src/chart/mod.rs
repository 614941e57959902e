//! Charts as data, of two kinds: contrasts in rows, and x-y lines; over time the lines are strips
//! one above the other. Each chart is drawn as inline SVG for a wide page and again for a narrow
//! one: a chart that is only scaled down cannot be read on a telephone.
#![expect(
    clippy::cast_possible_truncation,
    reason = "pixels and powers of ten on a chart are small numbers"
)]

mod canvas;
pub(crate) mod commands;
mod contrasts;
pub(crate) mod difference;
pub(crate) mod flame;
mod scale;
mod series;
pub(crate) mod servers;
pub(crate) mod streams;
pub(crate) mod sweep;
mod xy;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use canvas::Type;

/// A chart of a page.
pub(crate) trait Chart {
    /// Draws the chart under a name; `None` where there is nothing to show.
    fn draw(&self, name: &str, form: Form) -> Option<String>;

    /// Whether a reader can zoom into the chart and search it, which takes a script.
    fn is_searched(&self) -> bool {
        false
    }
}

/// The two forms in which every chart is drawn, as widths in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Wide,
    Narrow,
}

impl Form {
    fn width(self) -> f64 {
        match self {
            Self::Wide => 980.0,
            Self::Narrow => 358.0,
        }
    }

    /// Returns an id for the drawing in this form: a page holds both forms, and no id twice.
    fn id(self, chart: &str) -> String {
        match self {
            Self::Wide => format!("{chart}-wide"),
            Self::Narrow => format!("{chart}-narrow"),
        }
    }
}

/// Estimates the width of a letter: in a system's sans serif it is a little over half the height.
fn letter_width(set: Type) -> f64 {
    set.size * if set.bold { 0.6 } else { 0.55 }
}

/// Estimates the width of a text in pixels.
fn width_of(text: &str, set: Type) -> f64 {
    text.width() as f64 * letter_width(set)
}

/// Cuts a text to about `pixels` in width; the table beside the chart has it whole.
fn fitted(text: &str, pixels: f64, set: Type) -> String {
    let room = (pixels / letter_width(set)) as usize;
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if kept.width() + letter.width().unwrap_or(0) + 1 > room {
            break;
        }
        kept.push(letter);
    }
    kept.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn all(judgement: &model::Judgement) -> Vec<String> {
        let run = sample::run();
        [Form::Wide, Form::Narrow]
            .into_iter()
            .flat_map(|form| {
                let charts: [(&str, Box<dyn Chart>); 3] = [
                    ("gains", Box::new(servers::gains(&run, judgement))),
                    ("latency", Box::new(servers::latency(&judgement.latency))),
                    (
                        "series",
                        Box::new(servers::series(&run, &sample::blocks(judgement), judgement)),
                    ),
                ];
                charts.map(|(name, chart)| chart.draw(name, form))
            })
            .flatten()
            .collect()
    }

    #[test]
    fn every_chart_is_drawn_in_both_forms_and_says_what_it_shows() {
        let charts = all(&sample::judgement());
        assert_eq!(charts.len(), 6);
        for chart in charts {
            assert!(chart.starts_with("<svg") && chart.ends_with("</svg>"));
            assert!(chart.contains("role=\"img\" aria-labelledby=\""));
        }
    }

    #[test]
    fn all_colours_are_the_themes_and_nothing_is_loaded() {
        for chart in all(&sample::judgement()) {
            assert!(!chart.contains("\"#"), "a fixed colour: {chart}");
            assert!(!chart.contains("://"), "{chart}");
        }
    }

    #[test]
    fn a_title_too_long_for_its_place_is_cut_with_a_mark() {
        let cut = |text| fitted(text, 36.5, Type::BODY);
        assert_eq!(cut("abcdefgh"), "abcd…");
        assert_eq!(cut("abc"), "abc");
        assert_eq!(cut("小型回應"), "小型…");
    }
}
