//! The report as a browser lays it out: every page at two sizes, once in light and once in dark, in
//! one headless Chromium. `cargo xtask test` installs it, and `npm ci` here brings axe-core.

mod alike;
mod devtools;
mod flame;
mod pages;
mod pictures;
mod visit;

#[path = "../../../judge/tests/built_commands/mod.rs"]
mod built_commands;
#[path = "../factorial/made_up.rs"]
mod made_up;
#[path = "../sample/mod.rs"]
mod sample;

use std::sync::LazyLock;

use alike::Pixels;
use devtools::Browser;
use flame::{Graph, Handled};
use pictures::Picture;
use visit::{DESKTOP, DESKTOP_DARK, PHONE, PHONE_DARK, Paper, Visit};

/// The pattern searched for in a flame graph.
const SEARCHED: &str = "^tcp_s";
/// The smallest letters that can be read on a telephone, CSS pixels.
const LEGIBLE_PX: f64 = 11.0;

/// Styles that break the layout, each in another way.
const BREAKS: [&str; 4] = [
    ".keys { display: block }",
    ".chart { visibility: hidden }",
    ".answer { font-size: 1.3rem }",
    ":root { --muted: var(--paper) }",
];

/// Everything that the tests check, gathered in one session of one browser.
struct Seen {
    visits: Vec<Visit>,
    pictures: Vec<Picture>,
    broken: Vec<Pixels>,
    paper: Paper,
    /// The page of a run with scripts and without.
    scripts: [Pixels; 2],
    /// A flame graph on a desktop and on a telephone.
    flames: [Handled; 2],
    flame_without_scripts: Graph,
}

static SEEN: LazyLock<Seen> = LazyLock::new(|| {
    let mut browser = Browser::start();
    // Size and colour scheme are independent, so two of the four views show what each page does in both.
    let views = [[DESKTOP, PHONE_DARK], [DESKTOP_DARK, PHONE]];
    let pages = pages::all();
    let run = &pages[0];
    let look = pages
        .iter()
        .find(|page| page.ends_with("look.html"))
        .expect("it is one of all");
    Seen {
        pictures: pictures::take_all(&mut browser, &pages),
        paper: visit::print(&mut browser, run),
        broken: BREAKS
            .map(|style| pictures::take_with_style(&mut browser, run, style))
            .to_vec(),
        scripts: [false, true].map(|off| pictures::take_without_scripts(&mut browser, run, off)),
        flames: [DESKTOP_DARK, PHONE].map(|view| flame::handle(&mut browser, look, view, SEARCHED)),
        flame_without_scripts: flame::without_scripts(&mut browser, look, DESKTOP),
        visits: pages
            .iter()
            .zip(views.iter().cycle())
            .flat_map(|(page, views)| views.map(|view| (page, view)))
            .map(|(page, view)| visit::visit(&mut browser, page, view))
            .collect(),
    }
});

/// Checks every visit for faults, and names all visits that have some.
fn on_every_page(faults: impl Fn(&Visit) -> Vec<String>) {
    let found: Vec<String> = SEEN
        .visits
        .iter()
        .flat_map(|visit| {
            faults(visit)
                .into_iter()
                .map(|fault| format!("{}: {fault}", visit.place))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_page_asks_for_its_own_file_and_nothing_else() {
    on_every_page(|visit| match visit.requests.as_slice() {
        [own] if own.contains("file:///") => vec![],
        requests => requests.to_vec(),
    });
}

#[test]
fn the_console_stays_silent() {
    on_every_page(|visit| visit.complaints.clone());
}

#[test]
fn nothing_is_wider_than_the_window() {
    on_every_page(|visit| {
        let look = &visit.look;
        let fits = look.scroll_width <= look.client_width && look.window_width == visit.view.width;
        if fits {
            return vec![];
        }
        vec![format!("{} px in {}", look.scroll_width, look.client_width)]
    });
}

#[test]
fn what_scrolls_sideways_can_be_scrolled_by_keyboard() {
    on_every_page(|visit| visit.look.unreachable.clone());
}

#[test]
fn the_keyboard_reaches_everything_that_can_be_used_and_shows_where_it_is() {
    on_every_page(|visit| {
        let reached: Vec<&String> = visit.stops.iter().map(|stop| &stop.name).collect();
        let missed = visit.look.focusable.iter();
        let missed = missed.filter(|name| !reached.contains(name));
        let unseen = visit
            .stops
            .iter()
            .filter(|stop| !stop.outlined || !stop.in_view);
        missed
            .map(|name| format!("the keyboard does not reach {name}"))
            .chain(unseen.map(|stop| format!("focus cannot be seen on {}", stop.name)))
            .collect()
    });
}

#[test]
fn axe_finds_nothing_serious() {
    on_every_page(|visit| {
        assert!(
            visit.axe.rules_passed > 10,
            "axe did not run: {}",
            visit.place
        );
        let findings = visit.axe.findings.iter();
        let serious = findings.filter(|finding| finding.impact != "minor");
        serious.map(|finding| finding.what.clone()).collect()
    });
}

#[test]
fn letters_can_be_read_on_a_telephone() {
    on_every_page(|visit| {
        let look = &visit.look;
        if look.smallest_px >= LEGIBLE_PX {
            return vec![];
        }
        vec![format!("{} px: {}", look.smallest_px, look.smallest_text)]
    });
}

#[test]
fn words_in_a_chart_do_not_collide_and_stay_within_it() {
    on_every_page(|visit| {
        let collisions = visit.look.collisions.iter();
        let leaving = visit.look.leaving.iter();
        collisions
            .map(|pair| format!("{pair} collide"))
            .chain(leaving.map(|text| format!("{text} leaves its chart")))
            .collect()
    });
}

#[test]
fn every_chart_is_named_and_described_in_words() {
    on_every_page(|visit| {
        // A look at few answers and the matrix of CPUs have one chart each.
        let has_one = ["cores", "look"]
            .iter()
            .any(|page| visit.place.starts_with(page));
        let fewest = if has_one { 1 } else { 2 };
        assert!(
            visit.look.charts >= fewest,
            "too few charts: {}",
            visit.place
        );
        vec!["a chart without title and description".to_owned(); visit.look.unnamed_charts as usize]
    });
}

#[test]
fn nothing_on_a_page_moves() {
    on_every_page(|visit| vec!["an animation".to_owned(); visit.look.moving as usize]);
}

#[test]
fn the_pictures_in_the_documents_are_of_this_page() {
    let taken_anew = std::env::var_os("TAKE_PICTURES").is_some();
    for picture in &SEEN.pictures {
        if taken_anew {
            std::fs::write(&picture.file, &picture.png).expect("docs/ can be written");
        }
        let file = picture.file.display();
        let kept = std::fs::read(&picture.file).unwrap_or_else(|error| panic!("{file}: {error}"));
        if let Some(reason) = Pixels::of(&kept).unlike(&Pixels::of(&picture.png)) {
            panic!("{file} shows another page: {reason}; `cargo xtask pictures` takes it anew");
        }
        assert!(
            kept.len() < 300_000,
            "{file} is heavy: {} bytes",
            kept.len()
        );
    }
}

#[test]
fn a_broken_layout_differs_from_the_picture_and_other_hinting_does_not() {
    let whole = Pixels::of(&SEEN.pictures[0].png);
    for (style, broken) in BREAKS.iter().zip(&SEEN.broken) {
        assert!(whole.unlike(broken).is_some(), "not told: {style}");
    }
    assert!(whole.unlike(&whole.with_a_gap(300, 4)).is_some());
    assert_eq!(whole.unlike(&whole.with_other_hinting()), None);
}

#[test]
fn a_page_looks_the_same_where_scripts_are_off() {
    let [with, without] = &SEEN.scripts;
    assert_eq!(with.unlike(without), None);
}

#[test]
fn a_flame_graph_is_searched_and_says_what_share_matches() {
    for Handled {
        drawn, searched, ..
    } in &SEEN.flames
    {
        assert!(drawn.matches.is_empty() && searched.frames == drawn.frames);
        assert!(!searched.matches.is_empty());
        assert!(
            searched
                .matches
                .iter()
                .all(|words| words.starts_with("tcp_s")),
            "{:?}",
            searched.matches
        );
        assert_ne!(searched.match_colour, drawn.match_colour);
        // `tcp_sendmsg` and all that it calls count as one part of the time, and not as one each.
        let widest = searched
            .matches
            .iter()
            .find(|words| words.starts_with("tcp_sendmsg ("));
        let share = widest.and_then(|words| words.split(": ").nth(1)?.split(',').next());
        let said = searched.said.as_deref().unwrap_or_default();
        let told = format!("{SEARCHED}: {} of the time, in ", share.unwrap_or_default());
        assert!(
            said.replace('\u{a0}', " ")
                .starts_with(&told.replace('\u{a0}', " ")),
            "{said} is not {told}"
        );
    }
}

#[test]
fn a_flame_graph_is_zoomed_into_by_pointer_and_is_whole_again() {
    for Handled {
        drawn,
        clicked,
        clicked_again,
        ..
    } in &SEEN.flames
    {
        assert!(drawn.is_whole && !clicked.is_whole && clicked_again.is_whole);
        assert!(clicked.frames < drawn.frames && clicked_again.frames == drawn.frames);
        assert_eq!(clicked.said.as_deref(), Some(drawn.narrow.as_str()));
        assert_eq!(clicked_again.widest, drawn.widest);
    }
}

#[test]
fn a_flame_graph_is_read_and_zoomed_into_by_keyboard() {
    for Handled {
        drawn,
        stepped,
        entered,
        escaped,
        ..
    } in &SEEN.flames
    {
        assert_eq!(stepped.at.len(), 1);
        assert_eq!(stepped.said.as_ref(), stepped.at.first());
        assert!(entered.widest.contains(&stepped.at[0]) && escaped.is_whole);
        assert_eq!(escaped.frames, drawn.frames);
    }
}

#[test]
fn a_flame_graph_stands_as_it_was_drawn_where_scripts_are_off() {
    let (off, on) = (&SEEN.flame_without_scripts, &SEEN.flames[0].drawn);
    assert_eq!((off.frames, &off.widest), (on.frames, &on.widest));
    assert!(off.said.is_none(), "there is a field that does nothing");
}

#[test]
fn everything_is_printed_on_paper_in_dark_letters() {
    let paper = &SEEN.paper;
    assert!(
        paper.darkest_ink < 64.0,
        "letters of level {}",
        paper.darkest_ink
    );
    assert!(paper.fits, "the page is wider than the sheet");
    assert!(
        paper.wide_charts && paper.details,
        "a chart or a list is not printed"
    );
}
