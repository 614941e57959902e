//! Our statistics against those of scipy. Those were computed once: `reference/make.py` says how
//! and writes `reference/scipy.json`.

use judge::signed_rank::SignedRank;
use judge::{median, student, welch};
use serde_json::Value;

fn cases(of: &str) -> Vec<Value> {
    let data: Value =
        serde_json::from_str(include_str!("reference/scipy.json")).expect("scipy.json is JSON");
    let cases = data[of].as_array().cloned().unwrap_or_default();
    assert!(!cases.is_empty(), "no reference for {of}");
    cases
}

fn number(case: &Value, field: &str) -> f64 {
    case[field].as_f64().expect("the field is a number")
}

fn numbers(case: &Value, field: &str) -> Vec<f64> {
    let values = case[field].as_array().expect("the field is a list");
    values.iter().filter_map(Value::as_f64).collect()
}

fn assert_close(ours: f64, reference: f64, case: &Value) {
    let tolerance = 1e-9 * reference.abs().max(1e-3);
    assert!(
        (ours - reference).abs() <= tolerance,
        "ours {ours}, reference {reference}, in {case}"
    );
}

#[test]
fn signed_rank_estimates_intervals_and_p_values_are_those_of_scipy() {
    for case in cases("signed_rank") {
        let test = SignedRank::of(&numbers(&case, "differences")).unwrap();
        assert_close(test.estimate(), number(&case, "estimate"), &case);
        assert_close(test.p_value(), number(&case, "p_value"), &case);
        for expected in case["intervals"].as_array().unwrap() {
            let interval = test.interval(number(expected, "alpha"));
            assert_close(interval.low, number(expected, "low"), &case);
            assert_close(interval.high, number(expected, "high"), &case);
        }
    }
}

#[test]
fn p_values_with_ties_and_zeros_are_those_of_trying_every_sign() {
    for case in cases("tied") {
        let test = SignedRank::of(&numbers(&case, "differences")).unwrap();
        assert_close(test.p_value(), number(&case, "p_value"), &case);
    }
}

#[test]
fn welch_p_values_are_those_of_scipy() {
    for case in cases("welch") {
        let ours = welch::p_value(&numbers(&case, "first"), &numbers(&case, "second"));
        assert_close(ours.unwrap(), number(&case, "p_value"), &case);
    }
}

#[test]
fn the_ranks_of_a_medians_interval_are_those_of_the_binomial() {
    for case in cases("median") {
        let n = u32::try_from(case["n"].as_u64().unwrap()).unwrap();
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        let found = median::estimate(&values, number(&case, "alpha")).unwrap();
        let rank = number(&case, "rank").max(1.0);
        assert_eq!(found.low, rank, "{case}");
        assert_eq!(found.high, f64::from(n) + 1.0 - rank, "{case}");
    }
}

#[test]
fn normal_and_student_quantiles_are_those_of_scipy() {
    for case in cases("normal") {
        let p = number(&case, "p");
        let ours = student::two_sided_quantile(2.0 * p.min(1.0 - p), f64::INFINITY);
        // A probability is exact to about 1e-16 only, which is a large part of the smallest ones.
        let tolerance = if p < 1e-8 { 5e-8 } else { 1e-10 };
        let reference = number(&case, "quantile").abs();
        assert!((ours / reference - 1.0).abs() < tolerance, "{ours}, {case}");
    }
    for case in cases("student") {
        let ours = student::two_sided_quantile(number(&case, "alpha"), number(&case, "freedom"));
        assert_close(ours, number(&case, "quantile"), &case);
    }
}

#[test]
fn student_p_values_are_those_of_scipy_near_and_far_from_zero() {
    for case in cases("student_p") {
        let ours = student::two_sided_p(number(&case, "t"), number(&case, "freedom"));
        assert_close(ours, number(&case, "p_value"), &case);
    }
}
