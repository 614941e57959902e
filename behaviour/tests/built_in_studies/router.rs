//! What a router costs, by what it does with a packet.

use crate::built_in_studies::{
    Smoke, assert_a_killed_run_leaves_no_process, at_work_in, folder, smoke, without_levels,
};
use crate::common::assert_says;

#[test]
fn every_path_forwards_and_what_the_kernel_lacks_is_named() {
    let folder = folder("router");
    let text = without_levels("router", &["udp-512", "udp-1448", "tcp-pieces"]);
    std::fs::write(folder.path().join("routers.toml"), text).unwrap();
    let study = Smoke::with(folder, "routers.toml", &[]);
    let paths = study.levels("path");
    let ours = ["direct", "bridged", "routed", "tracked", "exempt", "nat"];
    assert_eq!(paths[..6], ours);
    if paths.len() == 6 {
        let said = serde_json::to_string(&study.judgement.doubts).unwrap();
        assert_says(&said, "this kernel has no flow tables");
    }
    for block in &study.blocks {
        let values = &block.reading.values;
        for metric in [
            "cpu_us_per_packet",
            "packets_per_s",
            "throughput_gbit_per_s",
        ] {
            assert!(values[metric] > 0.0, "{} {metric}", block.arm);
        }
        // TCP sends lost packets again, and so has no loss to report.
        let is_tcp = study.levels_of(block)["traffic"] == "tcp";
        assert_eq!(values.contains_key("lost_percent"), !is_tcp);
    }
    let temporary = study.folder.path().join("temporary");
    assert_eq!(at_work_in(&temporary), [""; 0]);
}

#[test]
fn a_run_of_routers_that_is_killed_leaves_no_namespace_behind() {
    let folder = folder("router-killed");
    let mut command = smoke(&folder, "router");
    assert_a_killed_run_leaves_no_process(&mut command, &folder, "stream");
}
