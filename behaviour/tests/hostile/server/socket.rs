//! A socket in a folder of somebody else.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::Folder;

const PATIENCE: Duration = Duration::from_secs(60);
/// Delays whichever call sets the socket's mode by 2 s: time to exchange the socket before that.
const DELAYED: &str = "inject=?chmod,?fchmodat,?fchmodat2:delay_enter=2000000";

#[test]
fn exchanging_a_new_socket_for_a_link_opens_no_other_file_to_all() {
    let folder = Folder::new("server-socket");
    let [socket, moved, victim] = ["s", "moved", "victim"].map(|name| folder.path().join(name));
    fs::write(&victim, "a word").unwrap();
    fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
    let mut command = Command::new("strace");
    // With -D the server itself is our child.
    command.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e", DELAYED]);
    command.args([crate::common::program(), "serve"]);
    command.args(["--listen", "unix:s"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.current_dir(folder.path()).spawn().unwrap();
    let is_made = || {
        let found = fs::symlink_metadata(&socket);
        found.is_ok_and(|found| found.file_type().is_socket())
    };
    let exists = sys::clock::wait_until(PATIENCE, is_made);
    if exists {
        fs::rename(&socket, &moved).unwrap();
        symlink(&victim, &socket).unwrap();
    }
    // It listens by now, or has ended.
    let said = BufReader::new(server.stdout.take().unwrap()).lines().next();
    let mode = fs::metadata(&victim).unwrap().permissions().mode();
    let _ = server.kill();
    let _ = server.wait();
    assert!(exists, "{said:?}");
    assert_eq!(mode & 0o777, 0o600);
}
