//! Finds the known word that was probably meant by an unknown one.

/// A suggested word is more alike than this; 1 is the same word.
const ALIKE: f64 = 0.8;

/// Returns `; did you mean …?` with the known word most like the given one, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let alike = |candidate: &'a str| (strsim::jaro_winkler(word, candidate), candidate);
    let nearest = known
        .map(alike)
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    nearest.map_or_else(String::new, |(_, meant)| {
        format!("; did you mean `{meant}`?")
    })
}

/// Says that nothing has this name, and which names there are.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let meant = did_you_mean(name, known.iter().copied());
    let expected = if known.is_empty() {
        "none, because there are none".to_owned()
    } else {
        format!("one of {}", known.join(", "))
    };
    let name = name.escape_debug();
    format!("there is no {what} `{name}`; expected {expected}{meant}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["rounds", "score_ms", "settle_ms"];
        let meant = |word| did_you_mean(word, known.into_iter());
        assert_eq!(meant("ruonds"), "; did you mean `rounds`?");
        assert_eq!(meant("settle-ms"), "; did you mean `settle_ms`?");
        assert_eq!(meant("colour"), "");
    }
}
