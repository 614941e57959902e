//! Times of a command line that are whole seconds.

/// A time in whole seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) u32);

/// Rounded up: timeouts are kept to the second.
pub(crate) fn parse_seconds(text: &str) -> Result<Seconds, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; expected a time such as 30s or 2m"))?;
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    match u32::try_from(seconds) {
        Ok(seconds @ 1..) => Ok(Seconds(seconds)),
        _ => Err("expected a time between 1s and a hundred years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_seconds() {
        assert_eq!(parse_seconds("1500ms").unwrap().0, 2);
        assert_eq!(parse_seconds("1m").unwrap().0, 60);
        for wrong in ["0s", "10", "900y", ""] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
