//! A flame graph: each function is as wide as the time that was spent in it and in what it called,
//! and is drawn on top of its caller.

use std::collections::BTreeMap;

use model::stacks::{StackFrame, Stacks};

use super::canvas::{Canvas, Ink, Type};
use super::{Chart, Form, fitted, width_of};
use crate::numbers;

const TOP: f64 = 48.0;
/// Narrower calls are left out, with all that they called, CSS pixels.
const NARROWEST: f64 = 0.5;
/// The least width of a call that shows its name, CSS pixels.
const LEAST_FOR_NAME: f64 = 28.0;
const MARGIN: f64 = 3.0;
/// Width of the mark of a cut name, which is wider than a letter, CSS pixels.
const CUT_MARK: f64 = 6.0;
/// The most functions that are named to a reader who cannot see the graph.
const MOST_TOLD: usize = 5;

/// The flame graph of some stacks.
pub(crate) struct Flame<'a> {
    pub(crate) stacks: &'a Stacks,
    pub(crate) heading: &'a str,
    pub(crate) remark: &'a str,
}

/// The functions that were called from one place.
#[derive(Default)]
pub(super) struct Calls<'a>(BTreeMap<&'a StackFrame, Call<'a>>);

#[derive(Default)]
pub(super) struct Call<'a> {
    /// Weights in one program, or in each of two that are compared.
    pub(super) weights: [u64; 2],
    calls: Calls<'a>,
}

impl Call<'_> {
    fn weight(&self) -> u64 {
        self.weights.iter().sum()
    }
}

/// The colour of a call, its strength, and the words that describe the call.
pub(super) struct MarkedCall {
    pub(super) ink: Ink,
    pub(super) strength: f64,
    pub(super) words: String,
}

/// The scale of the drawing, the place of its lowest row, and how a call is marked.
struct Layout<'a> {
    pixels_per_weight: f64,
    bottom: f64,
    row: f64,
    tell: &'a dyn Fn(&StackFrame, &Call<'_>) -> MarkedCall,
}

impl Chart for Flame<'_> {
    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let mut calls = Calls::default();
        calls.add(self.stacks, (0, 1.0));
        let whole_ns = self.stacks.weight_ns() as f64;
        let tell = |frame: &StackFrame, call: &Call<'_>| {
            let share = numbers::share(call.weight() as f64 / whole_ns);
            let time = numbers::duration(call.weight());
            MarkedCall {
                ink: if frame.kernel {
                    Ink::Kernel
                } else {
                    Ink::Program
                },
                strength: 1.0,
                words: format!("{}: {share}, {time}", whose(frame)),
            }
        };
        let heading = (self.heading, self.remark, self.described());
        calls.drawn((name, form), &heading, &tell)
    }

    fn is_searched(&self) -> bool {
        true
    }
}

/// `tcp_sendmsg (kernel)`.
pub(super) fn whose(frame: &StackFrame) -> String {
    let of_kernel = if frame.kernel { " (kernel)" } else { "" };
    format!("{}{of_kernel}", frame.name)
}

/// Height of a function's row, CSS pixels: high enough for a finger.
const fn row_height(form: Form) -> f64 {
    match form {
        Form::Wide => 18.0,
        Form::Narrow => 24.0,
    }
}

impl Flame<'_> {
    /// Names the functions in which most time was spent, without what they called.
    fn described(&self) -> String {
        let mut own: BTreeMap<Option<&StackFrame>, u64> = BTreeMap::new();
        for stack in &self.stacks.stacks {
            *own.entry(stack.frames.last()).or_default() += stack.weight_ns;
        }
        let mut own: Vec<_> = own.into_iter().collect();
        own.sort_by_key(|(_, weight_ns)| std::cmp::Reverse(*weight_ns));
        let whole_ns = self.stacks.weight_ns() as f64;
        let told = |(frame, weight_ns): &(Option<&StackFrame>, u64)| {
            let name = frame.map_or("", |frame| &frame.name);
            format!("{name} {}", numbers::share(*weight_ns as f64 / whole_ns))
        };
        let told: Vec<String> = own.iter().take(MOST_TOLD).map(told).collect();
        told.join(", ")
    }
}

/// Returns the frames, without nameless ones that are in the same file as their caller: they add
/// nothing.
fn named(frames: &[StackFrame]) -> impl Iterator<Item = &StackFrame> {
    let callers = std::iter::once(None).chain(frames.iter().map(Some));
    let told = callers
        .zip(frames)
        .filter(|(caller, frame)| !frame.name.starts_with('[') || *caller != Some(*frame));
    told.map(|(_, frame)| frame)
}

impl<'a> Calls<'a> {
    /// Adds stacks of one of the two programs, with `scale` weight for each ns.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate"
    )]
    pub(super) fn add(&mut self, stacks: &'a Stacks, (program, scale): (usize, f64)) {
        for stack in &stacks.stacks {
            let mut calls = &mut *self;
            for frame in named(&stack.frames) {
                let call = calls.0.entry(frame).or_default();
                call.weights[program] += (stack.weight_ns as f64 * scale).round() as u64;
                calls = &mut call.calls;
            }
        }
    }

    /// Draws the whole graph under a name, with a heading, a remark and a description; `None` where
    /// there is nothing to draw.
    pub(super) fn drawn(
        &self,
        (name, form): (&str, Form),
        (heading, remark, described): &(&str, &str, String),
        tell: &dyn Fn(&StackFrame, &Call<'_>) -> MarkedCall,
    ) -> Option<String> {
        let whole: u64 = self.0.values().map(Call::weight).sum();
        if whole == 0 {
            return None;
        }
        let pixels_per_weight = form.width() / whole as f64;
        let row = row_height(form);
        let bottom = TOP + row * self.height(pixels_per_weight) as f64;
        let mut canvas = Canvas::new((form.width(), bottom), &form.id(name), heading, described);
        canvas.heading((heading, remark), 0.0, form);
        let layout = Layout {
            pixels_per_weight,
            bottom,
            row,
            tell,
        };
        self.draw(&mut canvas, &layout, (0, 0));
        Some(canvas.svg())
    }

    /// Returns the number of rows to draw.
    fn height(&self, pixels_per_weight: f64) -> usize {
        let seen = self
            .0
            .values()
            .filter(|call| call.weight() as f64 * pixels_per_weight >= NARROWEST);
        seen.map(|call| 1 + call.calls.height(pixels_per_weight))
            .max()
            .unwrap_or(0)
    }

    /// Draws the calls from the weight `from` on, `row` rows above the lowest.
    fn draw(&self, canvas: &mut Canvas, layout: &Layout<'_>, (mut from, row): (u64, usize)) {
        for (frame, call) in &self.0 {
            if call.weight() as f64 * layout.pixels_per_weight >= NARROWEST {
                layout.draw(canvas, (frame, call), (from, row));
                call.calls.draw(canvas, layout, (from, row + 1));
            }
            from += call.weight();
        }
    }
}

impl Layout<'_> {
    fn draw(
        &self,
        canvas: &mut Canvas,
        (frame, call): (&StackFrame, &Call<'_>),
        (from, row): (u64, usize),
    ) {
        let weight = call.weight();
        let [left, width] = [from, weight].map(|it| it as f64 * self.pixels_per_weight);
        let bottom = self.bottom - self.row * row as f64;
        // A line of the background separates neighbours.
        let corners = (
            (left, bottom - self.row + 1.0),
            (left + (width - 1.0).max(NARROWEST), bottom),
        );
        let place = format!("data-row=\"{row}\" data-from=\"{from}\" data-weight=\"{weight}\"");
        let MarkedCall {
            ink,
            strength,
            words,
        } = (self.tell)(frame, call);
        canvas.group(("frame", &place), &words, |canvas| {
            match strength < 1.0 {
                true => canvas.fill_tinted(corners, (ink, strength)),
                false => canvas.fill(corners.0, corners.1, ink),
            }
            if width >= LEAST_FOR_NAME {
                let set = Type::SMALL.ink(Ink::Text);
                let name = told(&frame.name, width - 2.0 * MARGIN, set);
                canvas.text(&name, (left + MARGIN, bottom - self.row / 2.0), set);
            }
        });
    }
}

/// Shortens a name to the room that there is: a name that is too long loses the path before the
/// function first.
fn told(name: &str, pixels: f64, set: Type) -> String {
    let is_plain = !name.contains(['<', '(', ' ']);
    match name.rsplit_once("::").filter(|_| is_plain) {
        Some((_, own)) if width_of(name, set) > pixels => within(own, pixels, set),
        _ => within(name, pixels, set),
    }
}

/// Cuts a name with a mark where it is too long.
fn within(name: &str, pixels: f64, set: Type) -> String {
    match width_of(name, set) <= pixels {
        true => name.to_owned(),
        false => fitted(name, pixels - CUT_MARK, set),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(of: &[(&[&str], u64)]) -> Stacks {
        let frame = |name: &&str| match name.strip_suffix("_[k]") {
            Some(name) => StackFrame::of_kernel(name),
            None => StackFrame::of_program(*name),
        };
        let seen = of
            .iter()
            .map(|(names, weight_ns)| (names.iter().map(frame).collect(), *weight_ns));
        Stacks::of(1_000_000_000, seen)
    }

    fn flame_graph(stacks: &Stacks, heading: &str, remark: &str) -> Option<[String; 2]> {
        let flame = Flame {
            stacks,
            heading,
            remark,
        };
        let [wide, narrow] = [Form::Wide, Form::Narrow].map(|form| flame.draw("flame", form));
        Some([wide?, narrow?])
    }

    #[test]
    fn functions_are_as_wide_as_their_time_and_stand_upon_their_callers() {
        let stacks = stacks(&[
            (&["app", "main", "parse"], 300_000_000),
            (&["app", "main", "send", "sock_sendmsg_[k]"], 100_000_000),
        ]);
        let [wide, narrow] = flame_graph(&stacks, "On a CPU", "").unwrap();
        for told in [
            "<title>main: 100 %, 400 ms</title>",
            "<title>parse: 75 %, 300 ms</title>",
            "<title>sock_sendmsg (kernel): 25 %, 100 ms</title>",
            "var(--kernel)",
            ">parse</text>",
        ] {
            assert!(
                wide.contains(told) && narrow.contains(told),
                "{told}: {wide}"
            );
        }
        // Upon `main`, from the left edge on, three quarters wide but for the line between.
        assert!(
            wide.contains("x=\"0.0\" y=\"67.0\" width=\"734.0\""),
            "{wide}"
        );
        assert!(
            wide.contains("parse 75 %, sock_sendmsg 25 %</desc>"),
            "{wide}"
        );
    }

    #[test]
    fn a_name_without_room_is_told_without_what_it_is_in() {
        let cases = [
            ("v8::internal::Invoke", 400.0, "v8::internal::Invoke"),
            ("v8::internal::Invoke", 60.0, "Invoke"),
            ("Proxy<a::b>::Raw", 60.0, "Proxy<a…"),
        ];
        for (name, pixels, shown) in cases {
            assert_eq!(told(name, pixels, Type::SMALL), shown, "{name} {pixels}");
        }
    }

    #[test]
    fn a_name_is_text_and_what_took_no_time_is_nothing() {
        let [wide, _] = flame_graph(&stacks(&[(&["<script>"], 1)]), "", "").unwrap();
        assert!(!wide.contains("<script>") && wide.contains("&lt;script&gt;"));
        assert_eq!(flame_graph(&stacks(&[]), "", ""), None);
    }

    #[test]
    fn what_is_too_narrow_to_be_seen_is_left_out_with_all_upon_it() {
        let stacks = stacks(&[
            (&["app", "main"], 10_000_000),
            (&["app", "rare", "deep", "deeper"], 1),
        ]);
        let [wide, _] = flame_graph(&stacks, "", "").unwrap();
        assert!(wide.contains("<title>main"));
        assert!(!wide.contains("<title>rare") && !wide.contains("<title>deep"));
    }
}
