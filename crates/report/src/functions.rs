//! Which functions the servers of a run spend their time in, and how one server differs from the
//! next.

use model::stacks::{ArmStacks, Stacks};
use model::{Judgement, RunRecord};

use crate::chart::difference::{CostedStacks, Difference};
use crate::sentences;
use crate::view::{Item, Page};

/// Names of the graphs. Any further comparisons are described in words only.
const GRAPHS: [&str; 4] = ["difference", "difference-2", "difference-3", "difference-4"];
/// Standard errors from one end of a 95 % interval to the other.
const INTERVAL: f64 = 2.0 * 1.96;
const CAPTION: &str = "The width of each function is its own time and that of what it called, of both servers together. What takes \
     more is orange, what takes less is teal, stronger for a larger difference; grey is what the samples cannot tell apart.";

/// Adds a sentence for each comparison of servers whose stacks were seen, and a graph for the first
/// few.
pub(crate) fn add_to(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    let Some(seen) = &run.stacks else {
        return;
    };
    page.section("functions", "Which functions take the time");
    if let Some(why) = &seen.unseen {
        page.paragraph(format!(
            "It was not seen which functions take the time. {}.",
            sentences::capitalised(why)
        ));
    }
    let mut names = GRAPHS.into_iter();
    let pairs = pairs(&seen.arms, judgement);
    for pair in &pairs {
        let title = pair.titles.join(" against ");
        let difference = Difference {
            sides: pair.sides(judgement),
            unit: pair.costs(judgement).map(|_| sentences::unit(run)),
            heading: &title,
            remark: &pair.remark(),
        };
        page.paragraph(format!("{title}. {}", difference.sentence()));
        if let Some(name) = names.next() {
            page.figure(name, &difference, CAPTION);
        }
    }
    if !pairs.is_empty() {
        page.add_to_browser(Item::Note(
            "For other tools: `*.folded` beside this page, one stack per line, with its time in ns in the reference and in the other.".to_owned(),
        ));
    }
}

/// Two servers that are compared. `titles` names the reference last, `arms` has it first.
struct ComparedStacks<'a> {
    titles: [&'a str; 2],
    arms: [&'a ArmStacks; 2],
}

fn pairs<'a>(seen: &'a [ArmStacks], judgement: &'a Judgement) -> Vec<ComparedStacks<'a>> {
    let arm = |name: &str| seen.iter().find(|arm| arm.arm == name);
    let title = |name: &str| judgement.arms.iter().find(|arm| arm.name == name);
    let pair = |step: &'a model::judgement::StepResult| {
        Some(ComparedStacks {
            titles: [&step.title, &title(&step.against)?.title],
            arms: [arm(&step.against)?, arm(&step.arm)?],
        })
    };
    judgement.steps.iter().filter_map(pair).collect()
}

impl<'a> ComparedStacks<'a> {
    /// Says how many samples the graph is made of, in the order of the title: the reference comes
    /// last.
    fn remark(&self) -> String {
        let [reference, own] = self.arms;
        let of_both = |count: fn(&Stacks) -> u64| [own, reference].map(|arm| count(&arm.stacks));
        let [one, other] = of_both(|stacks| stacks.samples);
        let mut remark = format!("{one} and {other} samples outside the blocks");
        let cut = ("cut", of_both(|stacks| stacks.cut));
        let lost = ("lost", of_both(|stacks| stacks.lost));
        for (what, [one, other]) in [cut, lost] {
            if one.max(other) > 0 {
                remark += &format!(", {what}: {one} and {other}");
            }
        }
        remark
    }

    /// CPU time per unit of work with its standard error, µs, if it is known for both servers.
    fn costs(&self, judgement: &Judgement) -> Option<[(f64, f64); 2]> {
        let cost = |name: &str| {
            let arm = judgement.arms.iter().find(|arm| arm.name == name)?;
            let found = arm.server_cpu_us_per_request?;
            Some((found.value, (found.high - found.low) / INTERVAL))
        };
        let [one, other] = self.arms.map(|arm| cost(&arm.arm));
        Some([one?, other?])
    }

    fn sides(&self, judgement: &Judgement) -> [CostedStacks<'a>; 2] {
        let costs = self.costs(judgement).unwrap_or([(1.0, 0.0); 2]);
        [0, 1].map(|at| CostedStacks {
            stacks: &self.arms[at].stacks,
            cost: costs[at].0,
            error: costs[at].1,
        })
    }
}

/// Makes a file name that leads into no other folder, whatever name a run from elsewhere has.
fn plain(name: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '-' {
            letter
        } else {
            '_'
        }
    };
    name.chars().take(100).map(plain).collect()
}

/// Returns the stacks of a run in the format of flame graph tools, as file names and their
/// contents. Each line has the time in the reference first, then that in the other server.
#[must_use]
pub fn folded(run: &RunRecord, judgement: &Judgement) -> Vec<(String, String)> {
    let Some(seen) = &run.stacks else {
        return Vec::new();
    };
    let pair = |pair: ComparedStacks<'_>| {
        let [before, after] = pair.arms;
        let name = format!("{}-{}.folded", plain(&before.arm), plain(&after.arm));
        (name, Stacks::folded_beside(&before.stacks, &after.stacks))
    };
    pairs(&seen.arms, judgement).into_iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_names_no_file_outside_the_folder() {
        assert_eq!(plain("../../etc/x y"), "______etc_x_y");
        assert_eq!(plain("no-delay"), "no-delay");
    }
}
