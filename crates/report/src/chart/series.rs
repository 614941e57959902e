//! Every block in the order of time, one lane for each arm: what the machine did to all arms alike
//! rises and falls in all lanes together, and what one arm did shows in its lane alone.

use model::command_run::CommandBlock;
use model::judgement::{ArmFigures, ArmResult, Outcome};
use model::run::Phase;
use model::{BlockRecord, Estimate, Judgement, Reading, Role};
use plotters::style::text_anchor::HPos;

use super::canvas::{At, Canvas, Type, Words, draw};
use super::ink::Ink;
use super::scale::Scale;
use super::{Form, TITLES, fitted};
use crate::factorial::View;
use crate::{numbers, rows, sentences};

const TOP: f64 = 56.0;
const FOOT: f64 = 46.0;
/// Right of a lane: the arm's median.
const MEDIAN: f64 = 96.0;
/// Above and below the marks of a lane.
const MARGIN: f64 = 5.0;
/// A lane spans at least so much either way, so that a quiet run does not look like a wild one, %.
const LEAST_SPAN: f64 = 1.0;

/// One arm: its median, and its blocks as seconds and per cent from that median.
struct Lane {
    title: String,
    role: Role,
    median: String,
    blocks: Vec<(f64, f64)>,
}

struct Plot {
    lanes: Vec<Lane>,
    /// Where the run was stopped and taken up again, s.
    resumed: Vec<f64>,
    seconds: Scale,
    /// What all lanes have in common, where there is more to compare than these arms.
    cell: String,
    /// Lowest and highest distance from a median, %.
    span: (f64, f64),
    heading: String,
    form: Form,
}

/// Draws every block's figure over time; `None` where none was measured.
pub(crate) fn series(blocks: &[BlockRecord], judgement: &Judgement, form: Form) -> Option<String> {
    let (times, resumed) = run_times(blocks);
    let lanes = judgement
        .arms
        .iter()
        .filter_map(|arm| lane(arm, blocks, &times, judgement.outcome));
    let heading = heading(judgement.outcome);
    drawn(lanes.collect(), resumed, [heading, String::new()], form)
}

/// The same of runs of commands: the cell of the baseline, where the control is.
pub(crate) fn command_series(
    view: View<'_>,
    blocks: &[CommandBlock],
    form: Form,
) -> Option<String> {
    let (times, resumed) = run_times(blocks);
    let cell = view.cells().into_iter().next()?;
    let arms = cell.arms.into_iter().chain(view.control());
    let lanes = arms.filter_map(|arm| command_lane(view, arm, blocks, &times));
    let heading = format!(
        "{}, run by run",
        sentences::capitalised(&view.metric().title)
    );
    drawn(lanes.collect(), resumed, [heading, cell.title], form)
}

fn drawn(
    lanes: Vec<Lane>,
    resumed: Vec<f64>,
    [heading, cell]: [String; 2],
    form: Form,
) -> Option<String> {
    let end = lanes.iter().flat_map(|lane| &lane.blocks).map(|at| at.0);
    let end = end.reduce(f64::max)?;
    let left = if form == Form::Wide { TITLES } else { 0.0 };
    let plot = Plot {
        seconds: Scale::new(0.0..end, left + 8.0..form.width() - MEDIAN - 8.0),
        span: span(&lanes),
        lanes,
        resumed,
        heading,
        cell,
        form,
    };
    let words = Words {
        id: form.id("series"),
        title: "Every block in the order of time",
        description: plot.described(),
    };
    Some(draw(form.width(), plot.bottom() + FOOT, &words, |canvas| {
        plot.draw(canvas);
    }))
}

/// Seconds since the run began for each block, and those at which it was taken up again: the clock
/// starts anew with each resumption, and the time between is not known.
fn run_times<R>(blocks: &[BlockRecord<R>]) -> (Vec<f64>, Vec<f64>) {
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

fn lane(arm: &ArmResult, blocks: &[BlockRecord], times: &[f64], outcome: Outcome) -> Option<Lane> {
    let median = median(arm, outcome)?.value;
    let of_arm = blocks
        .iter()
        .zip(times)
        .filter(|(block, _)| block.arm == arm.name && block.phase == Phase::Throughput);
    let blocks = of_arm.filter_map(|(block, seconds)| {
        let percent = (figure(&block.reading, outcome)? / median - 1.0) * 100.0;
        percent.is_finite().then_some((*seconds, percent))
    });
    Some(Lane {
        title: rows::role_title(arm),
        role: arm.role,
        median: match outcome {
            Outcome::ServerCpuPerRequest => format!("{} µs", numbers::micros(median)),
            Outcome::Throughput => numbers::rate(median),
        },
        blocks: blocks.collect(),
    })
}

fn command_lane(
    view: View<'_>,
    arm: &ArmFigures,
    blocks: &[CommandBlock],
    times: &[f64],
) -> Option<Lane> {
    let metric = view.metric();
    let mut figures = arm.figures.iter();
    let median = figures
        .find(|figure| figure.metric == metric.name)?
        .estimate
        .value;
    let of_arm = blocks
        .iter()
        .zip(times)
        .filter(|(block, _)| block.arm == arm.name);
    let points = of_arm.filter_map(|(block, seconds)| {
        let percent = (command_figure(&metric.name, block)? / median - 1.0) * 100.0;
        percent.is_finite().then_some((*seconds, percent))
    });
    Some(Lane {
        title: match arm.role {
            Role::Control => format!("control: {}", view.own_level(arm)),
            _ => view.own_level(arm).to_owned(),
        },
        role: arm.role,
        median: numbers::quantity(median, &metric.unit),
        blocks: points.collect(),
    })
}

/// As the run printed it; only the study's own metrics are kept by name.
fn command_figure(metric: &str, block: &CommandBlock) -> Option<f64> {
    let ended_well = block.reading.command.end.is_success();
    let value = block.reading.values.get(metric).copied();
    value.filter(|_| ended_well)
}

fn median(arm: &ArmResult, outcome: Outcome) -> Option<Estimate> {
    match outcome {
        Outcome::ServerCpuPerRequest => arm.server_cpu_us_per_request,
        Outcome::Throughput => arm.throughput_rps,
    }
}

fn figure(reading: &Reading, outcome: Outcome) -> Option<f64> {
    match outcome {
        Outcome::ServerCpuPerRequest => reading.server_cpu_us_per_request(),
        Outcome::Throughput => Some(reading.throughput_rps()),
    }
}

fn span(lanes: &[Lane]) -> (f64, f64) {
    let ends = lanes.iter().flat_map(|lane| &lane.blocks).map(|at| at.1);
    ends.fold((-LEAST_SPAN, LEAST_SPAN), |(low, high), percent| {
        (low.min(percent), high.max(percent))
    })
}

impl Plot {
    fn draw(&self, canvas: &Canvas<'_>) {
        let (left, right) = self.sides();
        let set = Type::BODY.bold();
        let heading = fitted(&self.heading, self.form.width() - left, set);
        canvas.text(&heading, (left, 10.0), set);
        let remark = fitted(&self.remark(), self.form.width() - left, Type::SMALL);
        canvas.text(&remark, (left, 28.0), Type::SMALL);
        let at = (self.form.width(), 46.0);
        canvas.text("median", at, Type::SMALL.align(HPos::Right));
        for seconds in &self.resumed {
            self.resumption(canvas, self.seconds.at(*seconds));
        }
        for (index, lane) in self.lanes.iter().enumerate() {
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

    fn lane(&self, canvas: &Canvas<'_>, lane: &Lane, top: f64) {
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
        let set = Type::BODY.bold().align(HPos::Right);
        canvas.text(&fitted(&lane.median, MEDIAN, set), at, set);
    }

    /// Left of the lane, level with the arm's median; above it where the page is narrow.
    fn title(&self, canvas: &Canvas<'_>, lane: &Lane, top: f64) {
        let (width, at, align) = match self.form {
            Form::Wide => {
                let y = self.percent_scale(top).at(0.0);
                (TITLES - 12.0, (TITLES - 12.0, y), HPos::Right)
            }
            Form::Narrow => (350.0, (0.0, top + 13.0), HPos::Left),
        };
        let text = fitted(&lane.title, width, Type::BODY);
        canvas.text(&text, at, Type::BODY.align(align));
    }

    fn resumption(&self, canvas: &Canvas<'_>, x: f64) {
        canvas.line((x, TOP), (x, self.bottom()), Ink::Published, 1.0);
        let set = Type::SMALL.ink(Ink::Published).align(HPos::Center);
        canvas.text("resumed", (x, TOP - 8.0), set);
    }

    fn axis(&self, canvas: &Canvas<'_>) {
        let bottom = self.bottom();
        let most = if self.form == Form::Wide { 8 } else { 4 };
        for tick in self.seconds.ticks(most) {
            let x = self.seconds.at(tick);
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
            let set = Type::SMALL.align(HPos::Center);
            canvas.text(&format!("{tick} s"), (x, bottom + 14.0), set);
        }
        let at = (self.sides().0, bottom + 34.0);
        canvas.text("time since the run began", at, Type::SMALL);
    }

    fn remark(&self) -> String {
        let (low, high) = self.span;
        let [low, high] = [low, high].map(numbers::signed);
        let span = format!("each lane spans {low} … {high} % of its median");
        match self.cell.as_str() {
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
        self.lane_top(self.lanes.len())
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

    fn described(&self) -> String {
        let lanes: Vec<String> = self.lanes.iter().map(Lane::described).collect();
        lanes.join("; ")
    }
}

fn heading(outcome: Outcome) -> String {
    let heading = match outcome {
        Outcome::ServerCpuPerRequest => "Server CPU per request, block by block",
        Outcome::Throughput => "Throughput, block by block",
    };
    heading.to_owned()
}

impl Lane {
    fn ink(&self) -> Ink {
        if rows::is_beside(self.role) {
            Ink::Muted
        } else {
            Ink::Accent
        }
    }

    /// A dot for each block; the control's are hollow diamonds.
    fn mark(&self, canvas: &Canvas<'_>, place: At) {
        match self.role {
            Role::Control => canvas.diamond(place, 3.5, self.ink()),
            _ => canvas.dot(place, 2.5, self.ink()),
        }
    }

    fn described(&self) -> String {
        let ends = self.blocks.iter().map(|at| at.1);
        let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), percent| {
            (low.min(percent), high.max(percent))
        });
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

    #[test]
    fn every_arm_has_a_lane_with_all_its_blocks_and_the_control_has_marks_of_its_own() {
        let judgement = sample::judgement();
        let svg = series(&sample::blocks(&judgement), &judgement, Form::Wide).unwrap();
        for arm in &judgement.arms {
            let lane = format!("{}: 16 blocks", rows::role_title(arm));
            assert!(svg.contains(&lane), "{lane}");
        }
        let marks = ["<circle", "<polygon"].map(|mark| svg.matches(mark).count());
        assert_eq!(marks, [16 * (judgement.arms.len() - 1), 16]);
    }

    #[test]
    fn latency_blocks_are_no_part_of_the_lanes() {
        let mut blocks = sample::blocks(&sample::judgement());
        for block in &mut blocks {
            block.phase = Phase::Latency;
        }
        assert_eq!(series(&blocks, &sample::judgement(), Form::Wide), None);
    }
}
