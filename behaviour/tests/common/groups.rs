//! Control groups that Linerate makes for programs.

use std::process::Command;
use std::time::Duration;

/// All such groups that there are, whoever made them.
pub(crate) fn all() -> Vec<String> {
    let find = ["/sys/fs/cgroup", "-type", "d", "-name", "linerate-*-*"];
    // Groups of others may disappear while `find` looks, which it reports as a failure.
    let found = Command::new("find").args(find).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Waits until there are no groups but those in `before`.
pub(crate) fn assert_none_but(before: &[String]) {
    let all_gone = || all().iter().all(|group| before.contains(group));
    assert!(
        sys::clock::wait_until(Duration::from_secs(20), all_gone),
        "{before:?} were there before, now {:?}",
        all()
    );
}
