//! Probabilistic bisection: where a threshold lies, as weights over a grid of rates.

/// Neighbouring rates of the grid differ by this in their logarithm: a sixth of the width at which
/// the bisection ends.
const STEP: f64 = 0.005;

/// How likely the threshold lies at each rate of a logarithmic grid.
///
/// Each answer "it held" or "it did not" multiplies the weights on the side that it speaks for by
/// its trust and those on the other by the rest (Horstein 1963; Waeber, Frazier and Henderson
/// 2013). A wrong answer thus costs a few more questions, and never the threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    lowest_ln: f64,
    /// They add up to 1.
    weights: Vec<f64>,
}

impl Posterior {
    /// The posterior that knows only that the threshold lies between two rates.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rates of a load lie within eleven powers of ten: 5,100 steps"
    )]
    pub fn between(lowest_rps: f64, highest_rps: f64) -> Self {
        let (lowest_ln, highest_ln) = (lowest_rps.ln(), highest_rps.ln());
        let steps = ((highest_ln - lowest_ln) / STEP).ceil().clamp(1.0, 1e5) as usize;
        Self {
            lowest_ln,
            weights: vec![1.0 / steps as f64; steps],
        }
    }

    /// Weighs an answer at a rate; it is right with probability `trust`, at least ½ and below 1.
    pub fn update(&mut self, rate_rps: f64, held: bool, trust: f64) {
        let cut = rate_rps.ln();
        let mut sum = 0.0;
        for (index, weight) in self.weights.iter_mut().enumerate() {
            let is_above = self.lowest_ln + (index as f64 + 0.5) * STEP > cut;
            *weight *= if is_above == held { trust } else { 1.0 - trust };
            sum += *weight;
        }
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// The rate below which the threshold lies with probability `share`.
    pub fn quantile(&self, share: f64) -> f64 {
        let mut below = 0.0;
        for (index, weight) in self.weights.iter().enumerate() {
            if below + weight >= share {
                let fraction = (share - below) / weight.max(f64::MIN_POSITIVE);
                return (self.lowest_ln + (index as f64 + fraction) * STEP).exp();
            }
            below += weight;
        }
        (self.lowest_ln + self.weights.len() as f64 * STEP).exp()
    }

    /// The two rates between which the central `share` of the weight lies.
    pub fn central(&self, share: f64) -> [f64; 2] {
        let beyond = (1.0 - share) / 2.0;
        [self.quantile(beyond), self.quantile(1.0 - beyond)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_answers_the_middle_of_the_logarithms_is_the_median() {
        let posterior = Posterior::between(100.0, 10_000.0);
        assert!((posterior.quantile(0.5) / 1000.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn answers_draw_the_weight_together_and_a_lie_does_not_lose_the_threshold() {
        let mut posterior = Posterior::between(100.0, 10_000.0);
        for question in 0..60 {
            let rate = posterior.quantile(0.5);
            let lies = question % 5 == 2;
            posterior.update(rate, (rate < 3000.0) != lies, 0.7);
        }
        let [low, high] = posterior.central(0.9);
        assert!((0.9..1.1).contains(&(posterior.quantile(0.5) / 3000.0)));
        assert!(high / low < 1.1, "{low} {high}");
    }

    #[test]
    fn an_answer_moves_the_odds_by_its_trust() {
        let mut posterior = Posterior::between(100.0, 10_000.0);
        posterior.update(1000.0, true, 0.7);
        assert!((posterior.quantile(0.3) / 1000.0 - 1.0).abs() < 0.01);
    }
}
