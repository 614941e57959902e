//! Weighted linear least squares with three coefficients, two of which must not be negative.

/// One observation: its value, the three values that it depends on, and its weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) value: f64,
    pub(super) depends_on: [f64; 3],
    pub(super) weight: f64,
}

/// Sets of coefficients that are left free; the others are 0. There are so few that all sets are
/// tried. The best one that keeps the signs is the solution (Kuhn and Tucker).
const FREE: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];

/// The coefficients with the smallest weighted sum of squares, the second and third at least 0;
/// `None` where no set of them fits.
pub(super) fn solve(observations: &[Observation]) -> Option<[f64; 3]> {
    let solutions = FREE
        .iter()
        .filter_map(|free| solve_free(observations, free));
    let valid = solutions.filter(|found| found[0] > 0.0 && found[1] >= 0.0 && found[2] >= 0.0);
    valid.min_by(|one, other| error(observations, one).total_cmp(&error(observations, other)))
}

/// The value that the coefficients predict for an observation.
pub(super) fn predict(coefficients: &[f64; 3], depends_on: &[f64; 3]) -> f64 {
    coefficients
        .iter()
        .zip(depends_on)
        .map(|(c, x)| c * x)
        .sum()
}

fn error(observations: &[Observation], coefficients: &[f64; 3]) -> f64 {
    let squared = |of: &Observation| {
        let missed = of.value - predict(coefficients, &of.depends_on);
        of.weight * missed * missed
    };
    observations.iter().map(squared).sum()
}

/// Solves the normal equations of the free coefficients, with columns scaled to unit length: N² of
/// 512 connections beside 1 would cost half of the digits.
fn solve_free(observations: &[Observation], free: &[usize]) -> Option<[f64; 3]> {
    let dot = |value: &dyn Fn(&Observation) -> f64| observations.iter().map(value).sum::<f64>();
    let length = |of: usize| dot(&|one| one.weight * one.depends_on[of].powi(2)).sqrt();
    let scale: Vec<f64> = free.iter().map(|of| length(*of)).collect();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (i, of) in free.iter().enumerate() {
        let mut row: Vec<f64> = Vec::new();
        for (j, with) in free.iter().enumerate() {
            let product = dot(&|one| one.weight * one.depends_on[*of] * one.depends_on[*with]);
            row.push(product / scale[i] / scale[j]);
        }
        row.push(dot(&|one| one.weight * one.depends_on[*of] * one.value) / scale[i]);
        rows.push(row);
    }
    let scaled = eliminate(rows)?;
    let mut coefficients = [0.0; 3];
    for ((of, value), scale) in free.iter().zip(scaled).zip(scale) {
        coefficients[*of] = value / scale;
    }
    Some(coefficients)
}

/// Gauss–Jordan elimination of rows whose last value is the right side; `None` where a pivot
/// vanishes. The matrix is that of normal equations, so the diagonal needs no pivoting.
fn eliminate(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    const VANISHED: f64 = 1e-12;
    for pivot in 0..rows.len() {
        let divisor = rows[pivot][pivot];
        if !divisor.is_finite() || divisor < VANISHED {
            return None;
        }
        rows[pivot].iter_mut().for_each(|value| *value /= divisor);
        let pivot_row = rows[pivot].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = if index == pivot { 0.0 } else { row[pivot] };
            for (value, by) in row.iter_mut().zip(&pivot_row) {
                *value -= factor * by;
            }
        }
    }
    rows.into_iter().map(|row| row.last().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(of: impl Fn(f64) -> f64) -> Vec<Observation> {
        let at = |n: f64| Observation {
            value: of(n),
            depends_on: [1.0, n - 1.0, n * (n - 1.0)],
            weight: 1.0 / of(n).powi(2),
        };
        [1.0, 2.0, 8.0, 64.0, 256.0, 512.0].map(at).to_vec()
    }

    #[test]
    fn exact_values_give_back_their_coefficients() {
        let found = solve(&observations(|n| {
            2.0 + 0.3 * (n - 1.0) + 1e-4 * n * (n - 1.0)
        }))
        .unwrap();
        for (found, expected) in found.iter().zip([2.0, 0.3, 1e-4]) {
            assert!((found / expected - 1.0).abs() < 1e-8, "{found} {expected}");
        }
    }

    #[test]
    fn a_coefficient_that_would_be_negative_is_nought() {
        let found = solve(&observations(|n| {
            2.0 + 0.3 * (n - 1.0) - 1e-4 * n * (n - 1.0)
        }))
        .unwrap();
        assert_eq!(found[2], 0.0);
        assert!(found[1] > 0.2);
        assert!(solve(&[]).is_none());
    }
}
