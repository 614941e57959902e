//! A hosts file that lies where its owner did not put it.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, assert_says, linerate, refusal_of};

/// Refused for its address, with the place in the file. So the refusal shows which file was read,
/// and nothing is connected to.
const HOSTS: &str =
    "[host.client]\nssh = \"a\"\n[host.server]\nssh = \"b\"\naddress = \"127.0.0.1\"\n";
const RUN: [&str; 5] = ["study", "run", "http-json", "--rig", "hosts"];
const OWN: &str = "config/linerate/hosts.toml";

/// A folder into which somebody unpacked a hosts file, with the user's own configuration below it.
fn unpacked(name: &str, has_own: bool) -> Folder {
    let folder = Folder::new(&format!("hosts-file-{name}"));
    fs::write(folder.path().join("hosts.toml"), HOSTS).unwrap();
    fs::create_dir_all(folder.path().join("config/linerate")).unwrap();
    if has_own {
        fs::write(folder.path().join(OWN), HOSTS).unwrap();
    }
    folder
}

/// The refusal of a command that reads its user's configuration in the folder.
fn refusal(mut command: Command, folder: &Folder) -> String {
    refusal_of(command.env("XDG_CONFIG_HOME", folder.path().join("config")))
}

#[test]
fn a_hosts_file_in_the_current_folder_is_not_its_owners_word_and_the_run_says_so() {
    let folder = unpacked("none", false);
    let said = refusal(linerate(&folder, &RUN), &folder);
    assert_says(&said, &format!("{OWN} does not exist"));
    assert_says(&said, "hosts.toml in this folder is not used");
    assert_says(&said, "--hosts ./hosts.toml takes it");
    assert!(!said.contains("hosts.toml:5:11"), "it was read: {said}");
}

#[test]
fn ones_own_hosts_file_goes_before_that_of_the_current_folder() {
    let folder = unpacked("own", true);
    let said = refusal(linerate(&folder, &RUN), &folder);
    assert_says(&said, &format!("{OWN}:5:11"));
    assert_says(&said, "hosts.toml in this folder is not used");
}

#[test]
fn the_file_of_the_current_folder_counts_where_it_is_given() {
    let folder = unpacked("given", true);
    let given = [&RUN[..], &["--hosts", "./hosts.toml"]].concat();
    let said = refusal(linerate(&folder, &given), &folder);
    assert_says(&said, "./hosts.toml:5:11");
    assert!(!said.contains("is not used"), "{said}");
}

/// The environment is like this after `su`, or after a `sudo` that leaves it as it is.
#[test]
fn a_hosts_file_of_another_user_to_whom_the_environment_leads_is_refused() {
    crate::common::needs_root!();
    let folder = unpacked("theirs", true);
    chown(folder.path().join(OWN), Some(12_345), None).unwrap();
    for mut command in [linerate(&folder, &RUN), linerate_as_nobody(&folder, &RUN)] {
        command.env("HOME", folder.path());
        let said = refusal(command, &folder);
        assert_says(&said, "it belongs to user 12345 and not to");
        assert_says(&said, "give it with --hosts");
    }
}
