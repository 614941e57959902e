//! The rate that a path carries for a while, and the one that it carries for ever.

use crate::built_in_studies::Smoke;

#[test]
fn every_path_is_measured_and_a_credit_that_is_found_ends_in_a_lower_rate() {
    let study = Smoke::of("net-credit");
    let paths = ["credit", "kernel-credit", "steady", "noisy"];
    assert_eq!(study.levels("path"), paths);
    for block in &study.blocks {
        let values = &block.reading.values;
        assert!(
            values["took_s"] > 0.0 && values["throughput"] > 0.0,
            "{}",
            block.arm
        );
        let [burst, base] = ["burst", "base"].map(|name| values.get(name));
        assert_eq!(burst.is_some(), base.is_some(), "{}", block.arm);
        assert!(burst >= base, "{}: {burst:?}, then {base:?}", block.arm);
    }
}
