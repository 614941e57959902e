//! How often the rules are wrong and how soon they are right, on noise as shared machines make it.
//!
//! Every figure comes from a fixed seed. They are printed: `cargo test --release -p judge --test
//! simulation -- --nocapture`.
#![expect(clippy::print_stdout, reason = "the figures are for a reader")]

mod built_run;
mod noise;

use judge::looks::QUICK_PAIRS;
use judge::{Direction, Looks, Progress, judge};
use model::{BlockRecord, Verdict};
use noise::{FEW_EPISODES, HARSH, MILD, Noise, Random};

const RUNS: u32 = 2000;
const SMALLEST_EFFECT: f64 = 0.03;
const MOST_PAIRS: usize = 40;

/// What became of many simulated comparisons.
#[derive(Debug, Default)]
struct Tally {
    runs: f64,
    better: f64,
    worse: f64,
    no_difference: f64,
    pairs: f64,
}

impl Tally {
    fn false_share(&self) -> f64 {
        (self.better + self.worse) / self.runs
    }

    fn found_share(&self) -> f64 {
        self.worse / self.runs
    }

    fn mean_pairs(&self) -> f64 {
        self.pairs / self.runs
    }

    fn print(&self, title: &str) {
        let percent = |count: f64| count / self.runs * 100.0;
        println!(
            "{title}: better {:.1} %, worse {:.1} %, no difference {:.1} %, pairs {:.1}",
            percent(self.better),
            percent(self.worse),
            percent(self.no_difference),
            self.mean_pairs()
        );
    }
}

/// Compares two arms by the planned looks, the second costing `effect` more, many times.
fn planned_looks(noise: Noise, effect: f64, seed: u64) -> Tally {
    let mut random = Random::seeded(seed);
    let mut tally = Tally::default();
    for _ in 0..RUNS {
        let (verdict, pairs) = one_comparison(noise, effect, &mut random);
        tally.runs += 1.0;
        tally.pairs += f64::from(pairs);
        match verdict {
            Verdict::Better => tally.better += 1.0,
            Verdict::Worse => tally.worse += 1.0,
            Verdict::NoDifferenceThatMatters => tally.no_difference += 1.0,
            Verdict::Inconclusive | Verdict::Invalid => {}
        }
    }
    tally
}

fn one_comparison(noise: Noise, effect: f64, random: &mut Random) -> (Verdict, u32) {
    let series = noise.series(2 * MOST_PAIRS, random);
    let mut looks = Looks::new(Direction::LowerIsBetter, SMALLEST_EFFECT);
    for pair in series.chunks_exact(2) {
        let [first, second] = [pair[0], pair[1]];
        let difference = if random.happens(0.5) {
            second - first
        } else {
            first - second
        };
        if let Progress::Done { verdict, effect } = looks.feed(difference + effect.ln_1p()) {
            return (verdict, effect.n);
        }
    }
    panic!("the last look settles every comparison")
}

#[test]
fn identical_arms_are_called_different_in_at_most_five_percent_of_harsh_runs() {
    for (title, noise) in [
        ("CV 44 %, many episodes", HARSH),
        ("CV 44 %, few episodes", few_episodes(HARSH)),
    ] {
        let tally = planned_looks(noise, 0.0, 1);
        tally.print(title);
        assert!(tally.false_share() <= 0.05, "{title}: {tally:?}");
    }
}

#[test]
fn identical_arms_are_called_different_in_at_most_five_percent_of_mild_runs() {
    for (title, noise) in [
        ("CV 17 %, many episodes", MILD),
        ("CV 17 %, few episodes", few_episodes(MILD)),
    ] {
        let tally = planned_looks(noise, 0.0, 2);
        tally.print(title);
        assert!(tally.false_share() <= 0.05, "{title}: {tally:?}");
    }
}

fn few_episodes(noise: Noise) -> Noise {
    Noise {
        episode_starts: FEW_EPISODES,
        ..noise
    }
}

/// CPU per request varies less than throughput: on the machine whose throughput gave CV 17 %, its
/// paired intervals were 2.5 times narrower. It is the outcome that verdicts are about.
const CPU_PER_REQUEST: Noise = Noise {
    sigma: MILD.sigma / 2.5,
    ..MILD
};

#[test]
fn five_percent_more_cpu_per_request_is_found_within_24_pairs_on_average() {
    for (title, noise) in [
        ("5 % at CV 7 %, many episodes", CPU_PER_REQUEST),
        ("5 % at CV 7 %, few episodes", few_episodes(CPU_PER_REQUEST)),
    ] {
        let tally = planned_looks(noise, 0.05, 3);
        tally.print(title);
        assert!(tally.mean_pairs() <= 24.0, "{title}: {tally:?}");
        assert!(tally.found_share() >= 0.9, "{title}: {tally:?}");
    }
}

/// At CV 17 % and φ 0.71 the log ratios of pairs spread by 0.1706 × √(2 × 0.29) = 13 %, before
/// episodes and spikes. 24 pairs then see 5 % with a power of 0.45 at best, and a test that knew
/// the noise and used its correlation between pairs as well would have 0.55: no rule finds 5 % in
/// 24 pairs there. What can be asked is that it is seldom taken for its opposite, and that twice
/// or four times the effect is found.
#[test]
fn at_a_throughput_cv_of_17_percent_larger_effects_are_found_and_none_is_taken_for_its_opposite() {
    for (episodes, noise) in [("many", MILD), ("few", few_episodes(MILD))] {
        for (effect, least_found) in [(0.05, 0.3), (0.10, 0.8), (0.20, 0.98)] {
            let tally = planned_looks(noise, effect, 3);
            let title = format!("{:.0} % at CV 17 %, {episodes} episodes", effect * 100.0);
            tally.print(&title);
            assert!(tally.found_share() >= least_found, "{title}: {tally:?}");
            assert!(tally.better / tally.runs <= 0.005, "{title}: {tally:?}");
        }
    }
}

/// In how many runs of identical arms the quick form said anything else.
#[derive(Debug, Default)]
struct FamilyTally {
    /// Any step, or the whole, was called better or worse.
    called: u32,
    /// The control voided the verdicts.
    void: u32,
    /// Any would have been called by Holm alone, without the control.
    called_by_holm: u32,
}

#[test]
fn a_run_of_identical_arms_gets_any_verdict_in_at_most_five_percent_of_cases() {
    for (title, noise) in [("CV 44 %", HARSH), ("CV 17 %", MILD)] {
        for steps in [1, 5] {
            let tally = quick_form(noise, steps, 4);
            let percent = |count: u32| f64::from(count) / f64::from(RUNS) * 100.0;
            let [called, void, by_holm] =
                [tally.called, tally.void, tally.called_by_holm].map(percent);
            println!(
                "quick form, {steps} steps, {title}: any verdict {called:.1} %, by Holm alone \
                 {by_holm:.1} %, voided by the control {void:.1} %"
            );
            assert!(called <= 5.0, "{title}: {tally:?}");
            // 30,000 runs give 4.2 to 4.5 %; of 2,000, two standard errors are 1 %.
            assert!(by_holm <= 6.0, "{title}: {tally:?}");
            assert!(void <= 1.0, "{title}, to be voided in 0.5 %: {tally:?}");
        }
    }
}

fn quick_form(noise: Noise, steps: u32, seed: u64) -> FamilyTally {
    let run = built_run::ladder(steps, QUICK_PAIRS);
    let arms: Vec<&str> = run.arms.iter().map(|arm| arm.name.as_str()).collect();
    let mut random = Random::seeded(seed);
    let mut tally = FamilyTally::default();
    for _ in 0..RUNS {
        let judgement = judge(&run, &identical_blocks(noise, arms.clone(), &mut random));
        let results = || judgement.steps.iter().chain(&judgement.whole);
        let by_holm = |effect| judge::decide(&effect, Direction::LowerIsBetter, SMALLEST_EFFECT);
        tally.called += u32::from(results().any(|step| is_call(step.verdict)));
        tally.void += u32::from(results().any(|step| step.verdict == Verdict::Invalid));
        let mut effects = results().filter_map(|step| step.effect);
        tally.called_by_holm += u32::from(effects.any(|effect| is_call(by_holm(effect))));
    }
    tally
}

fn is_call(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

/// Rounds of arms that cost the same, in random order within each round.
fn identical_blocks(noise: Noise, mut arms: Vec<&str>, random: &mut Random) -> Vec<BlockRecord> {
    let series = noise.series(QUICK_PAIRS as usize * arms.len(), random);
    let mut blocks = Vec::with_capacity(series.len());
    for (round, logs) in (0_u32..).zip(series.chunks_exact(arms.len())) {
        random.shuffle(&mut arms);
        for ((position, log), arm) in (0_u32..).zip(logs).zip(&arms) {
            blocks.push(built_run::block(round, position, arm, 10.0 * log.exp()));
        }
    }
    blocks
}
