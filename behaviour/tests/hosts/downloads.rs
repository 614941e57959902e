//! Downloads between two machines of the hosts file, as a study and by hand.

use model::command_run::CommandBlocks;
use serde_json::Value;

use crate::built_in_studies::https_download::smaller;
use crate::common::processes::wait_for;
use crate::common::{answer, words};
use crate::hosts::site::{Host, Site};

#[test]
fn a_study_of_downloads_has_its_server_on_one_machine_and_its_clients_on_the_other() {
    crate::common::needs_root!();
    let site = Site::new("far-downloads", Host::Usual);
    std::fs::write(site.folder.path().join("downloads.toml"), smaller()).unwrap();
    let run = words("study run downloads.toml --smoke --rig hosts --yes --trust --out run");
    answer(&mut site.linerate(&run));
    let record: Value = serde_json::from_str(&site.folder.text("run/run.json")).unwrap();
    assert!(
        record["command"].as_str().unwrap().contains("--rig hosts"),
        "{record:#}"
    );
    let blocks = CommandBlocks::parse(&site.folder.text("run/blocks.jsonl")).unwrap();
    assert!(blocks.records.len() >= 16);
    for block in &blocks.records {
        assert!(
            block.reading.values["throughput_gbit_per_s"] > 0.0,
            "{}",
            block.arm
        );
    }
    for host in ["client", "server"] {
        wait_for("nothing is left", || site.at_work(host).is_empty());
    }
}
