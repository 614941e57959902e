//! Request heads: what a server makes of them does not depend on how they are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::request::{Limits, parse};

/// Small, so that inputs often reach a limit.
const LIMITS: Limits = Limits {
    head_bytes: 512,
    fields: 8,
};

fuzz_target!(|input: &[u8]| {
    let whole = parse(input, LIMITS);
    if let Ok(Some((request, used))) = whole {
        assert!(used <= input.len() && used <= LIMITS.head_bytes);
        assert_eq!(parse(&input[..used], LIMITS), Ok(Some((request, used))));
        let target = input.windows(request.target.len());
        assert!(target.into_iter().any(|bytes| bytes == request.target) || request.target == b"/");
    }
    for cut in 0..input.len().min(LIMITS.head_bytes) {
        match parse(&input[..cut], LIMITS) {
            // The parser asks for more until it is sure; once sure, it does not change its mind.
            Ok(None) => {}
            sure => assert_eq!(sure, whole, "cut at {cut}"),
        }
    }
});
