//! What the rules ask of Rust sources: functions, tests, test code, code lines.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Signature};

use super::tree::Source;

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// With the modules around it that stand in this file: `tests::NAME`.
    pub(super) path: String,
    pub(super) line: usize,
    /// From its signature to its closing brace; of a body that is one `match`, a table, those of
    /// the longest arm.
    pub(super) lines: usize,
    /// It carries `#[test]`.
    pub(super) is_test: bool,
    /// It stands in test code: a test, or below `#[cfg(test)]`.
    pub(super) in_tests: bool,
}

/// Every function of a source, in order.
pub(super) fn functions(source: &Source) -> Vec<Function> {
    let mut walk = Walk::default();
    walk.visit_file(&source.syntax);
    walk.functions
}

/// The lines of `#[cfg(test)]` modules with a body.
pub(super) fn test_lines(source: &Source) -> Vec<RangeInclusive<usize>> {
    let mut walk = Walk::default();
    walk.visit_file(&source.syntax);
    walk.test_modules
}

/// Whether a file is all test code.
pub(super) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Calls `look` with each token of a stream, those within groups included.
pub(super) fn each_token(tokens: &TokenStream, look: &mut impl FnMut(&TokenTree)) {
    for token in tokens.clone() {
        look(&token);
        if let TokenTree::Group(group) = &token {
            each_token(&group.stream(), look);
        }
    }
}

/// The line on which a span begins, from 1.
pub(super) fn line_of(span: Span) -> usize {
    span.start().line
}

/// Lines that hold code: neither blank nor comment alone.
pub(super) fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !is_comment(line)
}

/// Lines that are a comment alone.
pub(super) fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[derive(Default)]
struct Walk {
    functions: Vec<Function>,
    test_modules: Vec<RangeInclusive<usize>>,
    depth_in_tests: usize,
    /// The modules around, the outermost first.
    modules: Vec<String>,
}

impl Walk {
    fn note(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        let first = line_of(signature.span());
        let last = body.span().end().line;
        let is_test = attributes.iter().any(|a| a.path().is_ident("test"));
        let name = signature.ident.to_string();
        let path = [&self.modules[..], std::slice::from_ref(&name)].concat();
        self.functions.push(Function {
            name,
            path: path.join("::"),
            line: first,
            lines: longest_arm(body).unwrap_or(last + 1 - first),
            is_test,
            in_tests: is_test || self.depth_in_tests > 0,
        });
    }
}

/// The lines of the longest arm, where a body is one `match` and nothing else.
fn longest_arm(body: &Block) -> Option<usize> {
    let [syn::Stmt::Expr(syn::Expr::Match(table), None)] = body.stmts.as_slice() else {
        return None;
    };
    let lines = |arm: &syn::Arm| arm.span().end().line + 1 - line_of(arm.span());
    table.arms.iter().map(lines).max()
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let is_tests = module.attrs.iter().any(is_cfg_test);
        if is_tests && module.content.is_some() {
            self.test_modules
                .push(line_of(module.span())..=module.span().end().line);
        }
        self.depth_in_tests += usize::from(is_tests);
        self.modules.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.modules.pop();
        self.depth_in_tests -= usize::from(is_tests);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note(&function.attrs, &function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note(&function.attrs, &function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.note(&function.attrs, &function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn is_cfg_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .meta
            .require_list()
            .is_ok_and(|list| list.tokens.to_string() == "test")
}

/// A token as text: names, literals, punctuation; `::` is one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) line: usize,
}

/// All tokens in a row, groups opened up.
pub(super) fn words(tokens: &TokenStream) -> Vec<Word> {
    let mut words = Vec::new();
    add_words(tokens, &mut words);
    words
}

fn add_words(tokens: &TokenStream, words: &mut Vec<Word>) {
    for token in tokens.clone() {
        let line = line_of(token.span());
        if let TokenTree::Group(group) = &token {
            let (open, close) = match group.delimiter() {
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::None => ("", ""),
            };
            push(words, open, line);
            add_words(&group.stream(), words);
            push(words, close, group.span_close().start().line);
        } else {
            push(words, &token.to_string(), line);
        }
    }
}

fn push(words: &mut Vec<Word>, text: &str, line: usize) {
    match words.last_mut() {
        Some(last) if text == ":" && last.text == ":" => "::".clone_into(&mut last.text),
        _ => words.push(Word {
            text: text.to_owned(),
            line,
        }),
    }
}
