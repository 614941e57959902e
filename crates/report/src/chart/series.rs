//! Every block in order of time, in a strip for each arm. What the machine does to all arms alike
//! shows in all strips at once; what happens to one arm shows in its strip alone.

use model::{BlockRecord, Role};

use super::canvas::Ink;
use super::xy::{Curve, Curves, Panel, Rise};
use crate::rows;

/// Reads the figure of a block; `None` for a block of another arm, or without a figure.
type FigureOf<'a, R> = Box<dyn Fn(&BlockRecord<R>) -> Option<f64> + 'a>;

/// One arm, and the figures of its blocks.
pub(crate) struct Strip<'a, R> {
    pub(crate) title: String,
    pub(crate) role: Role,
    /// The median as a number and as text.
    pub(crate) median: (f64, String),
    pub(crate) figure: FigureOf<'a, R>,
}

/// Charts the blocks of some arms. `cell` is what these arms have in common, where there are
/// several cells.
pub(crate) fn series<'a, R: 'a>(
    heading: String,
    cell: &str,
    blocks: &[BlockRecord<R>],
    strips: impl Iterator<Item = Strip<'a, R>>,
) -> Curves {
    let (times, resumed) = run_times(blocks);
    let about = "each as a change in % from its arm's median";
    Curves {
        heading,
        remark: match cell {
            "" => about.to_owned(),
            cell => format!("{cell}; {about}"),
        },
        panels: strips.map(|strip| strip.panel(blocks, &times)).collect(),
        columns: 1,
        height: 42.0,
        below: match resumed.is_empty() {
            true => "seconds since the run began",
            false => "seconds since the run began; vertical lines are where it was resumed",
        },
        places: Vec::new(),
        rise: Rise::Strips,
        unit: "%".to_owned(),
        resumed,
    }
}

impl<R> Strip<'_, R> {
    fn panel(&self, blocks: &[BlockRecord<R>], times: &[f64]) -> Panel {
        let (median, shown) = &self.median;
        let place = |(block, seconds): (&BlockRecord<R>, &f64)| {
            let percent = ((self.figure)(block)? / median - 1.0) * 100.0;
            percent.is_finite().then_some((*seconds, percent))
        };
        let path: Vec<(f64, f64)> = blocks.iter().zip(times).filter_map(place).collect();
        let points = path.iter().map(|(x, percent)| (*x, [*percent; 3]));
        let line = Curve {
            title: String::new(),
            ink: match rows::is_beside(self.role) {
                true => Ink::Muted,
                false => Ink::Accent,
            },
            points: points.collect(),
            path,
        };
        Panel {
            title: format!("{}, median {shown}", self.title),
            lines: vec![line],
            ..Panel::default()
        }
    }
}

/// Returns the seconds since the run began for each block, and those at which it was resumed. The
/// clock starts again with each resumption, and the time in between is not known.
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
