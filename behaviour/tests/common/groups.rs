//! Control groups that Linerate makes for programs.

use std::process::Command;
use std::time::Duration;

/// Those that there are, anybody's.
pub(crate) fn all() -> Vec<String> {
    let find = ["/sys/fs/cgroup", "-type", "d", "-name", "linerate-*-*"];
    // Groups of others may go while it looks, which it takes for a failure.
    let found = Command::new("find").args(find).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Waits until there are none but those.
pub(crate) fn assert_none_but(before: &[String]) {
    let all_gone = || all().iter().all(|group| before.contains(group));
    assert!(
        sys::clock::wait_until(Duration::from_secs(20), all_gone),
        "{before:?} were there before, now {:?}",
        all()
    );
}
