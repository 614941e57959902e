//! Numbers for people: separators, units, signs, and no more digits than the data carry.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of decimals, and times that have no 2^64 ns"
)]

use model::{Effect, Estimate};

/// Shown where a number is missing or not finite.
pub const MISSING: &str = "–";

/// From here on, figures have more digits than anybody counts, and soon more than an `f64` holds.
const HUGE: f64 = 1e15;

/// A whole number with thousands separators: `1,203,164`; `2.50e25` where it is huge.
pub fn whole(value: f64) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    if value.abs() >= HUGE {
        return with_exponent(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if value < 0.0 && digits != "0" {
        grouped.insert(0, '−');
    }
    grouped
}

/// A rate to three significant digits: `164,000` for 163,934, `1.50` for 1.5. A small whole number
/// is shown as it is.
pub fn rate(value: f64) -> String {
    if value.abs() < 99.95 && value.fract() != 0.0 {
        return three_digits(value);
    }
    if !(1000.0..HUGE).contains(&value.abs()) {
        return whole(value);
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 2.0);
    whole((value / unit).round() * unit)
}

/// Microseconds without the unit, as a table's column shows them: `6.10`, `11.9`, `132`.
pub fn micros(us: f64) -> String {
    match us.abs() {
        size if !size.is_finite() => MISSING.to_owned(),
        size if size < 9.995 => format!("{us:.2}"),
        size if size < 99.95 => format!("{us:.1}"),
        _ => whole(us),
    }
}

/// Microseconds for a sentence: two digits are enough, `6.1 µs`.
pub fn micros_roughly(us: f64) -> String {
    match us.abs() {
        size if !size.is_finite() => MISSING.to_owned(),
        size if size < 0.995 => format!("{us:.2} µs"),
        size if size < 99.95 => format!("{us:.1} µs"),
        _ => format!("{} µs", whole(us)),
    }
}

/// A duration to three significant digits in the unit that suits it: `842 ns`, `84.2 µs`,
/// `1.32 ms`, `2.40 s`.
pub fn duration(ns: u64) -> String {
    let (divisor, unit) = duration_unit(ns as f64);
    format!("{} {unit}", in_unit(ns, divisor))
}

/// A duration given in seconds, in the form of [`duration`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length of time; `as` saturates"
)]
pub fn seconds(seconds: f64) -> String {
    duration((seconds * 1e9).round() as u64)
}

/// A duration with its interval in the same unit: `84.2 µs (83.9 … 84.6)`.
pub fn duration_with_interval(ns: u64, low_ns: u64, high_ns: u64) -> String {
    let (divisor, unit) = duration_unit(ns as f64);
    let [value, low, high] = [ns, low_ns, high_ns].map(|ns| in_unit(ns, divisor));
    format!("{value} {unit} ({low} … {high})")
}

/// The unit in which a duration has one to three digits before the point, as ns and name.
fn duration_unit(ns: f64) -> (f64, &'static str) {
    match ns {
        short if short < 999.5 => (1.0, "ns"),
        short if short < 999.5e3 => (1e3, "µs"),
        long if long < 999.5e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

fn in_unit(ns: u64, divisor: f64) -> String {
    let value = ns as f64 / divisor;
    let decimals = match value {
        _ if divisor < 1e3 => 0,
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A figure to three significant digits: `304,000`, `12.3`, `0.253`.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => MISSING.to_owned(),
        0.0 => "0".to_owned(),
        size if size < 9.995e-5 => with_exponent(value),
        size if size < 9.995 => {
            let decimals = (2.0 - size.log10().floor()).max(2.0) as usize;
            format!("{value:.decimals$}").replace('-', "−")
        }
        size if size < 99.95 => format!("{value:.1}").replace('-', "−"),
        _ => rate(value),
    }
}

fn with_exponent(value: f64) -> String {
    format!("{value:.2e}").replace('-', "−")
}

/// A figure in its unit: `304 µs` for 303,972 `ns`, `8.00 MB`, `12.3 rounds`.
pub fn quantity(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (divisor, shown) = shown_unit(value, unit);
    format!("{} {shown}", three_digits(value / divisor))
        .trim_end()
        .to_owned()
}

/// A round figure, as on a chart's axis: `200 µs`, `1 MB`. Other units may be long, so their
/// numbers stand alone.
pub fn axis(value: f64, unit: &str) -> String {
    let (divisor, shown) = shown_unit(value, unit);
    let number = (value / divisor * 1e4).round() / 1e4;
    let number = if number.abs() < 1e4 {
        number.to_string().replace('-', "−")
    } else {
        whole(number)
    };
    if value == 0.0 || !is_scaled(unit) {
        return number;
    }
    format!("{number} {shown}")
}

/// Whether figures of a unit are shown in multiples of it, as ns are shown in µs.
pub fn is_scaled(unit: &str) -> bool {
    matches!(unit, "ns" | "bytes")
}

/// An estimate in its unit, with its interval: `304 µs (301 … 307)`.
pub fn quantity_with_interval(found: &Estimate, unit: &str) -> String {
    format!(
        "{} ({})",
        quantity(found.value, unit),
        quantity_interval(found, unit)
    )
}

/// The interval of an estimate in the unit of its value, which is not repeated: `301 … 307`.
pub fn quantity_interval(found: &Estimate, unit: &str) -> String {
    let (divisor, _) = shown_unit(found.value, unit);
    interval(found, |end| three_digits(end / divisor))
}

/// A value that was counted and not estimated, with all its digits: `1,048,576 inputs`.
pub fn counted(value: f64, unit: &str) -> String {
    if is_scaled(unit) || value.fract() != 0.0 {
        return quantity(value, unit);
    }
    format!("{} {unit}", whole(value)).trim_end().to_owned()
}

/// Returns how many of the metric's own unit make the unit in which a value reads best, and that
/// unit.
fn shown_unit(value: f64, unit: &str) -> (f64, &str) {
    let size = value.abs();
    match unit {
        "ns" => duration_unit(size),
        "bytes" => match size {
            small if small < 999.5 => (1.0, "B"),
            small if small < 999.5e3 => (1e3, "kB"),
            middle if middle < 999.5e6 => (1e6, "MB"),
            _ => (1e9, "GB"),
        },
        other => (1.0, other),
    }
}

/// Two figures in one unit, that of the larger: `249 … 406 µs`.
pub fn quantity_span(low: f64, high: f64, unit: &str) -> String {
    let (divisor, shown) = shown_unit(high, unit);
    let [low, high] = [low, high].map(|value| three_digits(value / divisor));
    format!("{low} … {high} {shown}").trim_end().to_owned()
}

/// Two ratios in the same form: `+16.0 … +42.0 %`, or `1.16 … 5.53 times`.
pub fn ratio_span(low: f64, high: f64) -> String {
    if [low, high].into_iter().all(reads_as_change) {
        let [low, high] = [low, high].map(|ratio| signed((ratio - 1.0) * 100.0));
        return format!("{low} … {high} %");
    }
    let [low, high] = [low, high].map(three_digits);
    format!("{low} … {high} times")
}

/// A ratio as people say it: a small change as per cent, `−22.1 %`, any other as `2.73 times`.
pub fn ratio(ratio: f64) -> String {
    if reads_as_change(ratio) {
        change(ratio)
    } else {
        format!("{} times", three_digits(ratio))
    }
}

/// Two ratios in the same form: `+16.0 %` and `+42.0 %`, or `1.16 times` and `5.53 times`.
pub fn ratios_alike(ratios: [f64; 2]) -> [String; 2] {
    if ratios.into_iter().all(reads_as_change) {
        return ratios.map(change);
    }
    ratios.map(|ratio| format!("{} times", three_digits(ratio)))
}

/// A round ratio, as on a chart's axis: `+20 %`, `2 times`.
pub fn ratio_roughly(ratio: f64) -> String {
    let percent = ((ratio - 1.0) * 1000.0).round() / 10.0;
    if reads_as_change(ratio) {
        return published_gain(percent / 100.0);
    }
    if ratio >= HUGE {
        return format!("{} times", with_exponent(ratio));
    }
    format!("{} times", (ratio * 1e4).round() / 1e4)
}

/// An effect in the form of [`ratio`] with its interval: `2.73 times (2.70 … 2.76)`.
pub fn ratio_with_interval(effect: &Effect) -> String {
    format!("{} ({})", ratio(effect.ratio), ratio_interval(effect))
}

/// The interval of an effect in the form in which [`ratio`] shows its ratio.
pub fn ratio_interval(effect: &Effect) -> String {
    if reads_as_change(effect.ratio) {
        return change_interval(effect);
    }
    let [low, high] = [effect.low, effect.high].map(three_digits);
    format!("{low} … {high}")
}

/// Whether a ratio is shown as a change: from a hundredth up to, but not including, twice.
fn reads_as_change(ratio: f64) -> bool {
    (0.01..2.0).contains(&ratio)
}

/// A change in per cent with its sign, to a tenth: `−22.1`.
pub fn signed(percent: f64) -> String {
    signed_to(percent, 1)
}

/// A ratio as a change for a sentence: `−49 %`, `+4.1 %`.
pub fn change_roughly(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = usize::from(percent.abs() < 9.95);
    format!("{} %", signed_to(percent, decimals))
}

/// A ratio as a change to a tenth: `−22.1 %`.
pub fn change(ratio: f64) -> String {
    format!("{} %", signed((ratio - 1.0) * 100.0))
}

/// The interval of an effect as changes, without the unit: `−23.0 … −21.2`.
pub fn change_interval(effect: &Effect) -> String {
    let percent = |ratio: f64| signed((ratio - 1.0) * 100.0);
    format!("{} … {}", percent(effect.low), percent(effect.high))
}

/// An effect as a change with its interval: `−22.1 % (−23.0 … −21.2)`.
pub fn effect(effect: &Effect) -> String {
    format!("{} ({})", change(effect.ratio), change_interval(effect))
}

/// A gain as an article prints it: `+55 %` for 0.55, `+2.5 %` for 0.025.
pub fn published_gain(gain: f64) -> String {
    let percent = gain * 100.0;
    let decimals = usize::from((percent - percent.round()).abs() > 0.05);
    format!("{} %", signed_to(percent, decimals))
}

/// A share as a percentage without a sign: `98 %`, `3.4 %`.
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return MISSING.to_owned();
    }
    let percent = share * 100.0;
    let decimals = usize::from(percent.abs() < 9.95);
    format!("{percent:.decimals$} %")
}

/// The interval of an estimate, with ends formatted by `shown`: `11.7 … 12.1`.
pub fn interval(estimate: &Estimate, shown: impl Fn(f64) -> String) -> String {
    format!("{} … {}", shown(estimate.low), shown(estimate.high))
}

/// A quantile's name: `p99.9` for 0.999.
pub fn quantile(quantile: f64) -> String {
    let text = format!("{:.4}", quantile * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Bytes in the decimal unit that suits them: `16.4 GB`, `400 B`.
pub fn bytes(count: u64) -> String {
    let count = count as f64;
    match count {
        few if few < 999.5 => format!("{count} B"),
        small if small < 999.5e3 => format!("{} kB", whole(count / 1e3)),
        middle if middle < 999.5e6 => format!("{:.0} MB", count / 1e6),
        _ => format!("{:.1} GB", count / 1e9),
    }
}

/// Bits a second to three significant digits in the unit that suits them: `500 kbit/s`, `21.1 Gbit/s`.
pub fn bit_rate(bits_per_second: f64) -> String {
    let (divisor, unit) = match bits_per_second.abs() {
        few if few < 999.5 => (1.0, "bit/s"),
        small if small < 999.5e3 => (1e3, "kbit/s"),
        middle if middle < 999.5e6 => (1e6, "Mbit/s"),
        _ => (1e9, "Gbit/s"),
    };
    format!("{} {unit}", three_digits(bits_per_second / divisor))
}

/// Puts no-break spaces between numbers and their units.
pub fn glued(text: &str) -> String {
    [" %", " µs", " ms", " ns", " times", "n = "]
        .into_iter()
        .fold(text.to_owned(), |text, unit| {
            text.replace(unit, &unit.replace(' ', "\u{a0}"))
        })
}

/// Formats a percentage with its sign. The minus is the typographic one: a hyphen is too short to
/// be seen beside figures.
fn signed_to(percent: f64, decimals: usize) -> String {
    if !percent.is_finite() {
        return MISSING.to_owned();
    }
    let size = match percent.abs() {
        huge if huge >= HUGE => with_exponent(huge),
        size => format!("{size:.decimals$}"),
    };
    let is_zero = size.chars().all(|digit| matches!(digit, '0' | '.'));
    match (is_zero, percent < 0.0) {
        (true, _) => size,
        (false, true) => format!("−{size}"),
        (false, false) => format!("+{size}"),
    }
}

#[cfg(test)]
mod tests;
