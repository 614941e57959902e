//! From arguments to the request that is sent: method, headers, body; and durations.

use std::time::Duration;

use anyhow::Context as _;
use traffic::load::http::HttpProtocol;
use wire::url::HttpUrl;

use super::Arguments;

/// The longest duration that makes sense here, in seconds: one day.
const LONGEST_SECONDS: f64 = 86_400.0;

/// Puts the request together as the arguments say.
pub(super) fn prepare(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<HttpProtocol> {
    let body = arguments
        .body
        .as_deref()
        .map_or(Ok(Vec::new()), read_body)?;
    let default_method = if arguments.body.is_some() {
        "POST"
    } else {
        "GET"
    };
    let method = arguments
        .method
        .as_deref()
        .unwrap_or(default_method)
        .to_ascii_uppercase();
    let request = HttpProtocol::new(
        &method,
        &url.host_header(),
        &url.target,
        &arguments.headers,
        &body,
    );
    request.context("the request cannot be sent")
}

fn read_body(body: &str) -> anyhow::Result<Vec<u8>> {
    match body.strip_prefix('@') {
        None => Ok(body.as_bytes().to_vec()),
        Some(file) => {
            std::fs::read(file).with_context(|| format!("reading the body from `{file}`"))
        }
    }
}

/// `Name: value`.
pub(super) fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header is written `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// A number with its unit: `500ms`, `10s`, `1.5m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: write 500ms, 10s or 2m, of at most a day");
    let digits = text
        .find(|letter: char| letter.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| wrong())?;
    let seconds = match &text[digits..] {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("1.5m", 90_000),
            ("0s", 0),
            ("250us", 0),
        ] {
            assert_eq!(parse_duration(text).unwrap().as_millis(), ms, "{text}");
        }
        for text in ["10", "", "s", "-1s", "1e9s", "NaNs", "1d", "25h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_header_is_cut_at_its_first_colon() {
        let header = parse_header("Referer: http://a/").unwrap();
        assert_eq!(header, ("Referer".to_owned(), "http://a/".to_owned()));
        assert!(parse_header("no colon").is_err());
    }
}
