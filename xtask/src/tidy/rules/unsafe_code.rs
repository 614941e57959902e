//! `unsafe` has one address, and says there why it is sound.

use proc_macro2::TokenTree;

use crate::tidy::Rule;
use crate::tidy::rust::{each_token, line_of};
use crate::tidy::tree::{Source, Tree, Violation};

const HOME: &str = "crates/sys/";
/// How far above the word its explanation may end: a call of many lines may begin between.
const LINES_ABOVE: usize = 8;

pub(super) const RULE: Rule = Rule {
    name: "unsafe-code",
    says: "`unsafe` stands in `crates/sys` alone, and each has its SAFETY above it.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let sources = tree.sources.iter();
    sources
        .flat_map(|(path, source)| {
            let lines = unsafe_lines(source);
            lines
                .into_iter()
                .filter_map(|line| wrong(path, source, line))
        })
        .collect()
}

/// Lines with the word, those inside macros too.
pub(in crate::tidy) fn unsafe_lines(source: &Source) -> Vec<usize> {
    let mut lines = Vec::new();
    each_token(&source.tokens, &mut |token| match token {
        TokenTree::Ident(word) if word == "unsafe" => lines.push(line_of(word.span())),
        _ => {}
    });
    lines
}

fn wrong(path: &str, source: &Source, line: usize) -> Option<Violation> {
    if !path.starts_with(HOME) {
        let what = "`unsafe` outside `crates/sys`";
        let advice = "give `sys` a safe function for it, or do without";
        return Some(Violation::new(path, line, what, advice));
    }
    let above = source
        .text
        .lines()
        .take(line)
        .skip(line.saturating_sub(LINES_ABOVE + 1));
    let is_explained = above
        .map(str::trim_start)
        .any(|line| line.starts_with("// SAFETY:") || line.starts_with("/// # Safety"));
    let advice = "say above it in `// SAFETY:` what makes it sound";
    (!is_explained).then(|| Violation::new(path, line, "`unsafe` without its reason", advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const BARE: &str = "fn f() {\n    m!(unsafe { g() });\n}\n";
    const EXPLAINED: &str = "fn f() {\n    // SAFETY: no pointers.\n    unsafe { g() };\n}\n";

    #[test]
    fn unsafe_outside_of_sys_is_named_even_when_it_is_explained() {
        let said = said(&RULE, &[("crates/wire/src/a.rs", EXPLAINED)]);
        assert!(
            said[0].starts_with("crates/wire/src/a.rs:3: `unsafe` outside"),
            "{said:?}"
        );
    }

    #[test]
    fn unsafe_in_sys_needs_its_reason_also_inside_a_macro() {
        let files = [
            ("crates/sys/src/a.rs", BARE),
            ("crates/sys/src/b.rs", EXPLAINED),
        ];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("crates/sys/src/a.rs:2: `unsafe` without its reason"));
    }

    #[test]
    fn the_word_in_text_and_in_names_of_lints_is_no_unsafe_code() {
        let text = "#![expect(unsafe_code, reason = \"unsafe\")]\n// unsafe\nfn f() {}\n";
        assert!(said(&RULE, &[("crates/wire/src/a.rs", text)]).is_empty());
    }
}
