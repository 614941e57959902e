//! What a request says about a file: no path leads above the root, no range leads out of the file,
//! and no list of tags matches a tag that it does not hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::entity_tag::{self, Comparison};
use wire::path;
use wire::range::{self, Selection};

fuzz_target!(|input: &[u8]| {
    // Three lines: the target, the range, the tags. Lengths come from the bytes themselves.
    let mut lines = input.splitn(3, |byte| *byte == b'\n');
    resolve(lines.next().unwrap_or_default());
    let range = lines.next().unwrap_or_default();
    for length in [0, 1, 10, 1 << 40, u64::MAX] {
        select(range, length);
    }
    compare(lines.next().unwrap_or_default());
});

fn resolve(target: &[u8]) {
    let mut path = Vec::new();
    if path::resolve(target, &mut path).is_err() {
        return;
    }
    assert!(path.len() < target.len() && !path.contains(&0));
    let mut segments: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    // A folder's path ends with a slash; the root's path is empty.
    if segments.last() == Some(&&b""[..]) {
        segments.pop();
    }
    let is_plain = |segment: &&[u8]| !matches!(*segment, b"" | b"." | b"..");
    assert!(segments.iter().all(is_plain), "{path:?}");
}

fn select(range: &[u8], length: u64) {
    if let Selection::Part { first, bytes } = range::select(range, length) {
        assert!(bytes >= 1 && first < length && bytes <= length - first);
    }
}

fn compare(list: &[u8]) {
    const TAG: &[u8] = b"\"1-a\"";
    let [weak, strong] = [Comparison::Weak, Comparison::Strong]
        .map(|comparison| entity_tag::matches(list, TAG, comparison));
    assert!(weak || !strong);
    let holds_it = list.windows(TAG.len()).any(|bytes| bytes == TAG);
    assert!(!weak || holds_it || list == b"*");
}
