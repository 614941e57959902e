//! Datagrams by calls for one or for many, at both ends.

use crate::built_in_studies::Smoke;

/// Datagrams in each call that takes more than one.
const MANY: f64 = 42.0;

#[test]
fn every_way_to_send_meets_every_way_to_receive_and_nothing_is_lost() {
    let study = Smoke::of("udp-batches");
    assert_eq!(study.levels("send"), ["single", "segments", "batch"]);
    assert_eq!(study.levels("receive"), ["single", "merged", "batch"]);
    for block in &study.blocks {
        let levels = study.levels_of(block);
        let value = |metric: &str| block.reading.values[metric];
        assert_eq!(value("lost"), 0.0, "{}", block.arm);
        let sent_by_one = if levels["send"] == "single" {
            1.0
        } else {
            MANY
        };
        assert_eq!(value("sent_per_call"), sent_by_one, "{}", block.arm);
        let received_by_one = match (levels["send"].as_str(), levels["receive"].as_str()) {
            ("segments", "merged") | (_, "batch") => MANY,
            _ => 1.0,
        };
        assert_eq!(value("received_per_call"), received_by_one, "{}", block.arm);
        let both = value("sender_cpu_s_per_gb") + value("receiver_cpu_s_per_gb");
        assert!(
            (both / value("cpu_s_per_gb") - 1.0).abs() < 1e-6,
            "{}",
            block.arm
        );
    }
}
