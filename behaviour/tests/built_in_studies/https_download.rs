//! Downloads from two servers by two clients, over both schemes and one connection.

use crate::built_in_studies::{Smoke, folder};
use crate::common::assert_says;

/// Levels whose programs would take long to build or to start, and the second number of connections.
const LEFT_OUT: [&str; 5] = ["caddy", "go", "go_server", "h2o", "four"];
/// Where the kernel says whether it can make TLS records itself.
const OFFERED: &str = "/proc/sys/net/ipv4/tcp_available_ulp";

/// The shipped study without the levels in `LEFT_OUT` and the published figures about them.
pub(crate) fn smaller() -> String {
    let path = format!(
        "{}/../studies/https-download.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    let is_left_out = |block: &&str| {
        let about = |level: &&str| match block.split_once("]]\n") {
            Some(("factor.level" | "needs", rest)) => {
                rest.starts_with(&format!("name = \"{level}\"\n"))
            }
            Some(("published", rest)) => rest.contains(&format!("\"{level}\"")),
            _ => false,
        };
        LEFT_OUT.iter().any(about)
    };
    let kept: Vec<&str> = text
        .split("\n[[")
        .filter(|block| !is_left_out(block))
        .collect();
    kept.join("\n[[")
}

#[test]
fn every_pair_of_programs_downloads_by_both_schemes_and_says_what_it_costs_each() {
    let folder = folder("https-download");
    std::fs::write(folder.path().join("downloads.toml"), smaller()).unwrap();
    let study = Smoke::with(folder, "downloads.toml", &[]);
    assert_eq!(study.levels("client"), ["linerate", "curl"]);
    assert_eq!(study.levels("scheme"), ["https", "http"]);
    for block in &study.blocks {
        let value = |metric: &str| block.reading.values[metric];
        assert!(value("throughput_gbit_per_s") > 0.0, "{}", block.arm);
    }
    for side in ["server", "client"] {
        let value = |metric: &str| {
            let values = study
                .blocks
                .iter()
                .map(|block| block.reading.values[metric]);
            values.collect::<Vec<f64>>()
        };
        // In so short a window some processes may not have run at all.
        let costs = value(&format!("{side}_cpu_s_per_gb"));
        assert!(costs.iter().sum::<f64>() > 0.0, "{side}: {costs:?}");
        let busy = value(&format!("{side}_busy_percent"));
        assert!(
            busy.iter().all(|busy| (0.0..=100.0).contains(busy)),
            "{side}: {busy:?}"
        );
    }
    let by_kernel = std::fs::read_to_string(OFFERED).unwrap_or_default();
    let said = serde_json::to_string(&study.judgement.doubts).unwrap();
    if by_kernel.split_whitespace().any(|offered| offered == "tls") {
        assert_eq!(study.levels("server"), ["serve", "serve-ktls", "nginx"]);
    } else {
        assert_eq!(study.levels("server"), ["serve", "nginx"]);
        assert_says(&said, "CONFIG_TLS");
    }
    let published = study.folder.text("run/report.html");
    assert!(published.contains("Compared with the article"));
    let spoken = &study.piece("One combination").output;
    assert_says(spoken, "TLS 1.3, TLS_AES_128_GCM_SHA256");
}
