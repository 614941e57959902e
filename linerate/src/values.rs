//! Parses the values of flags as people type them, wrk's spelling included.

use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// The longest duration that makes sense here, in seconds: one day.
const LONGEST_SECONDS: f64 = 86_400.0;

/// Accepts one of `words` and parses it to a value.
pub(super) fn one_of<T>(
    words: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

/// Parses a header, `Name: value`.
pub(super) fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header is written `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Parses a duration such as `500ms`, `10s` or `1.5m`; without a unit it is in seconds, as for wrk.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration: write 500ms, 10s or 2m, at most a day");
    let digits = text
        .find(|letter: char| letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let seconds = match &text[digits..] {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    if (0.0..=LONGEST_SECONDS).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong())
    }
}

/// Parses a percentage from 0.1 to 90, with or without its sign: `3%`, `0.5`.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let number = number.filter(|percent| (0.1..=90.0).contains(percent));
    number.ok_or_else(|| format!("`{text}` is not from 0.1 to 90 per cent, such as 3%"))
}

/// Parses a whole number; with a `k` it is in thousands, as for wrk.
pub(super) fn parse_count(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1000),
        None => (text, 1),
    };
    let count = digits.parse().ok().and_then(|n: u32| n.checked_mul(unit));
    count.ok_or_else(|| format!("`{text}` is not a whole number such as 64 or 2k"))
}

/// Returns the target as it is typed; refuses a k6 script and names the flags to use instead.
pub(super) fn parse_target(text: &str) -> Result<String, String> {
    if text.contains("://") || !(text.ends_with(".js") || text.ends_with(".ts")) {
        return Ok(text.to_owned());
    }
    Err(
        "k6 scripts are not run. Use flags instead: the URL, -X, -H and --body for the request, -c for `vus`, \
         -d for `duration`, -n for `iterations`, --rate for `constant-arrival-rate`, --slo 'p99<5ms' for a threshold \
         of `http_req_duration`, --mix FILE for requests that differ from one another"
            .to_owned(),
    )
}

/// Refuses a Lua script of wrk and names the flags to use instead.
pub(super) fn refuse_script(_: &str) -> Result<String, String> {
    Err(
        "Lua scripts are not run. Use flags instead: -X for the method, -H for a header, \
         --body TEXT or --body @FILE for a body, --mix FILE for requests that \
         differ from one another"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit_or_are_seconds() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("30", 30_000),
            ("1.5m", 90_000),
            ("1h", 3_600_000),
            ("0s", 0),
            ("250us", 0),
        ] {
            assert_eq!(parse_duration(text).unwrap().as_millis(), ms, "{text}");
        }
        for text in ["", "s", "-1", "-1s", "1e9s", "NaNs", "1d", "25h", "90000"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_may_be_in_thousands() {
        assert_eq!((parse_count("64"), parse_count("2k")), (Ok(64), Ok(2000)));
        for text in ["", "k", "-1", "1.5k", "64x", "5000000k"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_header_is_cut_at_its_first_colon() {
        let header = parse_header("Referer: http://a/").unwrap();
        assert_eq!(header, ("Referer".to_owned(), "http://a/".to_owned()));
        assert!(parse_header("no colon").is_err());
    }
}
