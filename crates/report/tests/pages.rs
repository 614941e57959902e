//! Writes the pages of made-up runs to files, where a person can look at them, and checks how they
//! begin and end.

use std::path::Path;

use model::Verdict;

mod sample;

/// Writes a page into the target directory and returns its text.
fn save(name: &str, page: String) -> String {
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), &page)
        .expect("cargo makes this directory for its tests");
    page
}

#[test]
fn the_text_page_is_there_to_look_at_in_three_widths() {
    for width in [40, 80, 120] {
        let page = report::text::render(&sample::run(), &sample::judgement(), width, false);
        assert!(save(&format!("ladder-{width}.txt"), page).contains("Tuned"));
    }
    let (run, judgement) = sample::versus(Verdict::Better, 0.88, 0.03);
    let page = report::text::render(&run, &judgement, 80, false);
    assert!(save("versus-80.txt", page).starts_with("B is better"));
}

#[test]
fn the_html_page_is_there_to_look_at() {
    let page = report::html::render(
        &sample::run(),
        &sample::blocks(&sample::judgement()),
        &sample::judgement(),
    );
    assert!(save("ladder.html", page).starts_with("<!doctype html>"));
    let (run, judgement) = sample::versus(Verdict::Better, 0.88, 0.03);
    let page = report::html::render(&run, &sample::blocks(&judgement), &judgement);
    assert!(save("versus.html", page).ends_with("</html>"));
}
