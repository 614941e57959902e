//! One flow or many, over paths that limit each of them.

use crate::built_in_studies::Smoke;

#[test]
fn flows_that_are_paced_carry_no_more_than_their_pace_each() {
    const PACE_GBIT: f64 = 0.5;
    let study = Smoke::of("flows");
    assert_eq!(study.levels("path"), ["free", "paced", "lossy"]);
    for block in &study.blocks {
        let levels = study.levels_of(block);
        let throughput = block.reading.values["throughput"];
        assert!(throughput > 0.0, "{}", block.arm);
        let flows = match levels["flows"].as_str() {
            "one" => 1.0,
            "two" => 2.0,
            "four" => 4.0,
            _ => 8.0,
        };
        // The throughput includes what was in the buffers when the pace began.
        let is_held = throughput < 1.2 * PACE_GBIT * flows;
        assert!(is_held || levels["path"] != "paced", "{throughput}");
    }
}
