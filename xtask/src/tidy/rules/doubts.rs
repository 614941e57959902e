//! Every doubt has its shape in the schemas, whether or not a test's run happens to raise it.

use syn::{Item, Variant};

use crate::tidy::Rule;
use crate::tidy::rust::line_of;
use crate::tidy::tree::{Tree, Violation};

const DOUBTS: &str = "crates/model/src/doubt.rs";
const SHAPES: &str = "docs/schema/common.json";

pub(super) const RULE: Rule = Rule {
    name: "doubts",
    says: "Each doubt has its shape in docs/schema/common.json.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let shapes = tree.texts.get(SHAPES).map_or("", String::as_str);
    let without = variants(tree).filter(|variant| {
        let name = snake_case(&variant.ident.to_string());
        !shapes.contains(&format!("\"const\": \"{name}\""))
    });
    without
        .map(|variant| {
            let what = format!("`{}` has no shape in {SHAPES}", variant.ident);
            let line = line_of(variant.ident.span());
            Violation::new(DOUBTS, line, what, "add it to `doubt_fields` there")
        })
        .collect()
}

fn variants(tree: &Tree) -> impl Iterator<Item = &Variant> {
    let items = tree.sources.get(DOUBTS).map(|source| &source.syntax.items);
    let doubts = items.into_iter().flatten().filter_map(|item| match item {
        Item::Enum(found) if found.ident == "Doubt" => Some(&found.variants),
        _ => None,
    });
    doubts.flatten()
}

/// As serde writes a variant's name.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const DOUBT: &str = "pub enum Doubt {\n    OneMachine,\n    LateSends { by_ns: u64 },\n}\n";

    #[test]
    fn a_doubt_without_a_shape_is_named_where_it_stands() {
        let both = r#"{ "const": "one_machine" } { "const": "late_sends" }"#;
        assert!(said(&RULE, &[(DOUBTS, DOUBT), (SHAPES, both)]).is_empty());
        let one = r#"{ "const": "one_machine" }"#;
        let missing = said(&RULE, &[(DOUBTS, DOUBT), (SHAPES, one)]);
        assert_eq!(missing.len(), 1);
        assert!(missing[0].starts_with("crates/model/src/doubt.rs:3: `LateSends` has no shape"));
    }
}
