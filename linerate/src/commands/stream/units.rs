//! Bytes and rates as iperf3 takes them, `128K` or `10M`, and as we write them, `10Mbit/s`.

use model::link::spelling;

/// Parses a number with a unit, where each unit is `of_unit` times the one before.
fn with_unit(text: &str, of_unit: u64) -> Option<u64> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text.strip_suffix(letters)?.parse().ok()?;
    let power = match letters {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        _ => return None,
    };
    let value = number * of_unit.pow(power) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "it is below 2^53")]
    (0.0..9e15).contains(&value).then_some(value as u64)
}

/// Parses a number of bytes, in units of 1,024.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    with_unit(text, 1024)
        .ok_or_else(|| format!("`{text}` is not a number of bytes, such as 1448, 128K or 10M"))
}

/// Parses a rate in bits a second, in units of 1,000.
pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    let rate = with_unit(text, 1000).or_else(|| spelling::parse_rate(text).ok());
    rate.ok_or_else(|| format!("`{text}` is not a rate, such as 50M, 1G or 500Mbit/s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_iperf3s_of_bytes_by_1024_and_of_bits_by_1000() {
        assert_eq!(parse_bytes("128K"), Ok(131_072));
        assert_eq!(parse_bytes("1.5m"), Ok(1_572_864));
        assert_eq!(
            (parse_rate("100M"), parse_rate("0")),
            (Ok(100_000_000), Ok(0))
        );
        assert_eq!(parse_rate("30Mbit/s"), Ok(30_000_000));
        for text in ["", "M", "-1", "1x", "1e3", "NaN", "9999999T"] {
            assert!(
                parse_bytes(text).is_err() && parse_rate(text).is_err(),
                "{text}"
            );
        }
    }
}
