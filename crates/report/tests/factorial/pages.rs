//! What must hold of the pages of factorial runs, whatever they show.

use std::path::Path;

use model::Verdict;
use unicode_width::UnicodeWidthStr as _;

use crate::made_up::{self, MadeUp};
use crate::says;

const PLANTED: &str = "<script>alert(1)</script>\"><img src=x>";

fn all() -> [(&'static str, MadeUp); 4] {
    [
        ("strength", made_up::strength()),
        ("settings", made_up::settings([30.0, 29.8, 35.0, 0.6])),
        ("benchmarks", made_up::benchmarks()),
        ("sizes", made_up::sizes()),
    ]
}

#[test]
fn the_pages_are_there_to_look_at() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, made) in all() {
        let page = made.page();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>"));
        std::fs::write(folder.join(format!("factorial-{name}.html")), page).unwrap();
        let text = made.text(100);
        std::fs::write(folder.join(format!("factorial-{name}.txt")), text).unwrap();
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_figure_is_lost() {
    for width in [20, 40, 60, 80, 100] {
        for (name, made) in all() {
            let text = made.text(width);
            let widest = text.lines().map(|line| line.width()).max().unwrap();
            assert!(widest <= width, "{name} at {width}:\n{text}");
        }
        let text: String = made_up::strength().text(width).split_whitespace().collect();
        for figure in ["2.32times(", "GCC12.2.0", "406µs", "peakmemory"] {
            assert!(text.contains(figure), "{figure} at {width}");
        }
    }
}

#[test]
fn nothing_from_a_study_or_a_program_becomes_markup_or_steers_the_terminal() {
    let page = made_up::titled(PLANTED).page();
    assert!(page.contains("&lt;script&gt;"));
    assert!(!page.contains("<script") && !page.contains("<img"));
    let text = made_up::titled("evil\u{1b}[2J\u{7}title").text(80);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
}

#[test]
fn strips_of_runs_are_labelled_by_level_and_name_the_cell_that_they_share_once() {
    let page = made_up::strength().page();
    let chart = page.split("id=\"series\"").nth(1).unwrap();
    let chart = chart.split("</svg>").next().unwrap();
    assert_eq!(chart.matches("GCC, -O0").count(), 1, "{chart}");
    says(chart, "GCC, -O0; each as a change in %");
}

#[test]
fn a_page_has_the_contrasts_and_curves_where_levels_are_numbers() {
    let charts = |made: &MadeUp, name: &str| made.page().contains(&format!("id=\"{name}-wide"));
    let [strength, settings, benchmarks, sizes] = all().map(|(_, made)| made);
    for made in [&strength, &settings, &benchmarks, &sizes] {
        assert!(charts(made, "ratios") && charts(made, "series"));
    }
    assert!(charts(&sizes, "curves") && !charts(&strength, "curves"));
    says(&sizes.page(), ": predicted 1");
    says(&strength.page(), "published 2.48 times");
    let mean = page_position(&benchmarks, "geometric mean, benchmarks: 3.11");
    assert!(
        mean < page_position(
            &benchmarks,
            "3.11 against 3.10: coverage 4.25 times, published 4.21 times, chaos"
        )
    );
}

fn page_position(made: &MadeUp, words: &str) -> usize {
    let page = made.page();
    page.find(words)
        .unwrap_or_else(|| panic!("{words} is not in {page}"))
}

#[test]
fn a_page_has_the_listings_folded_the_versions_and_the_command() {
    let page = made_up::strength().page();
    for part in [
        "<summary>The inner loop of A, gcc -O2</summary>",
        "mulpd",
        "4 lines contain “mulpd”; 12 more lines are left out here",
        "GCC 12.2.0",
        "Timed: <code>true</code>",
        "What may mislead",
        "linerate study report .",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn marks_without_a_verdict_are_hollow() {
    let mut made = made_up::strength();
    assert!(!made.page().contains("without a verdict"));
    for found in &mut made.judgement.contrasts {
        found.verdict = model::Verdict::Invalid;
    }
    assert!(made.page().contains("without a verdict"));
}

#[test]
fn figures_at_the_top_are_those_that_a_verdict_was_called_on_with_their_cells() {
    let key = |made: &MadeUp, words: &str| {
        let page = made.page();
        let keys = page.split("</header>").next().unwrap().to_owned();
        keys.contains(words)
    };
    let mut mean = made_up::benchmarks();
    let mut both = made_up::settings([30.0, 29.8, 35.0, 0.6]);
    let together = "Untracked cache and File system monitor together";
    assert!(key(&mean, "geometric mean of 3.11 against 3.10"));
    assert!(key(&both, together));
    for found in &mut mean.judgement.means {
        found.verdict = model::Verdict::Invalid;
    }
    both.judgement.interactions[0].square.both.verdict = model::Verdict::Inconclusive;
    assert!(!key(&mean, "geometric mean of"));
    assert!(!key(&both, together));
}

#[test]
fn the_design_tells_of_the_levels_that_were_run_and_of_rounds_that_were_done() {
    let run = made_up::versions();
    assert!(
        MadeUp::of(run.clone(), 0.01, |_| 1.0, |_| ())
            .page()
            .contains("compiler (2) × options (3) × version (2)")
    );
    let mut fewer = run;
    fewer.arms.retain(|arm| !arm.name.starts_with("clang"));
    let mut made = MadeUp::of(fewer, 0.01, |_| 1.0, |_| ());
    made.judgement.rounds_done = 12;
    let page = made.page();
    says(&page, "compiler (1 of 2) × options (3) × version (2)");
    says(&page, "in each of 12 rounds");
    says(&page, "They ran as an ordinary user");
    assert!(
        !page.contains("already running"),
        "there are no targets: {page}"
    );
}

#[test]
fn a_published_ratio_stands_beside_the_one_that_was_measured_drawn_and_in_words() {
    let made = made_up::benchmarks();
    let text: String = made.text(200);
    let line = |words: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(words));
        line.unwrap_or_else(|| panic!("{words} is not in {text}"))
            .to_owned()
    };
    let mean = line("3.11 against 3.10");
    says(&mean, "−20.0 %");
    says(&mean, "+1");
    let one = line("3.11 against 3.10,");
    says(&one, "4.21 times");
    says(&one, "4.2");
    let none = line("3.12 against 3.10,");
    assert!(
        none.contains("−50.0 %") && !none.contains(" times"),
        "{none}"
    );
    let page = made.page();
    assert!(page.contains("Diamonds are the article’s ratios"));
    // The wide and the narrow chart each state a ratio once: that of the mean only beside the mean.
    for words in ["published −20.0 %", "published 4.21 times"] {
        assert_eq!(page.matches(words).count(), 2, "{words}: {page}");
    }
}

#[test]
fn a_published_ratio_of_two_levels_stands_beside_one_derived_from_their_ratios_to_a_third() {
    let mut made = made_up::benchmarks();
    let of_newest = [("python", "newest"), ("benchmark", "coverage")];
    for of in [&of_newest[..1], &of_newest] {
        let figure = made_up::published_ratio(of, "new", 0.77);
        made.run.study.published.push(figure);
    }
    let text = made.text(200);
    let here = |words: &str| {
        let line = text.lines().find(|line| line.starts_with(words));
        let line = line.unwrap_or_else(|| panic!("{words}: {text}"));
        let (_, here) = line.split_once("−23.0 %").unwrap();
        here.split_once(" %").unwrap().0.trim().to_owned()
    };
    // The mean of 0.72 ÷ 0.78 three times and 2.2 ÷ 4.21; then 2.2 ÷ 4.21 alone.
    assert_eq!(here("3.12 against 3.11  "), "−20.0", "{text}");
    assert_eq!(here("3.12 against 3.11, "), "−48.3", "{text}");
}

#[test]
fn a_claim_is_confirmed_contradicted_or_not_told_by_the_whole_interval() {
    let mut made = made_up::benchmarks();
    let coverage = [("python", "new"), ("benchmark", "coverage")];
    let absent = [("python", "newest"), ("benchmark", "absent")];
    for (of, within, is_valid, says) in [
        (&coverage, [4.0, 4.4], true, "confirmed"),
        (&coverage, [1.0, 2.0], true, "contradicted"),
        (&coverage, [0.5, 4.21], true, "cannot tell"),
        (&absent, [0.1, 9.0], true, "not measured"),
        (&coverage, [4.0, 4.4], false, "cannot tell"),
    ] {
        let mut figure = made_up::published_ratio(of, "old", 4.2);
        [figure.at_least, figure.at_most] = within.map(Some);
        made.run.study.published = vec![figure];
        if !is_valid {
            let contrasts = made.judgement.contrasts.iter_mut();
            contrasts.for_each(|found| found.verdict = Verdict::Invalid);
        }
        let text = made.text(200);
        let begins = ["3.11 against 3.10,", "3.12 against 3.10,"];
        let mut lines = text.lines().filter(|line| line.contains("another"));
        let line = lines.find(|line| begins.iter().any(|words| line.starts_with(words)));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(says), "{within:?}: {line}");
    }
}

#[test]
fn short_evidence_is_open_on_the_page_and_long_evidence_folded() {
    let mut made = made_up::strength();
    assert!(made.page().contains("<details>\n<summary>The inner loop"));
    made.evidence.pieces[0].lines_left_out = 0;
    assert!(
        made.page()
            .contains("<details open>\n<summary>The inner loop")
    );
}

#[test]
fn a_run_without_blocks_still_has_pages() {
    let made = MadeUp::of(made_up::versions(), 0.0, |_| 1.0, |_| ());
    let judgement = judge::judge_commands(&made.run, &[]);
    let made = MadeUp {
        blocks: vec![],
        judgement,
        ..made
    };
    assert!(!made.page().contains("<svg"));
    assert!(made.answer().contains("No verdict"), "{}", made.answer());
}

#[test]
fn short_evidence_stands_on_the_terminal_and_long_evidence_only_in_the_report() {
    let mut made = made_up::strength();
    assert!(!made.text(80).contains("cvtdq2pd"));
    assert!(made.page().contains("cvtdq2pd"));
    made.evidence.pieces[0].lines_left_out = 0;
    assert!(made.text(80).contains("cvtdq2pd"));
}
