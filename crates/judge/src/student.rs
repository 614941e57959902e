//! Student's t distribution, through the incomplete beta function; with infinite freedom, the
//! normal distribution.

/// Iterations of the continued fraction, which converges well before that for any degrees of
/// freedom that blocks can give.
const FRACTION_STEPS: u32 = 300;
/// Keeps the continued fraction from dividing by zero.
const TINY: f64 = 1e-300;

/// The probability that |t| is at least this large with `freedom` degrees of freedom.
pub fn two_sided_p(t: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return normal_two_sided_p(t.abs());
    }
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The value that |t| exceeds with probability `alpha`; infinite without degrees of freedom.
pub fn two_sided_quantile(alpha: f64, freedom: f64) -> f64 {
    if freedom <= 0.0 || alpha <= 0.0 {
        return f64::INFINITY;
    }
    let mut high = 1.0;
    while two_sided_p(high, freedom) > alpha {
        high *= 2.0;
    }
    let mut low = 0.0;
    // Each turn halves the bracket: 60 turns exhaust the mantissa.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if two_sided_p(middle, freedom) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Two-sided p-value of a standard normal for t ≥ 0, by its series about 0, to about 1e-16.
fn normal_two_sided_p(t: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (t, t, 1.0);
    while term > sum * f64::EPSILON {
        odd += 2.0;
        term *= t * t / odd;
        sum += term;
    }
    let density = (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    // For a t that is too large for the series, the product is NaN; `max` turns it into 0.
    (1.0 - 2.0 * density * sum).max(0.0)
}

/// The regularised incomplete beta function I_x(a, b), for positive a and b and x from 0 to 1.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast only below the mean; above it, the mirror image does.
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - ln_front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = lower;
    for step in 1..=FRACTION_STEPS {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            lower = 1.0 / away_from_zero(1.0 + coefficient * lower);
            upper = away_from_zero(1.0 + coefficient / upper);
            change = upper * lower;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function for positive x: Lanczos' series with g = 7 and nine terms.
fn ln_gamma(x: f64) -> f64 {
    const SERIES: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let base = x + 7.5;
    let sum: f64 = (1_u32..)
        .zip(SERIES)
        .map(|(index, term)| term / (x + f64::from(index)))
        .sum();
    let half_ln_two_pi = std::f64::consts::TAU.ln() / 2.0;
    half_ln_two_pi + (x + 0.5) * base.ln() - base + (0.999_999_999_999_809_9 + sum).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_degree_of_freedom_is_cauchys_distribution() {
        for t in [0.1_f64, 1.0, 3.0, 40.0] {
            let exact = 1.0 - 2.0 * t.atan() / std::f64::consts::PI;
            assert!((two_sided_p(t, 1.0) - exact).abs() < 1e-12, "t {t}");
        }
    }

    #[test]
    fn the_quantile_undoes_the_probability() {
        for freedom in [1.0, 2.5, 7.0, 100.0, f64::INFINITY] {
            let t = two_sided_quantile(0.05, freedom);
            assert!((two_sided_p(t, freedom) - 0.05).abs() < 1e-10, "{freedom}");
        }
    }

    #[test]
    fn with_infinite_freedom_the_ends_are_infinite_and_zero() {
        assert_eq!(two_sided_quantile(0.0, f64::INFINITY), f64::INFINITY);
        assert!(two_sided_quantile(1.0, f64::INFINITY) < 1e-15);
        assert_eq!(two_sided_p(1e3, f64::INFINITY), 0.0);
        assert_eq!(two_sided_p(0.0, f64::INFINITY), 1.0);
    }

    #[test]
    fn without_degrees_of_freedom_nothing_is_excluded() {
        assert_eq!(two_sided_quantile(0.05, 0.0), f64::INFINITY);
    }
}
