//! The highest rate of packets between two machines of the hosts file.

use serde_json::Value;

use crate::common::{answer, words};
use crate::hosts::site::{Host, Site};
use crate::hosts::streams::assert_nothing_is_left;

#[test]
fn the_highest_rate_between_two_machines_lies_where_blocks_held_and_others_did_not() {
    crate::common::needs_root!();
    let site = Site::new("far-search", Host::Usual);
    let search = "packets --find --size 64 --rig hosts --loss 5% --json";
    let said: Value = serde_json::from_str(&answer(&mut site.linerate(&words(search)))).unwrap();
    let highest = &said["highest"];
    let rate = |name: &str| highest[name].as_f64();
    assert!(highest["blocks"].as_u64().unwrap() > 10, "{said:#}");
    if let (Some(holds), Some(fails)) = (rate("holds_per_second"), rate("fails_per_second")) {
        assert!(holds < fails, "{said:#}");
    }
    assert!(said["lost_share"].as_f64().unwrap() <= 0.05, "{said:#}");
    assert_nothing_is_left(&site);
}
