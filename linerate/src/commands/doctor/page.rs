//! What a person sees of a look at the machine: the answer, what a comparison can see, what costs
//! something, the rest in short.

use machine::findings::Summary;
use model::finding::{Finding, Severity};
use report::text::wrap;

use super::sight::Sight;

/// Lines longer than this are hard to read, however wide the terminal.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;
/// What continues an entry stands below its first word.
const INDENT: &str = "  ";

/// The answer, then what costs something with all that is known of it, then the rest in short.
pub(super) fn render(
    summary: &Summary,
    sight: &Sight,
    findings: &[Finding],
    width: usize,
    verbose: bool,
) -> String {
    let mut text = wrapped(&summary.answer, "", width);
    text += "\nWhat a comparison of two servers can see here\n";
    for line in sight.lines() {
        text += &wrapped(&line, INDENT, width);
    }
    let of = |severity| {
        findings
            .iter()
            .filter(move |finding| finding.severity == severity)
    };
    for finding in of(Severity::Problem).chain(of(Severity::Notice)) {
        text += &in_full(finding, width);
    }
    let headings = [
        (Severity::Unknown, "Could not be looked at"),
        (Severity::Fine, "As it should be"),
    ];
    for (severity, heading) in headings {
        if of(severity).next().is_none() {
            continue;
        }
        text += &format!("\n{heading}\n");
        let with_evidence = verbose || severity == Severity::Unknown;
        for finding in of(severity) {
            text += &in_short(finding, width, with_evidence);
        }
    }
    text.trim_end().to_owned()
}

fn in_full(finding: &Finding, width: usize) -> String {
    let mut text = format!("\n{} ({})\n", finding.name, severity_word(finding.severity));
    text += &wrapped(&finding.what, INDENT, width);
    for (label, part) in [
        ("evidence", &finding.evidence),
        ("cost", &finding.cost),
        ("to do", &finding.advice),
    ] {
        if !part.is_empty() {
            text += &wrapped(&format!("{label}: {part}"), INDENT, width);
        }
    }
    text
}

fn in_short(finding: &Finding, width: usize, with_evidence: bool) -> String {
    let evidence = if with_evidence {
        format!(" [{}]", finding.evidence)
    } else {
        String::new()
    };
    wrapped(
        &format!("{}: {}{evidence}", finding.name, finding.what),
        INDENT,
        width,
    )
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Problem => "problem",
        Severity::Notice => "notice",
        Severity::Unknown => "unknown",
        Severity::Fine => "fine",
    }
}

/// Words in lines that keep to the width, the first indented once and the following ones twice.
fn wrapped(words: &str, indent: &str, width: usize) -> String {
    let lines = wrap(words, width.saturating_sub(2 * indent.len()));
    let between = format!("\n{}", indent.repeat(2));
    format!("{indent}{}\n", lines.join(&between))
}

/// Columns of the terminal, or the widest where there is none.
pub(super) fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.unwrap_or(WIDEST).clamp(NARROWEST, WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::findings;

    fn finding(name: &str, severity: Severity) -> Finding {
        Finding {
            name: name.to_owned(),
            severity,
            what: format!("What of {name}."),
            evidence: format!("evidence of {name}"),
            cost: "+5 % server CPU per request".to_owned(),
            advice: "stop it".to_owned(),
        }
    }

    #[test]
    fn the_answer_comes_first_then_what_costs_then_the_rest() {
        let findings = [
            finding("good", Severity::Fine),
            finding("dear", Severity::Notice),
            finding("hidden", Severity::Unknown),
            finding("bad", Severity::Problem),
        ];
        let text = render(
            &findings::summary(&findings),
            &Sight::not_measured("the machine is at work"),
            &findings,
            80,
            false,
        );
        let at = |what: &str| {
            text.find(what)
                .unwrap_or_else(|| panic!("{what} not in {text}"))
        };
        assert!(text.starts_with("This machine is not fit to measure now: what of bad;"));
        assert!(at("the machine is at work") < at("bad (problem)"));
        assert!(at("bad (problem)") < at("dear (notice)"));
        assert!(at("dear (notice)") < at("Could not be looked at"));
        assert!(at("[evidence of hidden]") < at("As it should be"));
        assert!(!text.contains("evidence of good"));
    }
}
