//! The page for a browser: one file that opens offline and loads nothing.

pub(crate) mod common;
mod factorial;
mod facts;
mod page;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, HtmlEscape};
use model::command_run::{CommandBlock, CommandRun, Evidence};
use model::judgement::FactorialJudgement;
use model::{BlockRecord, Judgement, RunRecord};
use serde::Serialize;

use crate::factorial::View;
use crate::numbers;

/// The templates by name: each page extends the base.
const TEMPLATES: [(&str, &str); 4] = [
    ("base.html", include_str!("../../templates/base.html")),
    ("page.html", include_str!("../../templates/page.html")),
    (
        "factorial.html",
        include_str!("../../templates/factorial.html"),
    ),
    ("figure.html", include_str!("../../templates/figure.html")),
];
const STYLE: &str = include_str!("../../templates/style.css");

/// Renders a judged run as one self-contained HTML file.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
#[must_use]
pub fn render(run: &RunRecord, blocks: &[BlockRecord], judgement: &Judgement) -> String {
    laid_out("page.html", &page::page(run, blocks, judgement, STYLE))
}

/// Renders a judged run of commands, with the evidence that it gathered, likewise.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
#[must_use]
pub fn render_factorial(
    run: &CommandRun,
    blocks: &[CommandBlock],
    judgement: &FactorialJudgement,
    evidence: &Evidence,
) -> String {
    let view = View { run, judgement };
    laid_out(
        "factorial.html",
        &factorial::page(view, blocks, evidence, STYLE),
    )
}

/// What turns the order of letters would turn that of the page, so it is shown as what it is.
fn laid_out(template: &str, page: &impl Serialize) -> String {
    let page = templates()
        .get_template(template)
        .and_then(|template| template.render(Serde(page)))
        .expect("the templates are compiled in and a test renders them");
    foreign::shown(&page).into_owned()
}

/// Names that end in `.html` are escaped by default.
fn templates() -> Environment<'static> {
    let mut templates = Environment::new();
    templates.add_filter("glued", |text: &str| numbers::glued(text));
    templates.add_filter("spoken", spoken);
    templates.add_filter("prose", prose);
    for (name, source) in TEMPLATES {
        templates
            .add_template(name, source)
            .expect("the templates are compiled in and a test parses them");
    }
    templates
}

/// Text that is read and not copied: a hyphen stays with the word that it begins, as in `-O3`.
fn spoken(text: &str) -> String {
    let glued = numbers::glued(text);
    glued
        .replace(" -", " -\u{2060}")
        .replace("(-", "(-\u{2060}")
}

/// Escaped text in which what stands between backticks is set as code.
fn prose(text: &str) -> Value {
    let escaped = HtmlEscape(&numbers::glued(text)).to_string();
    let mut parts = escaped.split('`');
    let mut set = parts.next().unwrap_or_default().to_owned();
    while let Some(part) = parts.next() {
        match parts.next() {
            Some(after) => set += &format!("<code>{part}</code>{after}"),
            None => set += &format!("`{part}"),
        }
    }
    Value::from_safe_string(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::Verdict;
    use model::judgement::Outcome;

    #[test]
    fn a_line_does_not_break_after_the_hyphen_of_an_option() {
        let said = spoken("worse (-O0) than GCC, -O3 -march=native by 3 ms");
        let joined = said.matches("-\u{2060}").count();
        assert!(joined == 3 && said.contains("3\u{a0}ms"), "{said}");
        assert_eq!(spoken("a well-known one"), "a well-known one");
    }

    const PLANTED: &str = "<script>alert(1)</script>\"><img src=x>";

    fn rendered() -> String {
        render(
            &sample::run(),
            &sample::blocks(&sample::judgement()),
            &sample::judgement(),
        )
    }

    #[test]
    fn nothing_from_a_study_a_machine_or_a_reason_becomes_markup() {
        let (mut run, mut judgement) = (sample::run(), sample::judgement());
        run.study.title = PLANTED.to_owned();
        run.study.question = PLANTED.to_owned();
        run.study.method = PLANTED.to_owned();
        run.study.pitfalls = vec![PLANTED.to_owned()];
        run.study.steps[0].why = PLANTED.to_owned();
        run.facts.cpu_model = PLANTED.to_owned();
        run.command = PLANTED.to_owned();
        run.study.workload.path = PLANTED.to_owned();
        for arm in &mut judgement.arms {
            arm.title = PLANTED.to_owned();
        }
        for step in &mut judgement.steps {
            step.title = PLANTED.to_owned();
        }
        judgement.latency[0].title = PLANTED.to_owned();
        let page = render(&run, &sample::blocks(&judgement), &judgement);
        assert!(page.contains("&lt;script&gt;"));
        assert!(!page.contains("<script") && !page.contains("<img"));
    }

    #[test]
    fn backticks_set_code_and_a_lone_one_stays() {
        let set = |text| prose(text).to_string();
        assert_eq!(set("see `a<b` now"), "see <code>a&lt;b</code> now");
        assert_eq!(set("a ` b"), "a ` b");
    }

    #[test]
    fn the_query_of_a_request_is_not_shown() {
        let mut run = sample::run();
        run.study.workload.path = "/json?token=planted".to_owned();
        let page = render(
            &run,
            &sample::blocks(&sample::judgement()),
            &sample::judgement(),
        );
        assert!(page.contains("json over 64") && !page.contains("planted"));
    }

    #[test]
    fn an_address_that_is_no_web_address_is_no_link() {
        let mut run = sample::run();
        if let Some(source) = &mut run.study.source {
            source.url = "javascript:alert(1)".to_owned();
        }
        let page = render(
            &run,
            &sample::blocks(&sample::judgement()),
            &sample::judgement(),
        );
        assert!(!page.contains("href=\"javascript"), "{page}");
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = rendered();
        for loads in [
            "src=", "<link", "@import", "url(", "<script", "<iframe", "xmlns",
        ] {
            assert!(!page.contains(loads), "{loads}");
        }
        for (at, _) in page.match_indices("http") {
            assert!(
                is_link_or_no_address(&page, at),
                "{}",
                &page[at - 20..at + 40]
            );
        }
    }

    /// Only an `<a href>` may hold an address; `http-json` and `http-equiv` are none.
    fn is_link_or_no_address(page: &str, at: usize) -> bool {
        let is_address = page[at..].starts_with("http://") || page[at..].starts_with("https://");
        !is_address || page[..at].ends_with("<a href=\"")
    }

    #[test]
    fn headings_go_down_one_level_at_a_time_and_there_is_one_first_level() {
        let page = rendered();
        let levels: Vec<u32> = page
            .match_indices("<h")
            .filter_map(|(at, _)| page[at + 2..].chars().next()?.to_digit(10))
            .collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
        assert!(
            levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
            "{levels:?}"
        );
    }

    #[test]
    fn the_page_has_the_answer_the_charts_the_figures_and_the_command() {
        let page = rendered();
        for part in [
            "Tuned, a request costs",
            "9 of 17 windows",
            "linerate study run http-json --seed 5358979323",
            "blocks.jsonl",
            "p99.99",
            "kvm-clock",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<svg").count(), 8);
    }

    #[test]
    fn a_comparison_of_two_servers_has_a_page_of_its_own_kind() {
        let (run, judgement) = sample::versus(Verdict::Better, 0.88, 0.03);
        let page = render(&run, &sample::blocks(&judgement), &judgement);
        assert!(page.contains("B is better") && !page.contains("The article"));
    }

    #[test]
    fn columns_that_hold_nothing_are_left_out() {
        let (run, mut judgement) = sample::versus(Verdict::Better, 1.2, 0.03);
        assert!(render(&run, &sample::blocks(&judgement), &judgement).contains("Implied<small>"));
        judgement.outcome = Outcome::Throughput;
        for arm in &mut judgement.arms {
            arm.server_cpu_us_per_request = None;
            arm.implied_rps_per_cpu = None;
        }
        let page = render(&run, &sample::blocks(&judgement), &judgement);
        assert!(!page.contains("Implied<small>") && !page.contains("Of the&nbsp;floor"));
        assert!(page.contains("20\u{a0}% more throughput") && page.contains("hidden here"));
    }

    #[test]
    fn a_run_without_blocks_still_has_a_page() {
        let mut judgement = sample::judgement();
        judgement.arms.clear();
        judgement.steps.clear();
        judgement.latency.clear();
        judgement.whole = None;
        judgement.control = None;
        judgement.sequential = None;
        let page = render(&sample::run(), &[], &judgement);
        assert!(page.contains("Too little was measured") && !page.contains("<svg"));
    }
}
