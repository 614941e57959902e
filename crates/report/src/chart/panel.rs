//! A panel of horizontal bars with their intervals, titles and figures.

use plotters::style::text_anchor::HPos;

use super::canvas::{Canvas, Type};
use super::fitted;
use super::ink::Ink;
use super::scale::Scale;
use crate::numbers;

const HEADING: f64 = 52.0;
const BAR: f64 = 18.0;
/// Beyond the end of a bar: whisker and figure.
const LABEL: f64 = 62.0;

/// Bars under a heading.
pub(crate) struct Panel {
    pub(crate) heading: &'static str,
    pub(crate) remark: String,
    pub(crate) bars: Vec<Bar>,
    /// A share of every bar that no step can take away, in the unit of the bars.
    pub(crate) floor: Option<f64>,
    pub(crate) body: Ink,
}

/// One bar.
pub(crate) struct Bar {
    pub(crate) title: String,
    /// `None` leaves a gap, so that rows of two panels stay level.
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) label: String,
}

/// Where the titles of bars stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Titles {
    /// Left of the bars, in a column of this width.
    Left(f64),
    Above,
    /// The panel beside has them.
    Elsewhere,
}

/// Where a panel stands.
pub(crate) struct Place {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) titles: Titles,
}

impl Titles {
    fn width(self) -> f64 {
        match self {
            Self::Left(width) => width,
            Self::Above | Self::Elsewhere => 0.0,
        }
    }

    fn row_height(self) -> f64 {
        match self {
            Self::Left(_) | Self::Elsewhere => 36.0,
            Self::Above => 50.0,
        }
    }

    /// Below the bars; panels that stand above one another need room between them.
    fn foot(self) -> f64 {
        match self {
            Self::Left(_) | Self::Elsewhere => 26.0,
            Self::Above => 44.0,
        }
    }

    /// Height of a bar's middle within its row.
    fn middle(self) -> f64 {
        match self {
            Self::Left(_) | Self::Elsewhere => 18.0,
            Self::Above => 32.0,
        }
    }
}

impl Panel {
    /// Height of the panel with titles in that place.
    pub(crate) fn height(&self, titles: Titles) -> f64 {
        HEADING + self.bars.len() as f64 * titles.row_height() + titles.foot()
    }

    pub(crate) fn draw(&self, canvas: &Canvas<'_>, place: &Place) {
        let from = place.left + place.titles.width();
        let scale = Scale::new(0.0..self.largest(), from..place.left + place.width - LABEL);
        canvas.text(self.heading, (from, place.top + 10.0), Type::BODY.bold());
        canvas.text(&self.remark, (from, place.top + 28.0), Type::SMALL);
        for (index, bar) in self.bars.iter().enumerate() {
            let row = place.top + HEADING + index as f64 * place.titles.row_height();
            bar.title(canvas, place, row);
            self.bar(canvas, bar, &scale, row + place.titles.middle());
        }
        self.lines(canvas, &scale, place);
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
            let floor_end = scale.at(floor.min(value));
            canvas.fill((scale.at(0.0), top), (floor_end, bottom), Ink::Floor);
        }
        let mut label_from = end;
        if let Some((low, high)) = bar.interval {
            canvas.whisker(scale.at(low), scale.at(high), middle, Ink::Text);
            label_from = label_from.max(scale.at(high));
        }
        canvas.text(&bar.label, (label_from + 9.0, middle), Type::BODY.bold());
    }

    /// The lines of nothing and of the floor. Titles above the bars leave no room for them.
    fn lines(&self, canvas: &Canvas<'_>, scale: &Scale, place: &Place) {
        let rows = self.bars.len() as f64 * place.titles.row_height();
        let (top, bottom) = (place.top + HEADING - 2.0, place.top + HEADING + rows + 4.0);
        let has_room = place.titles != Titles::Above;
        if has_room {
            let x = scale.at(0.0);
            canvas.line((x, top), (x, bottom), Ink::Muted, 1.0);
        }
        let Some(floor) = self.floor else { return };
        let text = format!("floor, a bare echo: {}", numbers::micros(floor));
        let x = scale.at(floor);
        if has_room {
            canvas.line((x, top), (x, bottom + 4.0), Ink::Muted, 1.0);
        }
        canvas.text(&text, (x, bottom + 14.0), Type::SMALL.align(HPos::Center));
    }

    fn largest(&self) -> f64 {
        self.bars
            .iter()
            .filter_map(|bar| bar.interval.map(|(_, high)| high).or(bar.value))
            .chain(self.floor)
            .filter(|end| end.is_finite())
            .fold(0.0, f64::max)
    }
}

impl Bar {
    fn title(&self, canvas: &Canvas<'_>, place: &Place, row: f64) {
        let set = Type::BODY;
        match place.titles {
            Titles::Left(width) => {
                let at = (place.left + width - 12.0, row + place.titles.middle());
                let text = fitted(&self.title, width - 12.0, set);
                canvas.text(&text, at, set.align(HPos::Right));
            }
            Titles::Above => {
                let text = fitted(&self.title, place.width, set);
                canvas.text(&text, (place.left, row + 12.0), set);
            }
            Titles::Elsewhere => {}
        }
    }
}
