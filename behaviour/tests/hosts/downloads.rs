//! A study of downloads between two machines of the hosts file.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

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
    let log = site.folder.path().join("log");
    std::fs::write(&log, "").unwrap();
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::write(
        site.folder.path().join("downloads.toml"),
        telling_hosts(&log),
    )
    .unwrap();
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
    let log = site.folder.text("log");
    let hosts_of = |role: &str| -> BTreeSet<&str> {
        log.lines()
            .filter_map(|line| line.strip_prefix(role))
            .collect()
    };
    let [servers, clients] = ["server ", "client "].map(hosts_of);
    assert!(servers.len() == 1 && clients.len() == 1, "{log}");
    assert_ne!(servers, clients, "{log}");
    for host in ["client", "server"] {
        wait_for("nothing is left", || site.at_work(host).is_empty());
    }
}

/// The smaller study of downloads. Each server and each client writes its network namespace to the
/// log.
fn telling_hosts(log: &Path) -> String {
    let mut study = smaller();
    for (role, command) in [
        ("server", "exec \"$linerate\" download files/file --quiet"),
        ("client", "exec \"$program\" load"),
        ("client", "exec \"$program\" --silent"),
    ] {
        assert!(study.contains(command), "{command}");
        let tells = format!(
            "echo {role} $(readlink /proc/self/ns/net) >>{}; {command}",
            log.display()
        );
        study = study.replace(command, &tells);
    }
    study
}
