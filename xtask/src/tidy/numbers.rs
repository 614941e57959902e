//! The numbers of the house, for its note and to see where it drifts.

use std::fmt;

use super::rules::{code_lines, locked, unsafe_lines};
use super::rust::{self, is_code, is_comment, words};
use super::tree::{Source, Tree};

/// What `cargo xtask tidy --numbers` prints.
pub(super) struct Numbers {
    functions: Spread,
    /// Share of functions over 70 lines.
    long_share: f64,
    files: Spread,
    /// Comment lines among the lines outside tests.
    comment_share: f64,
    /// Lines of test code for each line of other code.
    tests_per_code: f64,
    tests: usize,
    unwraps: usize,
    unsafe_words: usize,
    locked: usize,
    linux_packages: usize,
    traffic_packages: usize,
}

/// Middle and upper end of some lengths in lines.
struct Spread {
    count: usize,
    median: usize,
    p90: usize,
    longest: usize,
}

/// The numbers of a tree.
pub(super) fn of(tree: &Tree) -> Numbers {
    let product = |path: &str| !rust::is_test_file(path);
    let sources: Vec<&Source> = tree
        .sources
        .iter()
        .filter(|(path, _)| product(path))
        .map(|(_, s)| s)
        .collect();
    let functions: Vec<_> = tree.sources.values().flat_map(rust::functions).collect();
    let tests = functions.iter().filter(|function| function.is_test).count();
    let lengths: Vec<usize> = sources
        .iter()
        .flat_map(|source| rust::functions(source))
        .filter(|function| !function.in_tests)
        .map(|function| function.lines)
        .collect();
    let long = lengths.iter().filter(|lines| **lines > 70).count();
    let code: usize = sources.iter().map(|source| code_lines(source)).sum();
    let all_code: usize = tree
        .sources
        .values()
        .map(|source| source.text.lines().filter(|l| is_code(l)).count())
        .sum();
    let traffic = tree.members.iter().find(|member| member.name == "traffic");
    Numbers {
        long_share: share(long, lengths.len()),
        functions: Spread::of(lengths),
        files: Spread::of(
            sources
                .iter()
                .map(|source| product_lines(source).count())
                .collect(),
        ),
        comment_share: comment_share(&sources),
        tests_per_code: share(all_code - code, code),
        tests,
        unwraps: sources.iter().map(|source| unwraps(source)).sum(),
        unsafe_words: sources
            .iter()
            .map(|source| unsafe_lines(source).len())
            .sum(),
        locked: locked(tree),
        linux_packages: tree.linux_packages,
        traffic_packages: traffic.map_or(0, |member| member.packages),
    }
}

impl Spread {
    fn of(mut lengths: Vec<usize>) -> Self {
        lengths.sort_unstable();
        let at = |share_of_ten: usize| lengths.get(lengths.len() * share_of_ten / 10).copied();
        Self {
            count: lengths.len(),
            median: at(5).unwrap_or(0),
            p90: at(9).unwrap_or(0),
            longest: lengths.last().copied().unwrap_or(0),
        }
    }
}

/// Lines outside `#[cfg(test)]` modules, with their numbers.
fn product_lines(source: &Source) -> impl Iterator<Item = &str> {
    let tests = rust::test_lines(source);
    let lines = (1..).zip(source.text.lines());
    lines
        .filter(move |(number, _)| !tests.iter().any(|lines| lines.contains(number)))
        .map(|(_, line)| line)
}

fn comment_share(sources: &[&Source]) -> f64 {
    let lines = || sources.iter().flat_map(|source| product_lines(source));
    share(
        lines().filter(|line| is_comment(line)).count(),
        lines().count(),
    )
}

/// Calls of `unwrap` outside tests.
fn unwraps(source: &Source) -> usize {
    let tests = rust::test_lines(source);
    let words = words(&source.tokens);
    let calls = words
        .windows(2)
        .filter(|pair| pair[0].text == "." && pair[1].text == "unwrap");
    calls
        .filter(|pair| !tests.iter().any(|lines| lines.contains(&pair[1].line)))
        .count()
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            median,
            p90,
            longest,
        } = self;
        write!(
            f,
            "{count}, of {median} lines in the median, {p90} at p90, {longest} at most"
        )
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "functions           {}", self.functions)?;
        writeln!(f, "  over 70 lines     {:.2} %", self.long_share * 100.0)?;
        writeln!(f, "files               {}", self.files)?;
        writeln!(
            f,
            "comments            {:.1} % of lines",
            self.comment_share * 100.0
        )?;
        writeln!(
            f,
            "tests               {}, {:.2} lines for each line of code",
            self.tests, self.tests_per_code
        )?;
        writeln!(f, "unwraps             {} outside tests", self.unwraps)?;
        writeln!(
            f,
            "unsafe              {}; where and why is the rule `unsafe-code`",
            self.unsafe_words
        )?;
        write!(
            f,
            "packages            {} locked, {} on Linux, {} of traffic",
            self.locked, self.linux_packages, self.traffic_packages
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_comments_tests_and_unwraps_are_counted_where_they_belong() {
        let source = "//! A.\n\nfn f() {\n    g().unwrap();\n}\n\n#[cfg(test)]\nmod tests {\n    \
                      #[test]\n    fn a_b_c_d() {\n        f().unwrap();\n    }\n}\n";
        let tree = Tree::of([("a/src/a.rs", source), ("a/tests/b.rs", "fn h() {}\n")]).unwrap();
        let numbers = of(&tree);
        assert_eq!((numbers.functions.count, numbers.functions.median), (1, 3));
        assert_eq!((numbers.tests, numbers.unwraps), (1, 1));
        // Seven lines of tests beside three of code; one of six other lines is a comment.
        assert!((numbers.tests_per_code - 8.0 / 3.0).abs() < 1e-9);
        assert!((numbers.comment_share - 1.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn a_spread_is_the_middle_and_the_upper_end() {
        let spread = Spread::of((1..=100).collect());
        assert_eq!((spread.median, spread.p90, spread.longest), (51, 91, 100));
    }
}
