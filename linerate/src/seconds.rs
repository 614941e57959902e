//! Times on the command line that are whole seconds.

/// Parses a time, rounded up to seconds: timeouts are only as fine as that.
pub(crate) fn parse_seconds(text: &str) -> Result<u32, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; expected a time such as 30s or 2m"))?;
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    match u32::try_from(seconds) {
        Ok(seconds @ 1..) => Ok(seconds),
        _ => Err("expected a time between 1s and a hundred years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_seconds() {
        assert_eq!(parse_seconds("1500ms"), Ok(2));
        assert_eq!(parse_seconds("1m"), Ok(60));
        for wrong in ["0s", "10", "900y", ""] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
