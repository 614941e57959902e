//! A load of many blocks for readers: a sweep over levels, and a search for a capacity.

pub mod capacity;
pub mod sweep;

use model::load_run::HttpVersion;

use crate::numbers;
use crate::view::{Item, Page};

/// Returns the protocol and how many requests are at once on each connection; `None` for HTTP/1.1
/// without a pipeline.
pub fn at_once(http: HttpVersion, streams: u32) -> Option<(&'static str, String)> {
    let count = numbers::whole(f64::from(streams));
    let plural = if streams == 1 { "" } else { "s" };
    match http {
        HttpVersion::Two => Some(("HTTP/2", format!("{count} stream{plural}"))),
        HttpVersion::One if streams > 1 => {
            Some(("HTTP/1.1", format!("{count} requests in a pipeline")))
        }
        HttpVersion::One => None,
    }
}

/// Describes the connections and how many requests are at once on each.
pub fn connections(connections: u32, http: HttpVersion, streams: u32) -> String {
    let connections = numbers::whole(f64::from(connections));
    match at_once(http, streams) {
        None => format!("{connections} connections"),
        Some((protocol, each)) => format!("{connections} connections of {protocol}, {each} each"),
    }
}

/// Says that a run ended early, and by what if that is known.
fn stopped(is_over: bool, by: Option<&str>, blocks: usize) -> Option<String> {
    let by = by.map_or_else(String::new, |by| format!(" by {by}"));
    (!is_over).then(|| format!("stopped{by} after {blocks} blocks"))
}

/// Adds items under a heading of their own, unless there are none.
fn add_list(page: &mut Page, heading: &str, items: Vec<String>) {
    if !items.is_empty() {
        page.paragraph(heading);
        page.add(Item::List(items));
    }
}

fn add_notes(page: &mut Page, notes: &[String]) {
    add_list(page, "Notes", notes.to_vec());
}
