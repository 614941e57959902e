//! The page for a terminal: the answer first, then the table, then the doubts.

mod paint;
mod sheet;
mod table;
mod wrap;

use model::{Judgement, RunRecord};

use crate::servers;
use crate::view::{Item, Medium, Page};

pub use paint::CODES;
pub(crate) use paint::{Paint, Style};
pub(crate) use sheet::Sheet;
pub use wrap::{hanging, wrap};

/// Narrowest width at which text can be set; a narrower terminal gets lines of this width.
pub const NARROWEST: usize = 20;

/// Renders a judged run for a terminal of `width` columns, with or without colour.
pub fn render(run: &RunRecord, judgement: &Judgement, width: usize, colour: bool) -> String {
    laid_out(servers::view(run, &[], judgement), width, colour)
}

/// Lays out a page: the answer, its parts, and the doubts.
pub(crate) fn laid_out(page: Page, width: usize, colour: bool) -> String {
    let page = page.on(Medium::Terminal);
    let mut sheet = Sheet::new(width.max(NARROWEST), Paint { colour });
    sheet.styled(Style::Strong, &page.answer);
    let sections = page.sections.into_iter();
    for placed in sections.flat_map(|section| section.parts) {
        match placed.part {
            Item::Paragraph(text) | Item::Note(text) => sheet.paragraph(&text),
            Item::Sentences(sentences) => sheet.paragraph(&sentences.join(" ")),
            Item::List(items) => sheet.list(&items),
            Item::Lines(lines) => lines.iter().for_each(|line| sheet.hanging("  ", line)),
            Item::Table(table) => sheet.table(&table),
            Item::Heading(_)
            | Item::Figure(_)
            | Item::Article(_)
            | Item::Commands(..)
            | Item::Listing(_) => {}
        }
    }
    sheet.doubts(&page.doubts);
    sheet.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::Doubt;
    use unicode_width::UnicodeWidthStr as _;

    fn rendered(width: usize) -> String {
        render(&sample::run(), &sample::judgement(), width, false)
    }

    const WIDTHS: [usize; 8] = [20, 33, 47, 60, 79, 80, 100, 120];

    fn widest_line(text: &str) -> usize {
        text.lines().map(|line| line.width()).max().unwrap_or(0)
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in WIDTHS {
            let text = rendered(width);
            assert!(widest_line(&text) <= width, "{width}:\n{text}");
        }
    }

    #[test]
    fn titles_in_chinese_keep_lines_within_the_terminal_and_columns_level() {
        let mut judgement = sample::judgement();
        judgement.arms[2].title = "每次回應只送一次，不再重新註冊通知".to_owned();
        for width in WIDTHS {
            let text = render(&sample::run(), &judgement, width, false);
            assert!(widest_line(&text) <= width, "{width}:\n{text}");
        }
        let text = render(&sample::run(), &judgement, 100, false);
        let ends_at = |row: &str| {
            let line = text.lines().find(|line| line.starts_with(row)).unwrap();
            line.split_once("  1").unwrap().0.width()
        };
        assert_eq!(ends_at("每次回應"), ends_at("an ordinary box"), "{text}");
    }

    #[test]
    fn every_figure_is_there_at_every_width() {
        for width in [20, 40, 80, 120] {
            let text: String = rendered(width).split_whitespace().collect();
            for figure in [
                "−22.1%(−23.0…−21.2)",
                "158,000",
                "9of17windows",
                "p99.99",
                "linearnftrules",
                "speculativeexecutionoff(+28%)",
            ] {
                assert!(
                    text.contains(figure),
                    "{figure} is missing at {width}:\n{}",
                    rendered(width)
                );
            }
        }
    }

    #[test]
    fn the_answer_is_the_first_line() {
        assert!(rendered(120).starts_with("Tuned, a request costs"));
    }

    #[test]
    fn a_doubt_stands_with_its_advice() {
        let text = rendered(200);
        assert!(text.contains(Doubt::OneMachine.advice()), "{text}");
    }

    #[test]
    fn colour_changes_no_letter_and_plain_text_has_no_escapes() {
        let coloured = render(&sample::run(), &sample::judgement(), 80, true);
        assert!(!rendered(80).contains('\u{1b}'));
        assert!(coloured.contains("\u{1b}[1m"));
        assert_eq!(paint::without_colour(&coloured), rendered(80));
    }

    #[test]
    fn escapes_in_a_title_do_not_reach_the_terminal() {
        let mut judgement = sample::judgement();
        judgement.arms[2].title = "evil\u{1b}[2J\u{7}title".to_owned();
        let text = render(&sample::run(), &judgement, 80, false);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
    }
}
