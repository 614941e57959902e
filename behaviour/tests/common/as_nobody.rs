//! The program as an ordinary user, whoever runs the tests.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Folder;

/// As distributions call it; the kernel's overflow user.
const NOBODY: u32 = 65_534;

/// Copies the program by another process: a file that we had open to write could not be started for
/// as long as a child that another test is just forking has it open too (ETXTBSY).
pub(crate) fn copy_program(to: &Path) {
    let mut copy = Command::new("cp");
    copy.args([crate::common::program().as_ref(), to]);
    assert!(copy.status().unwrap().success());
}

/// The program, to be run in a folder by a user who is not root: `nobody` where the tests run as
/// root, and then from a copy in the folder, since the build may lie where nobody may look.
pub(crate) fn linerate_as_nobody(folder: &Folder, arguments: &[&str]) -> Command {
    let path = folder.path();
    let program = path.join("linerate");
    if !program.exists() {
        copy_program(&program);
    }
    let mut command = Command::new(&program);
    command
        .args(arguments)
        .current_dir(path)
        .stdin(Stdio::null());
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}
