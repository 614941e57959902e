//! Two hosts that are namespaces of a rig.

use model::run::Rig;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::processes::wait_for;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of, words};
use crate::hosts::{assert_two_hosts, blocks, write_study};

#[test]
fn a_whole_study_has_client_and_server_on_two_hosts_and_its_run_says_so() {
    let folder = Folder::new("hosts-netns");
    let run = words("study run http-json --rig netns --smoke --yes --out run");
    let page = answer(&mut linerate(&folder, &run));
    assert_says(&page, "--rig netns --smoke --seed");
    assert_two_hosts(&folder, "run", &Rig::Netns);
}

#[test]
fn the_rig_of_a_study_file_is_taken_unless_another_is_asked_for_and_they_do_not_compare() {
    crate::common::needs_root!();
    let folder = Folder::new("hosts-router");
    write_study(&folder, "rig = \"router\"", 2);
    let run = ["study", "run", "short.toml", "--smoke", "--yes", "--out"];
    answer(&mut linerate(&folder, &[&run[..], &["own"]].concat()));
    assert_two_hosts(&folder, "own", &Rig::Router);
    let other = [&run[..], &["asked", "--rig", "tunnel"]].concat();
    answer(&mut linerate(&folder, &other));
    assert_two_hosts(&folder, "asked", &Rig::Tunnel);
    let compare = ["study", "compare", "own", "asked"];
    let said = refusal_of(&mut linerate(&folder, &compare));
    assert_says(&said, "different rigs");
    assert_says(&said, "tunnel");
}

#[test]
fn an_ordinary_user_has_two_hosts_as_well() {
    let folder = Folder::new("hosts-nobody");
    write_study(&folder, "rig = \"netns\"", 2);
    let run = words("study run short.toml --smoke --yes --out run");
    answer(&mut linerate_as_nobody(&folder, &run));
    assert_two_hosts(&folder, "run", &Rig::Netns);
}

#[test]
fn a_run_that_was_killed_goes_on_in_a_rig_of_the_same_kind() {
    let folder = Folder::new("hosts-killed");
    write_study(&folder, "", 10);
    let run = words("study run short.toml --yes --rig netns --out run");
    let mut child = linerate(&folder, &run)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for("a block is saved", || {
        !folder.text("run/blocks.jsonl").is_empty() || child.try_wait().unwrap().is_some()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let before = folder.text("run/blocks.jsonl");
    let machines = ["study", "resume", "run", "--yes", "--hosts", "hosts.toml"];
    let said = refusal_of(&mut linerate(&folder, &machines));
    assert_says(&said, "the rig of this run is `netns`");
    answer(&mut linerate(&folder, &["study", "resume", "run", "--yes"]));
    let whole = before.rfind('\n').map_or(0, |end| end + 1);
    let after = folder.text("run/blocks.jsonl");
    assert!(after.starts_with(&before[..whole]), "what was saved stays");
    assert_eq!(blocks(&folder, "run").len(), 10 * 3);
    assert_two_hosts(&folder, "run", &Rig::Netns);
}
