//! The rule that every path in a document leads somewhere.

use crate::tidy::Rule;
use crate::tidy::markdown::{self, Quote};
use crate::tidy::tree::{Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "document-paths",
    says: "Every path and link in a document leads to a file or folder that is there.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (document, text) in tree.documents() {
        let paths = markdown::inline_code(text).filter(|quote| is_path(tree, quote.text));
        let paths = paths.filter(|quote| !tree.has(quote.text));
        let links = markdown::links(text).filter(|quote| is_file_link(quote.text));
        let links = links.filter(|quote| !tree.has(&resolved(document, quote.text)));
        violations.extend(paths.chain(links).map(|Quote { line, text }| {
            let advice = "name what is there now, or take it out";
            Violation::new(document, line, format!("`{text}` is not there"), advice)
        }));
    }
    violations
}

/// Whether a text is a path that begins with one of our folders. One with a placeholder (`NAME`) is
/// none.
fn is_path(tree: &Tree, text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-.".contains(c);
    let is_placeholder = |part: &str| {
        let letters = part.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
        let stem = letters.split('.').next().unwrap_or_default();
        stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase()) && stem != "README"
    };
    text.split_once('/').is_some_and(|(folder, rest)| {
        !folder.is_empty()
            && tree.has(&format!("{folder}/"))
            && text.chars().all(is_plain)
            && !rest.split('/').any(is_placeholder)
    })
}

fn is_file_link(target: &str) -> bool {
    !target.contains("://") && !target.starts_with(['#', '<']) && !target.starts_with("mailto:")
}

/// A link's target, relative to the top of the repository.
fn resolved(document: &str, target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn paths_that_lead_nowhere_are_named_and_others_are_not() {
        let text = "`crates/a/src/x.rs`, `crates/a/`, `crates/NAME/src`, `/etc/hosts`, `a/b`,\n\
                    [x](../crates/a/src/x.rs), [web](https://a.b), `crates/gone.rs`, [y](y.md)\n";
        let said = said(&RULE, &[("docs/d.md", text), ("crates/a/src/x.rs", "")]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("docs/d.md:2: `crates/gone.rs` is not there"));
        assert!(said[1].starts_with("docs/d.md:2: `y.md` is not there"));
    }

    #[test]
    fn what_history_names_may_be_gone() {
        let files = [
            ("results/r/a.md", "`results/x`"),
            ("CHANGELOG.md", "`results/x`"),
        ];
        assert!(said(&RULE, &files).is_empty());
    }
}
