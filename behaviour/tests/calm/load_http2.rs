//! Every mode of a load that takes many blocks, over HTTP/2.

use crate::common::load_program::{load, parse};
use crate::load_http2::frames::serve_requests;

#[test]
fn a_search_and_a_sweep_go_over_streams() {
    let address = serve_requests(|wire, stream| wire.answer(stream));
    let url = format!("http://{address}/");
    let slo = "--http2 --streams 2 -c 2 --slo p50<10ms -d 100ms --settle 0ms --json";
    let sweep =
        "--http2 --streams 2 --sweep connections=1..2 --rounds 2 -d 60ms --settle 0ms --json";
    for arguments in [slo, sweep] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = load(&url, &arguments);
        let report = parse(&output);
        assert_eq!(
            (&report["http"], &report["streams"]),
            (&"2".into(), &2.into())
        );
        assert!(
            !report["blocks"].as_array().unwrap().is_empty(),
            "{report:#}"
        );
    }
}
