//! The normal distribution's quantiles.

/// Where the central approximation ends and the one for the tails begins.
const TAIL: f64 = 0.024_25;

/// The value below which a standard normal falls with probability `p`; infinite at 0 and 1.
///
/// Acklam's rational approximation, relative error below 1.2e-9.
pub fn quantile(p: f64) -> f64 {
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p < TAIL {
        lower_tail(p)
    } else if p <= 1.0 - TAIL {
        centre(p - 0.5)
    } else if p < 1.0 {
        -lower_tail(1.0 - p)
    } else {
        f64::INFINITY
    }
}

fn centre(distance: f64) -> f64 {
    let square = distance * distance;
    let above = polynomial(
        &[
            -39.696_830_286_653_76,
            220.946_098_424_520_5,
            -275.928_510_446_968_7,
            138.357_751_867_269,
            -30.664_798_066_147_16,
            2.506_628_277_459_239,
        ],
        square,
    );
    let below = polynomial(
        &[
            -54.476_098_798_224_06,
            161.585_836_858_040_9,
            -155.698_979_859_886_6,
            66.801_311_887_719_72,
            -13.280_681_552_885_72,
            1.0,
        ],
        square,
    );
    distance * above / below
}

fn lower_tail(p: f64) -> f64 {
    let depth = (-2.0 * p.ln()).sqrt();
    let above = polynomial(
        &[
            -0.007_784_894_002_430_293,
            -0.322_396_458_041_136_5,
            -2.400_758_277_161_838,
            -2.549_732_539_343_734,
            4.374_664_141_464_968,
            2.938_163_982_698_783,
        ],
        depth,
    );
    let below = polynomial(
        &[
            0.007_784_695_709_041_462,
            0.322_467_129_070_039_8,
            2.445_134_137_142_996,
            3.754_408_661_907_416,
            1.0,
        ],
        depth,
    );
    above / below
}

/// By Horner's rule, highest power first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_infinite_and_the_middle_is_zero() {
        assert_eq!(quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(quantile(1.0), f64::INFINITY);
        assert_eq!(quantile(0.5), 0.0);
    }

    #[test]
    fn centre_and_tail_meet_without_a_step() {
        let step = quantile(TAIL) - quantile(TAIL - 1e-12);
        assert!(step.abs() < 1e-8, "{step}");
    }
}
