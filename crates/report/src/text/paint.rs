//! Colour for a terminal: four styles of the standard palette, so that a reader's own theme
//! applies.

const RESET: &str = "\u{1b}[0m";
/// All codes that colour text: the only ones in our texts on which a terminal may act.
pub const CODES: [&str; 5] = [RESET, "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[31m"];

/// Purpose of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// The answer and the headings.
    Strong,
    /// Text that may be passed over.
    Quiet,
    Good,
    Bad,
}

/// Colours text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// Paints each line by itself, so that a pager that cuts lines keeps the rest right.
    pub(crate) fn lines(self, style: Style, text: &str) -> String {
        let painted: Vec<String> = text.lines().map(|line| self.span(style, line)).collect();
        painted.join("\n")
    }

    /// Paints a piece of one line.
    pub(crate) fn span(self, style: Style, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let [_, strong, quiet, good, bad] = CODES;
        let code = match style {
            Style::Strong => strong,
            Style::Quiet => quiet,
            Style::Good => good,
            Style::Bad => bad,
        };
        format!("{code}{text}{RESET}")
    }
}

/// Text without its colour codes.
#[cfg(test)]
pub(crate) fn without_colour(text: &str) -> String {
    let mut plain = text.to_owned();
    for code in CODES {
        plain = plain.replace(code, "");
    }
    plain
}
