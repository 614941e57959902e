//! Every block in the order of time, one lane for each arm: what the machine did to all arms alike
//! rises and falls in all lanes together, and what one arm did shows in its lane alone.

use model::{BlockRecord, Role};

use super::canvas::{Align, At, Canvas, Ink, Type, Words};
use super::scale::Scale;
use super::{Chart, Form, TITLES, fitted};
use crate::{numbers, rows};

const TOP: f64 = 56.0;
const FOOT: f64 = 46.0;
/// Right of a lane: the arm's median.
const MEDIAN: f64 = 96.0;
/// Above and below the marks of a lane.
const MARGIN: f64 = 5.0;
/// A lane spans at least so much either way, so that a quiet run does not look like a wild one, %.
const LEAST_SPAN: f64 = 1.0;

/// A chart of figures over time.
pub(crate) struct Lanes {
    pub(crate) heading: String,
    /// What all lanes have in common, where there is more to compare than these arms.
    pub(crate) cell: String,
    pub(crate) lanes: Vec<Lane>,
    /// Where the run was stopped and taken up again, s.
    pub(crate) resumed: Vec<f64>,
}

/// One arm: its median, and its blocks as seconds and per cent from that median.
pub(crate) struct Lane {
    title: String,
    role: Role,
    median: String,
    blocks: Vec<(f64, f64)>,
}

/// The chart with all its places.
struct Plot<'a> {
    of: &'a Lanes,
    seconds: Scale,
    /// Lowest and highest distance from a median, %.
    span: (f64, f64),
    form: Form,
}

impl Chart for Lanes {
    fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.blocks.is_empty())
    }

    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let blocks = || self.lanes.iter().flat_map(|lane| &lane.blocks);
        let end = blocks().map(|at| at.0).reduce(f64::max)?;
        let left = if form == Form::Wide { TITLES } else { 0.0 };
        let plot = Plot {
            of: self,
            seconds: Scale::new(0.0..end, left + 8.0..form.width() - MEDIAN - 8.0),
            span: span(&mut blocks().map(|at| at.1), LEAST_SPAN),
            form,
        };
        let lanes: Vec<String> = self.lanes.iter().map(Lane::described).collect();
        let words = Words {
            id: form.id(name),
            title: "Every block in the order of time",
            description: lanes.join("; "),
        };
        let mut canvas = Canvas::new(form.width(), plot.bottom() + FOOT, &words);
        plot.draw(&mut canvas);
        Some(canvas.svg())
    }
}

/// Seconds since the run began for each block, and those at which it was taken up again: the clock
/// starts anew with each resumption, and the time between is not known.
pub(crate) fn run_times<R>(blocks: &[BlockRecord<R>]) -> (Vec<f64>, Vec<f64>) {
    let (mut begun_ms, mut last_ms) = (0, 0);
    let mut resumed = Vec::new();
    let times = blocks.iter().map(|block| {
        if begun_ms + block.at_ms < last_ms {
            begun_ms = last_ms;
            resumed.push(begun_ms as f64 / 1e3);
        }
        last_ms = begun_ms + block.at_ms;
        last_ms as f64 / 1e3
    });
    (times.collect(), resumed)
}

/// The least and the largest of some per cents, at least so far from none.
fn span(percents: &mut dyn Iterator<Item = f64>, least: f64) -> (f64, f64) {
    percents.fold((-least, least), |(low, high), percent| {
        (low.min(percent), high.max(percent))
    })
}

impl Plot<'_> {
    fn draw(&self, canvas: &mut Canvas) {
        let (left, right) = self.sides();
        let set = Type::BODY.bold();
        let heading = fitted(&self.of.heading, self.form.width() - left, set);
        canvas.text(&heading, (left, 10.0), set);
        let remark = fitted(&self.remark(), self.form.width() - left, Type::SMALL);
        canvas.text(&remark, (left, 28.0), Type::SMALL);
        let at = (self.form.width(), 46.0);
        canvas.text("median", at, Type::SMALL.align(Align::Right));
        for seconds in &self.of.resumed {
            self.resumption(canvas, self.seconds.at(*seconds));
        }
        for (index, lane) in self.of.lanes.iter().enumerate() {
            self.lane(canvas, lane, self.lane_top(index));
        }
        canvas.line(
            (left, self.bottom()),
            (right, self.bottom()),
            Ink::Muted,
            1.0,
        );
        self.axis(canvas);
    }

    fn lane(&self, canvas: &mut Canvas, lane: &Lane, top: f64) {
        let (left, right) = self.sides();
        let y = self.percent_scale(top);
        canvas.line((left, y.at(0.0)), (right, y.at(0.0)), Ink::Rule, 1.0);
        let places: Vec<At> = lane
            .blocks
            .iter()
            .map(|(seconds, percent)| (self.seconds.at(*seconds), y.at(*percent)))
            .collect();
        canvas.path(&places, lane.ink(), 1.0);
        for place in places {
            lane.mark(canvas, place);
        }
        self.title(canvas, lane, top);
        let at = (self.form.width(), y.at(0.0));
        let set = Type::BODY.bold().align(Align::Right);
        canvas.text(&fitted(&lane.median, MEDIAN, set), at, set);
    }

    /// Left of the lane, level with the arm's median; above it where the page is narrow.
    fn title(&self, canvas: &mut Canvas, lane: &Lane, top: f64) {
        let (width, at, align) = match self.form {
            Form::Wide => {
                let y = self.percent_scale(top).at(0.0);
                (TITLES - 12.0, (TITLES - 12.0, y), Align::Right)
            }
            Form::Narrow => (350.0, (0.0, top + 13.0), Align::Left),
        };
        let text = fitted(&lane.title, width, Type::BODY);
        canvas.text(&text, at, Type::BODY.align(align));
    }

    fn resumption(&self, canvas: &mut Canvas, x: f64) {
        canvas.line((x, TOP), (x, self.bottom()), Ink::Published, 1.0);
        let set = Type::SMALL.ink(Ink::Published).align(Align::Center);
        canvas.text("resumed", (x, TOP - 8.0), set);
    }

    fn axis(&self, canvas: &mut Canvas) {
        let bottom = self.bottom();
        let most = if self.form == Form::Wide { 8 } else { 4 };
        for tick in self.seconds.ticks(most) {
            let x = self.seconds.at(tick);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            let set = Type::SMALL.align(Align::Center);
            canvas.text(&format!("{tick} s"), (x, bottom + 14.0), set);
        }
        let at = (self.sides().0, bottom + 34.0);
        canvas.text("time since the run began", at, Type::SMALL);
    }

    fn remark(&self) -> String {
        let (low, high) = self.span;
        let [low, high] = [low, high].map(numbers::signed);
        let span = format!("each lane spans {low} … {high} % of its median");
        match self.of.cell.as_str() {
            "" => span,
            cell => format!("{cell}; {span}"),
        }
    }

    fn sides(&self) -> (f64, f64) {
        let left = if self.form == Form::Wide { TITLES } else { 0.0 };
        (left, self.form.width() - MEDIAN)
    }

    fn lane_top(&self, index: usize) -> f64 {
        let height = match self.form {
            Form::Wide => 42.0,
            Form::Narrow => 64.0,
        };
        TOP + index as f64 * height
    }

    fn bottom(&self) -> f64 {
        self.lane_top(self.of.lanes.len())
    }

    /// Where the per cents of a lane lie that begins there; the title is above on a narrow page.
    fn percent_scale(&self, top: f64) -> Scale {
        let (low, high) = self.span;
        let (from, to) = match self.form {
            Form::Wide => (top + 42.0, top),
            Form::Narrow => (top + 64.0, top + 20.0),
        };
        Scale::new(low..high, from - MARGIN..to + MARGIN)
    }
}

impl Lane {
    /// The lane of an arm of a median, given as a number and as shown, from its blocks and their
    /// times; `figure` is `None` for a block that is no part of it.
    pub(crate) fn of<R>(
        (title, role): (String, Role),
        (median, shown): (f64, String),
        blocks: &[BlockRecord<R>],
        times: &[f64],
        figure: impl Fn(&BlockRecord<R>) -> Option<f64>,
    ) -> Self {
        let place = |(block, seconds): (&BlockRecord<R>, &f64)| {
            let percent = (figure(block)? / median - 1.0) * 100.0;
            percent.is_finite().then_some((*seconds, percent))
        };
        Self {
            title,
            role,
            median: shown,
            blocks: blocks.iter().zip(times).filter_map(place).collect(),
        }
    }

    fn ink(&self) -> Ink {
        if rows::is_beside(self.role) {
            Ink::Muted
        } else {
            Ink::Accent
        }
    }

    /// A dot for each block; the control's are hollow diamonds.
    fn mark(&self, canvas: &mut Canvas, place: At) {
        match self.role {
            Role::Control => canvas.diamond(place, 3.5, self.ink()),
            _ => canvas.dot(place, 2.5, self.ink()),
        }
    }

    fn described(&self) -> String {
        let (low, high) = span(&mut self.blocks.iter().map(|at| at.1), 0.0);
        format!(
            "{}: {} blocks, median {}, within {} … {} %",
            self.title,
            self.blocks.len(),
            self.median,
            numbers::signed(low),
            numbers::signed(high)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_run_that_was_taken_up_again_goes_on_where_it_stopped() {
        let mut blocks = sample::blocks(&sample::judgement());
        blocks.truncate(4);
        for (block, at_ms) in blocks.iter_mut().zip([100, 700, 50, 650]) {
            block.at_ms = at_ms;
        }
        let (times, resumed) = run_times(&blocks);
        assert_eq!(times, [0.1, 0.7, 0.75, 1.35]);
        assert_eq!(resumed, [0.7]);
    }
}
