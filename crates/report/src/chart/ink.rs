//! The colours of a chart by what they mean. The drawing library knows only fixed colours, so each
//! ink is drawn in a colour of its own that nothing else has, and that colour is then replaced by
//! the page's variable: one drawing serves the light and the dark theme.

use plotters::style::RGBColor;

/// What a mark is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Text and intervals.
    Text,
    /// Remarks and axis labels.
    Muted,
    /// Axes and grids.
    Rule,
    /// What was measured.
    Accent,
    /// The body of a bar.
    Soft,
    /// What the kernel alone costs, and the ends of what identical servers differ by.
    Floor,
    /// The body of what identical servers differ by.
    Noise,
    /// What the article has.
    Published,
    /// The body of the article's bars.
    PublishedSoft,
    /// The ground, where a mark must be hollow.
    Paper,
}

const ALL: [(Ink, &str); 10] = [
    (Ink::Text, "var(--ink)"),
    (Ink::Muted, "var(--muted)"),
    (Ink::Rule, "var(--rule)"),
    (Ink::Accent, "var(--accent)"),
    (Ink::Soft, "var(--soft)"),
    (Ink::Floor, "var(--floor)"),
    (Ink::Noise, "var(--noise)"),
    (Ink::Published, "var(--published)"),
    (Ink::PublishedSoft, "var(--published-soft)"),
    (Ink::Paper, "var(--paper)"),
];

impl Ink {
    /// The stand-in that the drawing library is given.
    pub(crate) fn stand_in(self) -> RGBColor {
        let index = ALL.iter().position(|(ink, _)| *ink == self);
        let index = index.expect("every ink is in the list of all inks");
        RGBColor(0xFE, 0xDC, index as u8)
    }
}

/// Puts the page's variables in the place of the stand-ins. Only whole attribute values are
/// replaced: a quotation mark in a chart's text is written as an entity, so none can look like one.
pub(crate) fn themed(svg: &str) -> String {
    ALL.iter().fold(svg.to_owned(), |svg, (ink, variable)| {
        let RGBColor(red, green, blue) = ink.stand_in();
        let stand_in = format!("\"#{red:02X}{green:02X}{blue:02X}\"");
        svg.replace(&stand_in, &format!("\"{variable}\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_becomes_the_variable_of_its_ink_and_other_text_stays() {
        let svg = r##"<rect fill="#FEDC03" stroke="none"/><text>#FEDC03</text>"##;
        assert_eq!(
            themed(svg),
            r#"<rect fill="var(--accent)" stroke="none"/><text>#FEDC03</text>"#
        );
        assert_eq!(Ink::Accent.stand_in(), RGBColor(0xFE, 0xDC, 3));
    }
}
