//! The answer in one sentence, as a person would say it.
//!
//! It says what the verdict allows and no more: where a verdict is withheld, the sentence says so
//! and still gives the figures.

use model::judgement::{ArmResult, Judged, Outcome, StepResult};
use model::study::DesignKind;
use model::{Doubt, Effect, Judgement, RunRecord, Verdict};

use crate::{between_boots, gate, numbers, scale, sentences, side_by_side, whole};

/// Returns the answer to the study's question.
pub(crate) fn sentence(run: &RunRecord, judgement: &Judgement) -> String {
    if let Some(gate) = &judgement.gate {
        return gate::sentence(run, judgement, gate);
    }
    match run.study.design.kind {
        DesignKind::Ladder => match between_boots::waiting(run, judgement) {
            Some(waiting) => format!("{} {waiting}", ladder(run, judgement)),
            None => ladder(run, judgement),
        },
        DesignKind::Compare => compare(run, judgement),
    }
}

/// The first and the last state of a ladder, and the effect between them.
struct Ends<'a> {
    first: &'a ArmResult,
    last: &'a ArmResult,
    effect: Effect,
    outcome: Outcome,
    /// The program under test, where it is not our own server.
    service: Option<&'a str>,
}

fn ladder(run: &RunRecord, judgement: &Judgement) -> String {
    let Some((ends, verdict)) = ends(run, judgement) else {
        return too_little(run, judgement);
    };
    match verdict {
        Verdict::Better => format!(
            "Tuned, {}{}{}.",
            ends.costs(),
            ends.implied(),
            largest_gain(judgement)
        ),
        Verdict::Worse => format!("The steps together make it slower: {}.", ends.costs()),
        Verdict::NoDifferenceThatMatters => format!(
            "The steps together make no difference that matters: {}.",
            ends.costs()
        ),
        Verdict::Inconclusive => format!(
            "This run cannot tell whether the steps help{}: the change is {}. Measured: {}.",
            ends.service
                .map_or_else(String::new, |name| format!(" {name}")),
            numbers::effect(&ends.effect),
            ends.figures()
        ),
        Verdict::Invalid => {
            let reason = void_reason(run, judgement);
            format!("No verdict: {reason}. Measured: {}.", ends.figures())
        }
    }
}

fn ends<'a>(run: &'a RunRecord, judgement: &'a Judgement) -> Option<(Ends<'a>, Verdict)> {
    let (first, last, judged) = whole::confirmed_ends(judgement).or_else(|| climbed(judgement))?;
    let ends = Ends {
        first,
        last,
        effect: judged.effect?,
        outcome: judgement.outcome,
        service: run.service.as_ref().map(|of| of.description.title.as_str()),
    };
    Some((ends, judged.verdict))
}

/// Returns the two ends of a climb.
pub(crate) fn climbed(judgement: &Judgement) -> Option<whole::Ends<'_>> {
    let whole = judgement.whole.as_ref()?;
    let (verdict, effect) = (whole.verdict, whole.effect);
    Some((
        arm(judgement, &whole.against)?,
        arm(judgement, &whole.arm)?,
        Judged { verdict, effect },
    ))
}

impl Ends<'_> {
    /// `a request costs 6.1 µs of server CPU instead of 11.9 µs (−49 %)`.
    fn costs(&self) -> String {
        let (first, last) = (self.shown(self.first), self.shown(self.last));
        let change = numbers::change_roughly(self.effect.ratio);
        match self.outcome {
            Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
                let to = self
                    .service
                    .map_or_else(String::new, |name| format!(" to {name}"));
                let unit = sentences::unit_of(self.outcome);
                format!("a {unit}{to} costs {last} of server CPU instead of {first} ({change})")
            }
            Outcome::Throughput => {
                let server = self.service.unwrap_or("the server");
                format!("{server} answers {last} requests/s instead of {first} ({change})")
            }
        }
    }

    /// `11.9 µs of server CPU per request in the first state and 6.1 µs in the last`.
    fn figures(&self) -> String {
        let (first, last) = (self.shown(self.first), self.shown(self.last));
        match self.outcome {
            Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
                let noun = sentences::outcome_name(self.outcome);
                format!("{first} of {noun} in the first state and {last} in the last")
            }
            Outcome::Throughput => {
                format!("{first} requests/s in the first state and {last} in the last")
            }
        }
    }

    fn shown(&self, arm: &ArmResult) -> String {
        match self.outcome {
            Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => arm
                .server_cpu_us_per_request
                .map_or_else(missing, |found| numbers::micros_roughly(found.value)),
            Outcome::Throughput => arm
                .throughput_rps
                .map_or_else(missing, |found| numbers::rate(found.value)),
        }
    }

    fn implied(&self) -> String {
        match (self.outcome, self.last.implied_rps_per_cpu) {
            (Outcome::ServerCpuPerRequest, Some(rate)) => format!(
                ", which implies {} requests/s per server CPU",
                numbers::rate(rate.value)
            ),
            (Outcome::ServerCpuPerRequest, None) | (Outcome::ServerCpuPerKilobyte, _) => {
                String::new()
            }
            (Outcome::Throughput, _) => {
                "; its CPU time is hidden, so this is only the measured throughput".to_owned()
            }
        }
    }
}

fn missing() -> String {
    numbers::MISSING.to_owned()
}

/// Names the step that helped most in the climb. Once the last state is confirmed, the effect
/// quoted is the one measured there, which had no part in choosing the step, and only if the step
/// helps there too.
fn largest_gain(judgement: &Judgement) -> String {
    let helped = judgement
        .steps
        .iter()
        .filter(|step| step.verdict == Verdict::Better);
    let quoted = helped.filter_map(|step| Some((step, step.effect?, to_quote(judgement, step)?)));
    let largest = quoted.max_by(|(_, one, _), (_, other, _)| {
        let gain = |effect: &Effect| effect.ratio.ln().abs();
        gain(one).total_cmp(&gain(other))
    });
    largest.map_or_else(String::new, |(step, _, quoted)| {
        let change = numbers::change_roughly(quoted.ratio);
        format!("; the largest gain was “{}” ({change})", step.title)
    })
}

fn to_quote(judgement: &Judgement, step: &StepResult) -> Option<Effect> {
    let ladder = judgement.ladder.as_ref();
    let Some(ladder) = ladder.filter(|ladder| ladder.confirmed.is_some()) else {
        return step.effect;
    };
    let rung = ladder.rungs.iter().find(|rung| rung.step == step.arm)?;
    let judged = rung.at_the_top?;
    judged.effect.filter(|_| judged.verdict == Verdict::Better)
}

fn compare(run: &RunRecord, judgement: &Judgement) -> String {
    let sentences: Vec<String> = judgement
        .steps
        .iter()
        .map(|step| compared(run, judgement, step))
        .collect();
    if sentences.is_empty() {
        return too_little(run, judgement);
    }
    if let Some(scaled) = judgement.scale.as_ref().and_then(scale::sentence) {
        return scaled;
    }
    if side_by_side::is_so(run, judgement) {
        return side_by_side::sentence(judgement, &void_reason(run, judgement));
    }
    sentences.join(" ")
}

fn compared(run: &RunRecord, judgement: &Judgement, step: &StepResult) -> String {
    let against = arm(judgement, &step.against).map_or(step.against.as_str(), |arm| &arm.title);
    let Some(effect) = step.effect else {
        return format!(
            "Cannot tell {} and {against} apart: too few pairs.",
            step.title
        );
    };
    let size = difference(&effect, judgement.outcome);
    match step.verdict {
        Verdict::Better => format!("{} is better: {size}.", step.title),
        Verdict::Worse => format!("{} is worse: {size}.", step.title),
        Verdict::NoDifferenceThatMatters => format!(
            "No difference that matters between {against} and {}: {size}.",
            step.title
        ),
        Verdict::Inconclusive => format!(
            "Cannot tell whether {} is better than {against}: {size}.",
            step.title
        ),
        Verdict::Invalid => format!(
            "No verdict on {} against {against}: {}. Measured: {size}.",
            step.title,
            void_reason(run, judgement)
        ),
    }
}

/// `12 % less server CPU per request (9 … 15 %)`; where the interval holds 0 the signs stay.
fn difference(effect: &Effect, outcome: Outcome) -> String {
    let noun = sentences::outcome_name(outcome);
    if !effect.is_clear_of_none() {
        return format!("{} in {noun}", numbers::effect(effect));
    }
    let word = if effect.ratio < 1.0 { "less" } else { "more" };
    let size = |ratio: f64| (ratio - 1.0).abs();
    let (near, far) = (
        size(effect.low).min(size(effect.high)),
        size(effect.low).max(size(effect.high)),
    );
    format!(
        "{} {word} {noun} ({} … {})",
        numbers::share(size(effect.ratio)),
        numbers::share(near).trim_end_matches(" %"),
        numbers::share(far)
    )
}

/// Says why a comparison is void: the usual reasons in words; the others are among the doubts.
fn void_reason(run: &RunRecord, judgement: &Judgement) -> String {
    let differs = |doubt: &Doubt| matches!(doubt, Doubt::ControlDiffers { .. });
    if judgement.doubts.iter().any(differs) {
        let servers = sentences::servers(run);
        return format!("in this run two identical {servers} came out different");
    }
    let reason = sentences::too_few_pairs(&judgement.doubts);
    reason.unwrap_or_else(|| "the doubts below void this comparison".to_owned())
}

fn too_little(run: &RunRecord, judgement: &Judgement) -> String {
    if judgement.steps.is_empty() && judgement.rounds_done >= judgement.rounds_planned {
        let why = match run.study.steps.is_empty() {
            true => "the study has no step",
            false => "none of the study's steps could be taken here",
        };
        return format!("Nothing was compared: {why}.");
    }
    let ladder = judgement.ladder.as_ref();
    let (done, planned, what) = match ladder.and_then(|ladder| ladder.confirmed.as_ref()) {
        Some(confirmed) => (
            confirmed.rounds_done,
            confirmed.rounds_planned,
            "rounds of the confirmation",
        ),
        None => (judgement.rounds_done, judgement.rounds_planned, "rounds"),
    };
    format!("Too little was measured for a verdict: {done} of {planned} {what} are done.")
}

fn arm<'a>(judgement: &'a Judgement, name: &str) -> Option<&'a ArmResult> {
    judgement.arms.iter().find(|arm| arm.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::judgement::{Confirmed, LadderJudgement, Rung};

    fn ladder_with(verdict: Verdict) -> String {
        let mut judgement = sample::judgement();
        judgement.whole.as_mut().unwrap().verdict = verdict;
        sentence(&sample::run(), &judgement)
    }

    #[test]
    fn a_ladder_that_helps_says_cost_implied_rate_and_largest_gain() {
        assert_eq!(
            ladder_with(Verdict::Better),
            "Tuned, a request costs 6.3 µs of server CPU instead of 11.9 µs (−47 %), which implies \
             158,000 requests/s per server CPU; the largest gain was “no linear nft rules” (−22 %)."
        );
    }

    /// A ladder whose last state was confirmed to cost a third of the first, with a step worth a
    /// tenth there.
    fn confirmed_with(verdict: Verdict) -> Judgement {
        let mut judgement = sample::judgement();
        let effect = |ratio| Effect {
            ratio,
            ..judgement.steps[0].effect.unwrap()
        };
        let judged = |verdict, ratio| Judged {
            verdict,
            effect: Some(effect(ratio)),
        };
        let rungs = judgement.steps.iter().map(|step| Rung {
            step: step.arm.clone(),
            title: step.title.clone(),
            dropped: false,
            alone: None,
            at_the_top: Some(judged(Verdict::Better, 0.9)),
        });
        judgement.ladder = Some(LadderJudgement {
            rungs: rungs.collect(),
            together: Vec::new(),
            confirmed: Some(Confirmed {
                whole: judged(verdict, 1.0 / 3.0),
                control: judged(Verdict::NoDifferenceThatMatters, 1.0),
                first: judgement.arms[0].clone(),
                last: judgement.arms[0].clone(),
                rounds_done: 16,
                rounds_planned: 16,
            }),
            between_boots: None,
        });
        judgement
    }

    #[test]
    fn what_was_confirmed_is_quoted_and_not_what_the_climb_made_of_it() {
        let said = sentence(&sample::run(), &confirmed_with(Verdict::Better));
        assert!(said.contains("(−67 %)"), "{said}");
        let largest = "the largest gain was “no linear nft rules” (−10 %).";
        assert!(said.ends_with(largest), "{said}");
    }

    #[test]
    fn a_confirmation_that_is_void_takes_the_verdict_of_the_climb_along() {
        let said = sentence(&sample::run(), &confirmed_with(Verdict::Invalid));
        assert!(said.starts_with("No verdict"), "{said}");
    }

    #[test]
    fn a_service_is_called_by_its_name() {
        let mut run = sample::run();
        run.service = serde_json::from_value(serde_json::json!({
            "version": "1.22.1",
            "sha256": "0".repeat(64),
            "description": {
                "format": 1, "name": "nginx", "title": "nginx", "protocol": "http",
                "find": {
                    "programs": ["nginx"], "version_arguments": ["-v"],
                    "version_pattern": "nginx/{version}", "install": {}, "home": "",
                },
                "start": { "arguments": [] },
                "ready": { "when": { "http": "/json" }, "within_ms": 1 },
                "serves": {},
                "stop": { "signal": "SIGTERM", "grace_ms": 1 },
            },
        }))
        .unwrap();
        let said = sentence(&run, &sample::judgement());
        assert!(
            said.starts_with("Tuned, a request to nginx costs"),
            "{said}"
        );
        let mut judgement = sample::judgement();
        judgement.outcome = Outcome::Throughput;
        let said = sentence(&run, &judgement);
        assert!(said.starts_with("Tuned, nginx answers"), "{said}");
        let noise = sentences::noise_floor(&run, &judgement).unwrap();
        assert!(noise.starts_with("Two identical nginx servers"), "{noise}");
        let under_test = sentences::under_test(&run).unwrap();
        assert!(under_test.contains("nginx 1.22.1"), "{under_test}");
    }

    #[test]
    fn a_withheld_verdict_is_said_and_the_figures_still_stand() {
        let unsure = ladder_with(Verdict::Inconclusive);
        assert!(unsure.starts_with("This run cannot tell"), "{unsure}");
        let void = ladder_with(Verdict::Invalid);
        assert!(void.starts_with("No verdict"), "{void}");
        for sentence in [unsure, void] {
            assert!(
                sentence.contains("11.9 µs") && sentence.contains("6.3 µs"),
                "{sentence}"
            );
            assert!(!sentence.contains("implies"), "{sentence}");
        }
    }

    #[test]
    fn a_void_comparison_names_its_arms_and_what_voids_it() {
        let (run, mut judgement) = sample::versus(Verdict::Invalid, 0.9, 0.2);
        let pairs_missing = Doubt::TooFewPairs {
            pairs: 2,
            needed: 10,
        };
        judgement.doubts.push(pairs_missing);
        let said = sentence(&run, &judgement);
        assert!(
            said.starts_with("No verdict on ")
                && said.contains(": there are too few pairs, 2 where 10"),
            "{said}"
        );
    }

    #[test]
    fn a_run_that_broke_off_early_says_how_far_it_came() {
        let mut judgement = sample::judgement();
        judgement.whole = None;
        judgement.rounds_done = 1;
        let sentence = sentence(&sample::run(), &judgement);
        assert!(sentence.contains("1 of 16 rounds"), "{sentence}");
    }

    #[test]
    fn where_no_step_was_taken_it_is_not_rounds_that_are_missing() {
        let (mut run, mut judgement) = (sample::run(), sample::judgement());
        judgement.steps.clear();
        judgement.whole = None;
        let said = sentence(&run, &judgement);
        let none = "Nothing was compared: none of the study's steps could be taken here.";
        assert_eq!(said, none);
        run.study.steps.clear();
        for kind in [DesignKind::Ladder, DesignKind::Compare] {
            run.study.design.kind = kind;
            let said = sentence(&run, &judgement);
            assert_eq!(said, "Nothing was compared: the study has no step.");
        }
    }

    #[test]
    fn two_servers_are_compared_in_the_words_of_their_verdict() {
        let said = |verdict, ratio, half_width| {
            let (run, judgement) = sample::versus(verdict, ratio, half_width);
            sentence(&run, &judgement)
        };
        assert_eq!(
            said(Verdict::Better, 0.88, 0.03),
            "B is better: 12 % less server CPU per request (9.0 … 15 %)."
        );
        assert_eq!(
            said(Verdict::NoDifferenceThatMatters, 1.002, 0.01),
            "No difference that matters between A and B: +0.2 % (−0.8 … +1.2) in server CPU per request."
        );
        assert!(said(Verdict::Inconclusive, 0.97, 0.09).starts_with("Cannot tell"));
    }

    #[test]
    fn where_cpu_time_is_hidden_the_answer_is_about_throughput_and_says_so() {
        let mut judgement = sample::judgement();
        judgement.outcome = Outcome::Throughput;
        let sentence = sentence(&sample::run(), &judgement);
        assert!(sentence.contains("requests/s instead of"), "{sentence}");
        assert!(
            sentence.contains("hidden") && !sentence.contains("implies"),
            "{sentence}"
        );
    }
}
