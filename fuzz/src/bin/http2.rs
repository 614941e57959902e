//! A client's side of HTTP/2: no bytes of a server bring it down, however they are cut, and it
//! hands out no more bytes than it received. The first byte of the input says how the rest is cut,
//! the second how many requests are sent.
#![no_main]

use fuzz::http2::hear;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [cut, count, words @ ..] = input else {
        return;
    };
    let answers = hear(*count, b"", words, usize::from(*cut).max(1));
    let body_bytes: usize = answers.iter().map(|answer| answer.body.len()).sum();
    assert!(body_bytes <= words.len());
    let mut statuses = answers.iter().filter_map(|answer| answer.status);
    assert!(statuses.all(|status| (100..1000).contains(&status)));
});
