//! A flame graph as a reader uses it: searched, zoomed into by pointer and by keyboard.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use crate::devtools::Browser;
use crate::visit::{View, evaluate, open, press};

const LOOK: &str = include_str!("flame.js");
const TO_FIELD: &str = "document.querySelector('.tools input').focus()";
const TO_GRAPH: &str =
    "[...document.querySelectorAll('svg')].find(svg => svg.checkVisibility()).focus()";
const TO_NARROW: &str = "const frame = [...document.querySelectorAll('.frame')].find(frame => frame.getBoundingClientRect().width); \
     frame.scrollIntoView({block: 'end'}); 0";

/// What a graph shows, as `flame.js` reads it.
#[derive(Clone, Deserialize)]
pub(crate) struct Graph {
    pub(crate) frames: usize,
    pub(crate) matches: Vec<String>,
    pub(crate) match_colour: String,
    /// What the page says about the graph; `None` where it has no place for that.
    pub(crate) said: Option<String>,
    pub(crate) is_whole: bool,
    /// Frames as wide as the graph.
    pub(crate) widest: Vec<String>,
    pub(crate) at: Vec<String>,
    /// A frame that is less than half as wide; the next field is its place on the screen.
    pub(crate) narrow: String,
    pub(crate) narrow_at: [f64; 2],
}

/// A graph after each thing that a reader does to it.
pub(crate) struct Handled {
    pub(crate) drawn: Graph,
    pub(crate) searched: Graph,
    pub(crate) clicked: Graph,
    pub(crate) clicked_again: Graph,
    pub(crate) stepped: Graph,
    pub(crate) entered: Graph,
    pub(crate) escaped: Graph,
}

/// Opens a page and handles its first graph.
pub(crate) fn handle(browser: &mut Browser, page: &Path, view: View, words: &str) -> Handled {
    open(browser, page, view);
    browser.evaluate(TO_NARROW);
    let drawn = look(browser);
    click(browser, drawn.narrow_at);
    let clicked = look(browser);
    let same = clicked.widest.iter().position(|it| *it == drawn.narrow);
    assert!(same.is_some(), "{} is not zoomed into", drawn.narrow);
    browser.evaluate("document.querySelector('.tools button').click()");
    let clicked_again = look(browser);
    browser.evaluate(TO_FIELD);
    browser.call("Input.insertText", &json!({"text": words}));
    let searched = look(browser);
    browser.evaluate(TO_GRAPH);
    (0..3).for_each(|_| press(browser, "ArrowUp", 38));
    let stepped = look(browser);
    press(browser, "Enter", 13);
    let entered = look(browser);
    press(browser, "Escape", 27);
    let escaped = look(browser);
    Handled {
        drawn,
        searched,
        clicked,
        clicked_again,
        stepped,
        entered,
        escaped,
    }
}

/// A graph in a browser that runs no scripts.
pub(crate) fn without_scripts(browser: &mut Browser, page: &Path, view: View) -> Graph {
    let off = |browser: &mut Browser, value: bool| {
        browser.call(
            "Emulation.setScriptExecutionDisabled",
            &json!({"value": value}),
        );
    };
    off(browser, true);
    open(browser, page, view);
    off(browser, false);
    look(browser)
}

fn look(browser: &mut Browser) -> Graph {
    evaluate(browser, LOOK)
}

fn click(browser: &mut Browser, [x, y]: [f64; 2]) {
    for kind in ["mousePressed", "mouseReleased"] {
        let click = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
        browser.call("Input.dispatchMouseEvent", &click);
    }
}
