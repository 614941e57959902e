//! Colour for a terminal: four styles of the standard palette, so that a reader's own theme holds.

const RESET: &str = "\u{1b}[0m";

/// What a piece of text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// The answer and the headings.
    Strong,
    /// What may be passed over.
    Quiet,
    Good,
    Bad,
}

/// Paints, or leaves text alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// Paints each line for itself, so that a pager that cuts lines keeps the rest right.
    pub(crate) fn lines(self, style: Style, text: &str) -> String {
        let painted: Vec<String> = text.lines().map(|line| self.span(style, line)).collect();
        painted.join("\n")
    }

    /// Paints a piece of one line.
    pub(crate) fn span(self, style: Style, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Strong => "1",
            Style::Quiet => "2",
            Style::Good => "32",
            Style::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}{RESET}")
    }
}

/// Text without its colour codes.
#[cfg(test)]
pub(crate) fn without_colour(text: &str) -> String {
    let mut plain = text.to_owned();
    for code in ["0", "1", "2", "31", "32"] {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    plain
}
