//! The page for a browser: one file that opens offline and loads nothing.

pub(crate) mod common;
mod facts;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, HtmlEscape};
use model::bench::{BenchReport, SavedBench};
use model::command_run::{CommandBlock, CommandRun, Evidence};
use model::explanation::SavedLook;
use model::judgement::FactorialJudgement;
use model::load_run::SavedLoad;
use model::{BlockRecord, Explanation, Judgement, RunRecord};

use crate::factorial::{self, View};
use crate::streams::{self, StreamsSeen};
use crate::view::Page;
use crate::{bench, explain, numbers, sentences, servers};
use common::{Common, Method};

const TEMPLATE: &str = include_str!("../../templates/page.html");
const SERVER_TERMS: &str = "The implied rate is 1 s divided by the server CPU per request: what one server CPU could carry if \
     it did nothing else. It was not measured. The floor is the same load on a bare echo over the same \
     sockets and bytes, without HTTP.";
const WATCHED_TERMS: &str = "A kB carried is 1,000 bytes of payload that connections to the server carried in either direction, by the \
     kernel's own count of each connection. It is not a request: how much a request carries is up to the clients, and differs \
     from one to the other. The whole machine's CPU time includes that of clients on this machine.";
const COMMAND_TERMS: &str = "Every combination of levels is an arm, and a cell holds the arms that differ in the compared \
     factor alone. The control is the first arm once more, run under another name.";
const BENCH_TERMS: &str = "CPU time is user and system time of a command and of the children that it waited for, and peak \
     memory is the largest of any one of these processes.";
const LOAD_TERMS: &str = "In closed loop a connection sends its next request when the answer to the last is in; in open loop \
     requests are due on a schedule, and the response time runs from when a request was due.";
const LOOK_TERMS: &str = "A share is the share of moments at which this was found. The gain is what is possible if only the rest of the \
     time remains, until the next limit is met.";
const STREAM_TERMS: &str = "A plateau is a rate that holds for a part of the test. Credit is spent above the base rate and earned \
     below it, as in a token bucket; whether the bucket was full at the beginning is not known.";
pub(crate) const STYLE: &str = include_str!("../../templates/style.css");

/// Renders a judged run as one self-contained HTML file.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
pub fn render(run: &RunRecord, blocks: &[BlockRecord], judgement: &Judgement) -> String {
    let study = &run.study;
    let method = Method {
        title: &study.title,
        study: &study.name,
        question: &study.question,
        method: &study.method,
        pitfalls: &study.pitfalls,
        workload: servers::workload(run),
        rig: sentences::capitalised(&sentences::hosts_and_link(run)),
        terms: match run.is_watched() {
            true => WATCHED_TERMS.to_owned(),
            false => SERVER_TERMS.to_owned(),
        },
    };
    let view = servers::view(run, blocks, judgement);
    laid_out(&Common::of(run, method, view, STYLE))
}

/// Renders a judged run of commands and the evidence that it gathered as one HTML file.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
pub fn render_factorial(
    run: &CommandRun,
    blocks: &[CommandBlock],
    judgement: &FactorialJudgement,
    evidence: &Evidence,
) -> String {
    let (study, view) = (&run.study, View { run, judgement });
    let method = Method {
        title: &study.title,
        study: &study.name,
        question: &study.question,
        method: &study.method,
        pitfalls: &study.pitfalls,
        workload: factorial::workload(view),
        // Which other hosts take part is the commands' own affair.
        rig: "They ran as an ordinary user, on the machine described below".to_owned(),
        terms: format!("{} {COMMAND_TERMS}", factorial::design(view)),
    };
    let mut page = factorial::page(view, blocks, evidence);
    page.doubts.extend(evidence.doubts.iter().cloned());
    laid_out(&Common::of(run, method, page, STYLE))
}

/// Renders a judged comparison of commands as one HTML file.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
pub fn render_bench(run: &SavedBench, report: &BenchReport) -> String {
    let method = Method {
        title: "Commands side by side",
        study: "bench",
        question: "Which command is faster, and what does each use?",
        method: "Every command ran once a round, in random order, the first one twice: its second run is \
                 the control.",
        pitfalls: &[],
        workload: "Wall time runs from exec to the end of the process".to_owned(),
        rig: "They ran as the user who asked, on the machine described below".to_owned(),
        terms: BENCH_TERMS.to_owned(),
    };
    laid_out(&Common::of(run, method, bench::view(report), STYLE))
}

/// Renders what holds a program back as one HTML file.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
pub fn render_look(look: &SavedLook, explanation: &Explanation) -> String {
    let target = &look.study.target;
    let method = Method {
        title: "What holds it back",
        study: "explain",
        question: &format!("What holds {target} back?"),
        method: "At random moments it was observed who had a request and what the program did; each part of a request's \
                 time is in one account. The suspected limiter was hindered at alternate times, where that can be \
                 done.",
        pitfalls: &[],
        workload: match look.study.observation.load {
            Some(load) => format!(
                "Linerate's own load over {} connections, in closed loop",
                load.connections
            ),
            None => "What it did by itself, without load of ours".to_owned(),
        },
        rig: "It ran on the machine described below".to_owned(),
        terms: LOOK_TERMS.to_owned(),
    };
    laid_out(&Common::of(
        look,
        method,
        explain::view(look, explanation),
        STYLE,
    ))
}

/// Renders a test of streams as one HTML file.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
pub fn render_streams(seen: StreamsSeen<'_>) -> String {
    let method = Method {
        title: "What a path carries",
        study: "stream",
        question: "How much does the path carry for a while, and how much in the long run?",
        method: "As much was sent as the path takes. The series of intervals is cut into plateaus by least squares of the \
                 logarithms.",
        pitfalls: &[],
        workload: format!("Streams with the server on {}", seen.run.study.target),
        rig: "The client ran on the machine described below".to_owned(),
        terms: STREAM_TERMS.to_owned(),
    };
    laid_out(&Common::of(seen.run, method, streams::view(seen), STYLE))
}

/// Renders a load of many blocks as one HTML file.
pub(crate) fn render_load(run: &SavedLoad, question: &str, method: &str, view: Page) -> String {
    let method = Method {
        title: &run.study.target,
        study: "load",
        question,
        method,
        pitfalls: &[],
        workload: format!("Requests to {}", run.study.address),
        rig: "The client ran on the machine described below".to_owned(),
        terms: LOAD_TERMS.to_owned(),
    };
    laid_out(&Common::of(run, method, view, STYLE))
}

/// Fills the template. A character that reverses the order of letters would reverse that of the
/// page, so it is shown as `\uXXXX`.
fn laid_out(page: &Common<'_>) -> String {
    let mut templates = Environment::new();
    templates.add_filter("glued", |text: &str| numbers::glued(text));
    templates.add_filter("capitalised", |text: &str| sentences::capitalised(text));
    templates.add_filter("spoken", spoken);
    templates.add_filter("prose", prose);
    // The template engine escapes all values because the name ends in `.html`.
    let page = templates
        .render_named_str("page.html", TEMPLATE, Serde(page))
        .expect("the template is compiled in and a test renders it");
    foreign::shown(&page).into_owned()
}

/// Glues text that is read and not copied: a hyphen stays with the word that it begins, as in
/// `-O3`.
fn spoken(text: &str) -> String {
    let glued = numbers::glued(text);
    glued
        .replace(" -", " -\u{2060}")
        .replace("(-", "(-\u{2060}")
}

/// Escapes a text, and sets what stands between backticks as code.
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

    /// Only an `<a href>` may hold an address; `http-json` and `http-equiv` are not addresses.
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
            "Diamonds are the published gains.",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<svg").count(), 6);
    }

    #[test]
    fn a_comparison_of_two_servers_has_a_page_of_its_own_kind() {
        let (run, judgement) = sample::versus(Verdict::Better, 0.88, 0.03);
        let page = render(&run, &sample::blocks(&judgement), &judgement);
        assert!(page.contains("B is better") && !page.contains("The article"));
        assert!(!page.contains("Diamonds"));
    }

    #[test]
    fn columns_that_hold_nothing_are_left_out() {
        let (run, mut judgement) = sample::versus(Verdict::Better, 1.2, 0.03);
        assert!(render(&run, &sample::blocks(&judgement), &judgement).contains("Implied requests"));
        judgement.outcome = Outcome::Throughput;
        for arm in &mut judgement.arms {
            arm.server_cpu_us_per_request = None;
            arm.implied_rps_per_cpu = None;
        }
        let page = render(&run, &sample::blocks(&judgement), &judgement);
        assert!(!page.contains("Implied requests") && !page.contains("Of the&nbsp;floor"));
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
        judgement.rounds_done = 0;
        let page = render(&sample::run(), &[], &judgement);
        assert!(page.contains("Too little was measured") && !page.contains("<svg"));
    }
}
