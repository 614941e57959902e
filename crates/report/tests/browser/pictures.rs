//! The documents' pictures: taken of saved runs, and compared with those in `docs/`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::json;

use crate::alike::Pixels;
use crate::devtools::Browser;
use crate::visit::{DESKTOP, DESKTOP_DARK, PHONE, View, open};

/// Pictures by file, with the page, the view and how far down the page they reach, CSS pixels.
const KEPT: [(&str, &str, View, u32); 4] = [
    ("report.png", RUN, DESKTOP, 1310),
    ("report-dark.png", RUN, DESKTOP_DARK, 1310),
    ("report-phone.png", RUN, PHONE, 844),
    ("report-factorial.png", "factorial-run", DESKTOP, 1520),
];

/// The page of the main job.
const RUN: &str = "run";

/// Sets the fonts of Debian's fonts-liberation everywhere: with others, lines break elsewhere.
const LETTERS: &str = "for (const [kind, family] of [['sans', 'Sans'], ['serif', 'Serif'], ['mono', 'Mono']]) \
     document.documentElement.style.setProperty(`--${kind}`, `'Liberation ${family}'`)";

/// A picture of a saved run's page, and the file in which the documents have theirs.
pub(crate) struct Picture {
    pub(crate) file: PathBuf,
    pub(crate) png: Vec<u8>,
}

/// Takes every picture that the documents show.
pub(crate) fn take_all(browser: &mut Browser, pages: &[PathBuf]) -> Vec<Picture> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pictures = KEPT.iter().map(|(name, page, view, height)| {
        let is_it = |path: &&PathBuf| path.file_stem() == Some(OsStr::new(page));
        let page = pages.iter().find(is_it).expect("the page is one of all");
        open(browser, page, *view);
        browser.evaluate(LETTERS);
        Picture {
            file: docs.join(name),
            png: take(browser, *view, *height),
        }
    });
    pictures.collect()
}

/// Takes a page on a desktop after a change to its style.
pub(crate) fn take_with_style(browser: &mut Browser, page: &Path, style: &str) -> Pixels {
    open(browser, page, DESKTOP);
    browser.evaluate(LETTERS);
    let add = format!("document.head.insertAdjacentHTML('beforeend', '<style>{style}</style>')");
    browser.evaluate(&add);
    Pixels::of(&take(browser, DESKTOP, KEPT[0].3))
}

/// Takes a page on a desktop, in a browser that runs no scripts where `off` is set.
pub(crate) fn take_without_scripts(browser: &mut Browser, page: &Path, off: bool) -> Pixels {
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": off}),
    );
    open(browser, page, DESKTOP);
    let picture = Pixels::of(&take(browser, DESKTOP, 4000));
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": false}),
    );
    picture
}

fn take(browser: &mut Browser, view: View, height: u32) -> Vec<u8> {
    let clip = json!({"x": 0, "y": 0, "width": view.width, "height": height, "scale": 1});
    let parameters = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
    let answer = browser.call("Page.captureScreenshot", &parameters);
    let data = answer["data"].as_str().expect("a screenshot has data");
    let decoded = base64::prelude::BASE64_STANDARD.decode(data);
    decoded.expect("the protocol sends base64")
}
