//! Reads `/proc/pressure/cpu`: how long tasks waited for a CPU.

/// The line `some` of a pressure file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pressure {
    /// Share of the last ten seconds in which a task waited, per cent, as a decaying average.
    pub(crate) some_avg10: f64,
    /// Time since boot in which a task waited, µs.
    pub(crate) some_total_us: u64,
}

/// Parses the text of a pressure file; `None` if the line is missing or malformed.
pub(crate) fn parse(text: &str) -> Option<Pressure> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value = |name: &str| {
        let mut words = line.split_whitespace();
        words.find_map(|word| word.strip_prefix(name))
    };
    Some(Pressure {
        some_avg10: value("avg10=")?.parse().ok()?,
        some_total_us: value("total=")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_and_total_of_the_line_some_are_read() {
        let text = "some avg10=1.26 avg60=0.62 avg300=0.32 total=10960938\n\
                    full avg10=9.00 avg60=0.00 avg300=0.00 total=1\n";
        let pressure = parse(text).unwrap();
        assert_eq!(
            (pressure.some_avg10, pressure.some_total_us),
            (1.26, 10_960_938)
        );
    }

    #[test]
    fn odd_texts_are_none() {
        for text in [
            "",
            "some",
            "some avg10=x total=1",
            "some avg10=1.0",
            "full avg10=1 total=2",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
