//! Numbers as people read them.

use super::*;

#[test]
fn thousands_are_set_apart() {
    let shown = [0.0, 999.0, 1000.0, 1_203_164.0, -4500.0].map(whole);
    assert_eq!(shown, ["0", "999", "1,000", "1,203,164", "−4,500"]);
    assert_eq!(whole(f64::NAN), MISSING);
}

#[test]
fn a_rate_keeps_three_digits() {
    let shown = [163_934.4, 999.6, 61_249.0, 1_203_164.0, 999_600.0].map(rate);
    assert_eq!(
        shown,
        ["164,000", "1,000", "61,200", "1,200,000", "1,000,000"]
    );
    let small = [1.5, 0.0005, 12.34, 577.5, 7.0, 0.0].map(rate);
    assert_eq!(small, ["1.50", "0.000500", "12.3", "578", "7", "0"]);
}

#[test]
fn a_huge_figure_is_told_by_its_exponent() {
    let shown = [2.5e25, -2.5e25, 1e308, f64::MAX].map(rate);
    assert_eq!(shown, ["2.50e25", "−2.50e25", "1.00e308", "1.80e308"]);
    assert_eq!(whole(999_999_999_999_999.0), "999,999,999,999,999");
    assert_eq!(quantity(2.5e25, "s"), "2.50e25 s");
    assert_eq!(ratio(5e24), "5.00e24 times");
    assert_eq!(ratio_roughly(5e24), "5.00e24 times");
    assert_eq!(change_roughly(5e24), "+5.00e26 %");
}

#[test]
fn microseconds_and_durations_take_the_digits_and_the_unit_that_suit_them() {
    assert_eq!([6.1, 11.94, 132.4].map(micros), ["6.10", "11.9", "132"]);
    assert_eq!([6.12, 0.31].map(micros_roughly), ["6.1 µs", "0.31 µs"]);
    let shown = [842, 84_200, 1_320_000, 999_700, 2_400_000_000].map(duration);
    assert_eq!(shown, ["842 ns", "84.2 µs", "1.32 ms", "1.00 ms", "2.40 s"]);
}

#[test]
fn an_interval_of_a_duration_stands_in_the_unit_of_its_value() {
    let shown = duration_with_interval(84_200, 83_900, 1_200_000);
    assert_eq!(shown, "84.2 µs (83.9 … 1200)");
}

#[test]
fn a_published_gain_has_the_digits_of_its_article() {
    assert_eq!(
        [0.55, 0.06, 0.025].map(published_gain),
        ["+55 %", "+6 %", "+2.5 %"]
    );
}

#[test]
fn a_number_is_not_parted_from_its_unit() {
    assert_eq!(
        glued("costs 6.1 µs (−49 %)"),
        "costs 6.1\u{a0}µs (−49\u{a0}%)"
    );
}

#[test]
fn a_change_has_its_sign_and_none_has_no_sign() {
    assert_eq!(
        [0.779, 1.0, 1.041].map(change),
        ["−22.1 %", "0.0 %", "+4.1 %"]
    );
    assert_eq!(change(0.9999), "0.0 %");
    assert_eq!([0.513, 0.96].map(change_roughly), ["−49 %", "−4.0 %"]);
    assert_eq!(change(f64::INFINITY), format!("{MISSING} %"));
}

#[test]
fn an_effect_stands_with_its_interval() {
    let found = Effect {
        ratio: 0.779,
        low: 0.770,
        high: 0.788,
        n: 16,
        alpha: 0.05,
        p_value: 0.0001,
    };
    assert_eq!(effect(&found), "−22.1 % (−23.0 … −21.2)");
}

#[test]
fn a_figure_has_three_digits_and_the_unit_that_suits_it() {
    let plain = [0.0, 0.000_025, 0.0253, 0.253, 2.5, 12.34, 303.97, -4567.0].map(three_digits);
    assert_eq!(
        plain,
        [
            "0",
            "2.50e−5",
            "0.0253",
            "0.253",
            "2.50",
            "12.3",
            "304",
            "−4,570"
        ]
    );
    let times = [0.253, 842.0, 303_972.0, 3.3e6, 2.4e9].map(|ns| quantity(ns, "ns"));
    assert_eq!(times, ["0.253 ns", "842 ns", "304 µs", "3.30 ms", "2.40 s"]);
    let ticks = [0.0, 0.5, 200e3, 1e6].map(|ns| axis(ns, "ns"));
    assert_eq!(ticks, ["0", "0.5 ns", "200 µs", "1 ms"]);
    let plain = [2.0, 0.1 + 0.2, 25e3].map(|trips| axis(trips, "round trips"));
    assert_eq!(plain, ["2", "0.3", "25,000"]);
    assert_eq!(quantity(8e6, "bytes"), "8.00 MB");
    assert_eq!(quantity(3.0, "round trips"), "3.00 round trips");
    assert_eq!(counted(1_048_576.0, "inputs"), "1,048,576 inputs");
    assert_eq!(quantity_span(249e3, 1.09e6, "ns"), "0.249 … 1.09 ms");
    assert_eq!(ratio_span(1.16, 1.42), "+16.0 … +42.0 %");
    assert_eq!(ratio_span(1.16, 5.53), "1.16 … 5.53 times");
    let found = Estimate {
        value: 998e3,
        low: 991e3,
        high: 1.2e6,
        n: 16,
    };
    let shown = quantity_with_interval(&found, "ns");
    assert_eq!(shown, "998 µs (991 … 1,200)");
}

#[test]
fn a_large_ratio_is_told_in_times_and_a_small_one_as_a_change() {
    let shown = [0.002, 0.02, 0.779, 1.0, 1.99, 57.2].map(ratio);
    assert_eq!(
        shown,
        [
            "0.00200 times",
            "−98.0 %",
            "−22.1 %",
            "0.0 %",
            "+99.0 %",
            "57.2 times"
        ]
    );
}

#[test]
fn quantiles_shares_and_sizes_read_as_people_write_them() {
    let names = [0.5, 0.99, 0.999, 0.9999].map(quantile);
    assert_eq!(names, ["p50", "p99", "p99.9", "p99.99"]);
    assert_eq!([0.98, 0.034, 1.0].map(share), ["98 %", "3.4 %", "100 %"]);
    assert_eq!(
        [16_400_000_000, 512_000_000, 400].map(bytes),
        ["16.4 GB", "512 MB", "400 B"]
    );
    let rates = [0.0, 64_000.0, 500_123.0, 1.5e9, 21.129e9].map(bit_rate);
    assert_eq!(
        rates,
        [
            "0 bit/s",
            "64.0 kbit/s",
            "500 kbit/s",
            "1.50 Gbit/s",
            "21.1 Gbit/s"
        ]
    );
}
