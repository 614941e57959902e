//! Pages around the steps of slow start, over links of a few milliseconds.

use crate::built_in_studies::{Smoke, changed, folder};

/// Round trips that slow start takes for each of the study's sizes, from the smallest.
const FROM_TEN: [f64; 6] = [1.0, 2.0, 2.0, 3.0, 3.0, 4.0];
const FROM_THIRTY: [f64; 6] = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];

const NEAR: &str = "[[factor.level]]\nname = \"near\"\ntitle = \"near\"\nvalue = \"{near}ms\"\n";
const BBR: &str = "[[factor.level]]\nname = \"bbr\"\ntitle = \"BBR\"\n";

/// The shipped study with one round trip, which is enough for the steps, and without BBR, which not
/// every kernel has.
fn smaller() -> String {
    let text = changed("page-size", NEAR, "");
    assert!(text.contains(BBR));
    text.replace(BBR, "")
}

#[test]
fn no_page_comes_before_its_round_trips_and_each_step_is_where_it_is_predicted() {
    let folder = folder("page-size");
    std::fs::write(folder.path().join("pages.toml"), smaller()).unwrap();
    let study = Smoke::with(folder, "pages.toml", &[]);
    let pages = study.levels("page");
    for block in &study.blocks {
        let levels = study.levels_of(block);
        let page = pages.iter().position(|page| *page == levels["page"]);
        let steps = match levels["window"].as_str() {
            "ten" => FROM_TEN,
            _ => FROM_THIRTY,
        };
        let value = |metric: &str| block.reading.values[metric];
        let predicted = value("predicted_round_trips");
        assert_eq!(predicted, steps[page.unwrap()], "{}", block.arm);
        let round_trip_ms = study.run.study.sizes[&levels["rtt"]].smoke as f64;
        let response_ms = value("response_ms");
        assert!(
            response_ms >= predicted * round_trip_ms,
            "{}: {response_ms} ms",
            block.arm
        );
    }
}
