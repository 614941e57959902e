//! The program as an ordinary user, whoever runs the tests.

use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::Folder;

/// The user that distributions call `nobody`; the kernel's overflow user.
const NOBODY: u32 = 65_534;

/// Copies the program by another process. A file that we ourselves had open for writing could not
/// be started for as long as a child that another test is just forking has it open too (ETXTBSY).
pub(crate) fn copy_program(to: &Path) {
    let mut copy = Command::new("cp");
    copy.args([crate::common::program().as_ref(), to]);
    assert!(copy.status().unwrap().success());
}

/// The program, to be run in a folder by a user who is not root: by `nobody` where the tests run as
/// root. It is a copy in the folder, since the build may lie where that user may not look.
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
