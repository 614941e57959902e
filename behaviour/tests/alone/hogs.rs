//! A machine whose CPUs all have other work.

use crate::common::hogs::Hogs;
use crate::common::{Folder, assert_says, linerate, refusal_of};

#[test]
fn a_machine_at_work_is_not_loaded_without_a_word() {
    let folder = Folder::new("at-work");
    let _hogs = Hogs::start();
    let words = refusal_of(&mut linerate(&folder, &["--smoke"]));
    assert_says(&words, "other work uses");
    assert_says(&words, "--yes");
    assert_eq!(folder.names(""), [""; 0], "nothing is left behind");
}
