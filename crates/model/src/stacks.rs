//! The functions in which some threads spent their time, on a CPU or asleep.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The most stacks that are kept: more than a burst of a second sees on the busiest machine.
pub const MOST_STACKS: usize = 65_536;
/// The most frames of a stack: twice as many as the kernel can give (`kernel.perf_event_max_stack`)
/// for both sides of a call together.
pub const MOST_FRAMES: usize = 512;
/// The most letters of a name; a longer name is cut with a mark.
pub const MOST_LETTERS: usize = 200;
/// Bytes that a frame takes in JSON besides its name.
const FRAME_BYTES: usize = 32;
/// The most arms with stacks: more than any study has.
const MOST_ARMS: usize = 1_000;
/// Stands in place of outer frames that could not be determined.
pub const CUT: &str = "[cut]";
/// Stands in place of stacks for which there was no room.
pub const REST: &str = "[rest]";

/// Stacks of some threads within a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stacks {
    /// How long the threads were observed, ns.
    #[serde(deserialize_with = "crate::observation::bounded")]
    pub window_ns: u64,
    /// Stacks that were seen, whole or cut, count.
    #[serde(deserialize_with = "crate::observation::bounded")]
    pub samples: u64,
    /// Stacks that were lost for lack of room, count.
    #[serde(deserialize_with = "crate::observation::bounded")]
    pub lost: u64,
    /// Samples whose outer frames could not be determined, count; they begin with [`CUT`].
    #[serde(deserialize_with = "crate::observation::bounded")]
    pub cut: u64,
    /// The different stacks, each once.
    #[serde(deserialize_with = "few::<_, _, MOST_STACKS>")]
    pub stacks: Vec<Stack>,
}

/// Stacks of the servers of a run, seen under each server's own load but outside the measured
/// blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStacks {
    /// One entry for each arm that was looked at.
    #[serde(deserialize_with = "few::<_, _, MOST_ARMS>")]
    pub arms: Vec<ArmStacks>,
    /// Why an arm was not looked at; absent where all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<String>,
}

impl RunStacks {
    /// The record of a run that should have seen stacks and did not, for this reason.
    #[must_use]
    pub fn unseen(why: &str) -> Self {
        Self {
            arms: Vec::new(),
            unseen: Some(why.to_owned()),
        }
    }

    /// The record of a run whose blocks are not yet measured.
    #[must_use]
    pub fn to_come() -> Self {
        Self::unseen("the run was stopped before")
    }
}

/// The stacks that ran on the CPUs for the server of one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmStacks {
    /// Name of the arm.
    pub arm: String,
    /// The stacks of all bursts together.
    pub stacks: Stacks,
}

/// One stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// The frames, outermost first. The outermost is the program, by the name of its thread. The
    /// kernel's frames of a system call follow those of the program.
    #[serde(deserialize_with = "few::<_, _, MOST_FRAMES>")]
    pub frames: Vec<StackFrame>,
    /// How long the threads were in this stack, ns. On a CPU, the number of samples times the time
    /// between two; asleep, the time until they ran again.
    #[serde(deserialize_with = "crate::observation::bounded")]
    pub weight_ns: u64,
}

/// One function on a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StackFrame {
    /// Name of the function, or in brackets the file or region of memory that it is in.
    #[serde(deserialize_with = "short")]
    pub name: String,
    /// Whether the function is the kernel's.
    pub kernel: bool,
}

impl StackFrame {
    /// Returns the frame of a function of the program.
    #[must_use]
    pub fn of_program(name: impl Into<String>) -> Self {
        Self {
            name: clipped(name.into()),
            kernel: false,
        }
    }

    /// Returns the frame of a function of the kernel.
    #[must_use]
    pub fn of_kernel(name: impl Into<String>) -> Self {
        Self {
            name: clipped(name.into()),
            kernel: true,
        }
    }
}

impl Stacks {
    /// Adds up the sightings of each stack. The heaviest stacks come first; those beyond
    /// [`MOST_STACKS`] count as lost.
    #[must_use]
    pub fn of(window_ns: u64, seen: impl IntoIterator<Item = (Vec<StackFrame>, u64)>) -> Self {
        let mut found: BTreeMap<Vec<StackFrame>, (u64, u64)> = BTreeMap::new();
        for (frames, weight_ns) in seen {
            let (times, sum_ns) = found.entry(frames).or_default();
            *times += 1;
            *sum_ns += weight_ns;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, (_, weight_ns))| std::cmp::Reverse(*weight_ns));
        let left_out = found.split_off(found.len().min(MOST_STACKS));
        let times = |found: &[(Vec<StackFrame>, (u64, u64))]| {
            found.iter().map(|(_, (times, _))| times).sum()
        };
        let is_cut =
            |(frames, _): &&(Vec<StackFrame>, _)| frames.iter().any(|frame| frame.name == CUT);
        let cut = found
            .iter()
            .filter(is_cut)
            .map(|(_, (times, _))| times)
            .sum();
        Self {
            window_ns,
            samples: times(&found),
            lost: times(&left_out),
            cut,
            stacks: found
                .into_iter()
                .map(|(frames, (_, weight_ns))| Stack { frames, weight_ns })
                .collect(),
        }
    }

    /// Keeps the heaviest stacks, as many as take about `most_bytes` to send or to store. The
    /// others become one stack, called [`REST`], so that shares stay those of the whole.
    #[must_use]
    pub fn within(mut self, most_bytes: usize) -> Self {
        let size = |stack: &Stack| -> usize {
            let frames = stack.frames.iter();
            frames.map(|frame| frame.name.len() + FRAME_BYTES).sum()
        };
        let mut bytes = 0;
        let mut fits = |stack: &&Stack| {
            bytes += size(stack);
            bytes <= most_bytes
        };
        let kept = self.stacks.iter().take_while(&mut fits).count();
        let left_out = self.stacks.split_off(kept);
        if !left_out.is_empty() {
            self.stacks.push(Stack {
                frames: vec![StackFrame::of_program(REST)],
                weight_ns: weight_ns(&left_out),
            });
        }
        self
    }

    /// Merges both, as if they were from one longer window.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let counts = |one: &Self| (one.window_ns, one.samples, one.lost, one.cut);
        let ((window, samples, lost, cut), more) = (counts(&self), counts(&other));
        let all = self.stacks.into_iter().chain(other.stacks);
        let both = Self::of(window + more.0, all.map(|it| (it.frames, it.weight_ns)));
        Self {
            samples: samples + more.1,
            lost: lost + more.2 + both.lost,
            cut: cut + more.3,
            ..both
        }
    }

    /// Returns the weight of all stacks together, ns.
    #[must_use]
    pub fn weight_ns(&self) -> u64 {
        weight_ns(&self.stacks)
    }

    /// Returns one line per stack, as tools for flame graphs read it: names separated by
    /// semicolons, those of the kernel marked with `_[k]`, and the weight in ns.
    #[must_use]
    pub fn folded(&self) -> String {
        let line = |stack: &Stack| format!("{} {}\n", stack.folded_names(), stack.weight_ns);
        self.stacks.iter().map(line).collect()
    }
}

impl Stacks {
    /// Returns one line per stack of either side, with its weight in `one` and in `other`, as tools
    /// for differences read it.
    #[must_use]
    pub fn folded_beside(one: &Self, other: &Self) -> String {
        let mut lines: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for (at, stacks) in [one, other].into_iter().enumerate() {
            for stack in &stacks.stacks {
                lines.entry(stack.folded_names()).or_default()[at] += stack.weight_ns;
            }
        }
        let line = |(names, [one, other]): (String, [u64; 2])| format!("{names} {one} {other}\n");
        lines.into_iter().map(line).collect()
    }
}

impl Stack {
    fn folded_names(&self) -> String {
        let names: Vec<String> = self.frames.iter().map(folded_name).collect();
        names.join(";")
    }
}

/// Returns a frame's name without the characters that would end a name in the folded format.
fn folded_name(frame: &StackFrame) -> String {
    let plain = |letter: char| {
        if letter == ';' || letter.is_control() {
            ':'
        } else {
            letter
        }
    };
    let name: String = frame.name.chars().map(plain).collect();
    name + if frame.kernel { "_[k]" } else { "" }
}

fn weight_ns(stacks: &[Stack]) -> u64 {
    stacks.iter().map(|stack| stack.weight_ns).sum()
}

fn clipped(name: String) -> String {
    match name.char_indices().nth(MOST_LETTERS) {
        None => name,
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

fn short<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(clipped)
}

/// Reads a list of at most `MOST` items.
fn few<'de, D, T, const MOST: usize>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_seq(Few::<T, MOST>(PhantomData))
}

struct Few<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Few<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list of at most {MOST}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut kept = Vec::new();
        while let Some(next) = list.next_element()? {
            if kept.len() == MOST {
                return Err(A::Error::invalid_length(MOST + 1, &self));
            }
            kept.push(next);
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(names: &[&str]) -> Vec<StackFrame> {
        let frame = |name: &&str| match name.strip_suffix("_[k]") {
            Some(name) => StackFrame::of_kernel(name),
            None => StackFrame::of_program(*name),
        };
        names.iter().map(frame).collect()
    }

    #[test]
    fn equal_stacks_are_one_and_the_heaviest_stands_first() {
        let seen = [
            (frames(&["a", "b"]), 10),
            (frames(&["a", CUT, "read_[k]"]), 15),
            (frames(&["a", "b"]), 10),
        ];
        let stacks = Stacks::of(1_000, seen);
        assert_eq!(stacks.folded(), "a;b 20\na;[cut];read_[k] 15\n");
        assert_eq!(
            (stacks.samples, stacks.cut, stacks.lost, stacks.weight_ns()),
            (3, 1, 0, 35)
        );
    }

    #[test]
    fn two_programs_stand_in_one_folded_text_with_what_only_one_has() {
        let one = Stacks::of(1, [(frames(&["a", "b"]), 10), (frames(&["a"]), 1)]);
        let other = Stacks::of(1, [(frames(&["a", "b"]), 30), (frames(&["a", "c_[k]"]), 5)]);
        let both = Stacks::folded_beside(&one, &other);
        assert_eq!(both, "a 1 0\na;b 10 30\na;c_[k] 0 5\n");
    }

    #[test]
    fn a_name_can_neither_end_a_line_of_the_folded_text_nor_a_frame() {
        let stacks = Stacks::of(1, [(frames(&["a;b 7\nc"]), 1)]);
        assert_eq!(stacks.folded(), "a:b 7:c 1\n");
    }

    #[test]
    fn two_bursts_are_as_one_longer() {
        let burst = |ns| Stacks::of(1_000, [(frames(&["a"]), ns), (frames(&[CUT]), 1)]);
        let both = burst(10).and(burst(20));
        assert_eq!(both.folded(), "a 30\n[cut] 2\n");
        let counts = (both.window_ns, both.samples, both.cut, both.lost);
        assert_eq!(counts, (2_000, 4, 2, 0));
    }

    #[test]
    fn where_there_is_room_for_few_the_heaviest_are_kept_and_shares_are_of_the_whole() {
        let seen = [("light", 1), ("lighter", 2), ("heavy", 9)];
        let seen = seen.map(|(name, weight)| (frames(&[name]), weight));
        let all = Stacks::of(1, seen);
        let kept = all.clone().within(FRAME_BYTES + 8);
        assert_eq!(kept.folded(), "heavy 9\n[rest] 3\n");
        assert_eq!((kept.lost, kept.weight_ns()), (0, all.weight_ns()));
        assert_eq!(all.clone().within(usize::MAX), all);
    }

    #[test]
    fn what_is_read_back_is_bounded() {
        let stacks = Stacks::of(1, [(frames(&["a"]), 1)]);
        let text = serde_json::to_string(&stacks).unwrap();
        assert_eq!(serde_json::from_str::<Stacks>(&text).unwrap(), stacks);
        let long = text.replace("\"a\"", &format!("\"{}\"", "ä".repeat(MOST_LETTERS + 1)));
        let name = &serde_json::from_str::<Stacks>(&long).unwrap().stacks[0].frames[0].name;
        assert_eq!(name.chars().count(), MOST_LETTERS + 1);
        let frame = serde_json::to_string(&StackFrame::of_program("a")).unwrap();
        let deep = text.replace(&frame, &vec![frame.as_str(); MOST_FRAMES + 1].join(","));
        let why = serde_json::from_str::<Stacks>(&deep)
            .unwrap_err()
            .to_string();
        assert!(why.contains("a list of at most 512"), "{why}");
    }
}
