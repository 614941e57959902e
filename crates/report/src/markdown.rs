//! The page for a comment of a pull request: the answer first, then table and doubts, then the command that repeats it.

use std::fmt::Write as _;

use model::{Judgement, RunRecord};

use crate::servers;
use crate::view::{Item, Medium, Shown, Table};

/// Renders a judged run as Markdown.
pub fn render(run: &RunRecord, judgement: &Judgement) -> String {
    let page = servers::view(run, &[], judgement).on(Medium::Terminal);
    let mut text = format!("**{}**\n", plain(&page.answer));
    let sections = page.sections.into_iter();
    for placed in sections.flat_map(|section| section.parts) {
        match placed.part {
            Item::Paragraph(words) | Item::Note(words) => paragraph(&mut text, &words),
            Item::Sentences(sentences) => paragraph(&mut text, &sentences.join(" ")),
            Item::Table(of) => table(&mut text, &of),
            _ => {}
        }
    }
    text.push('\n');
    for doubt in &page.doubts {
        let (what, advice) = (plain(&doubt.what()), plain(doubt.advice()));
        let _ = writeln!(text, "- {what} *{advice}*");
    }
    let _ = writeln!(
        text,
        "\nRepeat it:\n\n    {}",
        run.command.replace('\n', " ")
    );
    text
}

fn paragraph(text: &mut String, words: &str) {
    let _ = writeln!(text, "\n{}", plain(words));
}

fn table(text: &mut String, table: &Table) {
    let headings: Vec<String> = table.headings().map(plain).collect();
    let _ = writeln!(text, "\n| {} |", headings.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(headings.len()));
    for row in &table.rows {
        let cells: Vec<String> = row
            .cells
            .iter()
            .map(|cell| plain(&Shown::joined(cell)))
            .collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

/// Escapes words so that Markdown makes no markup of them, whatever a branch is called.
fn plain(words: &str) -> String {
    let mut plain = String::with_capacity(words.len());
    for letter in words.chars() {
        if matches!(
            letter,
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' | '@' | '#'
        ) {
            plain.push('\\');
        }
        plain.push(if letter.is_control() { ' ' } else { letter });
    }
    plain
}
