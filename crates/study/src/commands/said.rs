//! Shortens what commands printed, to show it or to save it.

/// Most lines of output that an error shows.
const SHOWN_LINES: usize = 5;
/// Most characters of a command's last words that are saved with a failed run.
const KEPT_CHARS: usize = 400;

/// Joins lines into one, and returns its end.
pub(super) fn end_of(words: &str) -> String {
    let lines: Vec<&str> = words.lines().map(str::trim).collect();
    let line = foreign::shown(&lines.join(" / ")).into_owned();
    let surplus = line.chars().count().saturating_sub(KEPT_CHARS);
    if surplus == 0 {
        return line;
    }
    let kept: String = line.chars().skip(surplus).collect();
    format!("…{kept}")
}

/// Returns the beginning of an output, for an error.
pub(super) fn beginning(output: &str) -> String {
    if output.trim().is_empty() {
        return "(nothing)".to_owned();
    }
    let clip = |line: &str| line.chars().take(200).collect::<String>();
    let lines: Vec<String> = output.lines().take(SHOWN_LINES).map(clip).collect();
    lines.join("\n")
}
