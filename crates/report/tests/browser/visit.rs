//! One visit to a page: everything that is checked about it, gathered at once.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::devtools::Browser;

const AXE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/browser/node_modules/axe-core/axe.min.js"
);
const LOOK: &str = include_str!("look.js");
const STOP: &str = include_str!("stop.js");
const PAPER: &str = include_str!("paper.js");
const FINDINGS: &str = include_str!("axe.js");

/// The window and colour scheme in which a reader sees a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) scheme: &'static str,
}

pub(crate) const DESKTOP: View = view(1280, 800, "light");
pub(crate) const DESKTOP_DARK: View = view(1280, 800, "dark");
pub(crate) const PHONE: View = view(390, 844, "light");
pub(crate) const PHONE_DARK: View = view(390, 844, "dark");

const fn view(width: u32, height: u32, scheme: &'static str) -> View {
    View {
        width,
        height,
        scheme,
    }
}

impl View {
    pub(crate) fn is_phone(self) -> bool {
        self.width < 500
    }
}

/// What was seen of a page in one view.
pub(crate) struct Visit {
    pub(crate) place: String,
    pub(crate) view: View,
    pub(crate) requests: Vec<String>,
    pub(crate) complaints: Vec<String>,
    pub(crate) look: Look,
    pub(crate) stops: Vec<Stop>,
    pub(crate) axe: Axe,
}

/// The layout, as `look.js` measures it.
#[derive(Deserialize)]
pub(crate) struct Look {
    pub(crate) scroll_width: u32,
    pub(crate) client_width: u32,
    pub(crate) window_width: u32,
    pub(crate) smallest_px: f64,
    pub(crate) smallest_text: String,
    pub(crate) collisions: Vec<String>,
    pub(crate) leaving: Vec<String>,
    pub(crate) unreachable: Vec<String>,
    pub(crate) charts: u32,
    pub(crate) unnamed_charts: u32,
    pub(crate) focusable: Vec<String>,
    pub(crate) moving: u32,
}

/// The element to which a press of the Tab key led.
#[derive(Deserialize)]
pub(crate) struct Stop {
    pub(crate) name: String,
    pub(crate) outlined: bool,
    pub(crate) in_view: bool,
}

/// The layout for print, as `paper.js` measures it.
#[derive(Deserialize)]
pub(crate) struct Paper {
    /// The largest of the three parts of the letters' colour, 0 to 255.
    pub(crate) darkest_ink: f64,
    pub(crate) fits: bool,
    pub(crate) wide_charts: bool,
    pub(crate) details: bool,
}

/// The result of axe-core.
#[derive(Deserialize)]
pub(crate) struct Axe {
    pub(crate) rules_passed: u32,
    pub(crate) findings: Vec<Finding>,
}

/// One rule that the page breaks.
#[derive(Deserialize)]
pub(crate) struct Finding {
    pub(crate) impact: String,
    pub(crate) what: String,
}

/// Opens a page in a view and gathers what there is to check.
pub(crate) fn visit(browser: &mut Browser, page: &Path, view: View) -> Visit {
    open(browser, page, view);
    let look = evaluate(browser, LOOK);
    let axe_source = std::fs::read_to_string(AXE).unwrap_or_else(|error| {
        panic!("{AXE}: {error}; run `npm ci` in crates/report/tests/browser")
    });
    browser.evaluate(&format!("{axe_source};0"));
    let axe = evaluate(browser, FINDINGS);
    let stops = stops(browser, &look);
    Visit {
        place: format!(
            "{} at {}×{}, {}",
            page.file_name().unwrap_or_default().display(),
            view.width,
            view.height,
            view.scheme
        ),
        view,
        requests: requests(browser),
        complaints: complaints(browser),
        look,
        stops,
        axe,
    }
}

/// Opens a page and waits until it is loaded.
pub(crate) fn open(browser: &mut Browser, page: &Path, view: View) {
    let metrics = json!({
        "width": view.width, "height": view.height, "mobile": view.is_phone(),
        "deviceScaleFactor": if view.is_phone() { 2 } else { 1 },
    });
    browser.call("Emulation.setDeviceMetricsOverride", &metrics);
    let scheme = json!({"name": "prefers-color-scheme", "value": view.scheme});
    browser.call("Emulation.setEmulatedMedia", &json!({"features": [scheme]}));
    browser.forget_events();
    let address = format!("file://{}", page.display());
    browser.call("Page.navigate", &json!({"url": address}));
    browser.await_event("Page.loadEventFired");
}

/// Lays a page out for a sheet of A4 with margins of 1 cm, for a reader who prefers the dark
/// scheme.
pub(crate) fn print(browser: &mut Browser, page: &Path) -> Paper {
    open(browser, page, view(718, 1047, "dark"));
    let scheme = json!({"name": "prefers-color-scheme", "value": "dark"});
    let media = json!({"media": "print", "features": [scheme]});
    browser.call("Emulation.setEmulatedMedia", &media);
    let paper = evaluate(browser, PAPER);
    browser.call("Emulation.setEmulatedMedia", &json!({"media": "screen"}));
    paper
}

pub(crate) fn evaluate<T: serde::de::DeserializeOwned>(browser: &mut Browser, script: &str) -> T {
    serde_json::from_value(browser.evaluate(script)).expect("the script gives what the type holds")
}

/// Goes through the page by keyboard until it leads out of the page or round again.
fn stops(browser: &mut Browser, look: &Look) -> Vec<Stop> {
    let mut stops: Vec<Stop> = Vec::new();
    for _ in 0..=look.focusable.len() {
        press(browser, "Tab", 9);
        let Some(stop) = evaluate::<Option<Stop>>(browser, STOP) else {
            break;
        };
        stops.push(stop);
    }
    stops
}

pub(crate) fn press(browser: &mut Browser, name: &str, code: u32) {
    for kind in ["keyDown", "keyUp"] {
        let key = json!({"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code});
        browser.call("Input.dispatchKeyEvent", &key);
    }
}

fn requests(browser: &Browser) -> Vec<String> {
    let sent = browser.events_of("Network.requestWillBeSent");
    let sockets = browser.events_of("Network.webSocketCreated");
    sent.map(|event| event["request"]["url"].to_string())
        .chain(sockets.map(|event| event["url"].to_string()))
        .collect()
}

fn complaints(browser: &Browser) -> Vec<String> {
    let is_loud = |event: &&Value| event["type"] == "error" || event["type"] == "warning";
    let said = browser
        .events_of("Runtime.consoleAPICalled")
        .filter(is_loud);
    said.chain(browser.events_of("Runtime.exceptionThrown"))
        .chain(browser.events_of("Log.entryAdded"))
        .map(Value::to_string)
        .collect()
}
