//! A download serves a file for a moment, and other users of the machine can reach its server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, assert_says, errors, linerate, refusal_of};

const DOWNLOAD: [&str; 6] = [
    "download",
    "file",
    "--settle",
    "20ms",
    "--duration",
    "100ms",
];

/// Exit code and standard error of a download of the file by a user who is not root.
fn said(folder: &Folder) -> (Option<i32>, String) {
    let output = linerate_as_nobody(folder, &DOWNLOAD).output().unwrap();
    (output.status.code(), errors(&output))
}

#[test]
fn what_is_closed_to_others_is_not_opened_to_them_by_a_download_of_a_file_beside_it() {
    let folder = Folder::new("file-server");
    let (secret, below) = (folder.path().join("secret"), folder.path().join("below"));
    fs::write(folder.path().join("file"), vec![7; 1 << 20]).unwrap();
    fs::create_dir(&below).unwrap();
    let (code, words) = said(&folder);
    assert_eq!(code, Some(0), "{words}");
    for secret in [&secret, &below.join("secret")] {
        fs::write(secret, "hunter2").unwrap();
        fs::set_permissions(secret, fs::Permissions::from_mode(0o600)).unwrap();
        let (code, words) = said(&folder);
        assert_eq!(code, Some(2), "{words}");
        assert_says(&words, secret.to_str().unwrap());
        fs::remove_file(secret).unwrap();
    }
    // A home folder that nobody else may enter.
    fs::write(&secret, "hunter2").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let (code, words) = said(&folder);
    assert_eq!(code, Some(2), "{words}");
    assert_says(&words, "into a folder of its own");
}

#[test]
fn the_name_of_a_folder_is_no_configuration_of_a_server() {
    let folder = Folder::new("named-root");
    let below = folder
        .path()
        .join("x\"; } } server { listen 0.0.0.0:9911; root ");
    fs::create_dir(&below).unwrap();
    fs::write(below.join("file"), vec![7; 1 << 20]).unwrap();
    for server in ["nginx", "caddy", "h2o"] {
        let mut download = linerate(&folder, &[&DOWNLOAD[..], &["--server", server]].concat());
        let words = refusal_of(download.current_dir(&below));
        assert_says(&words, "among the words of its configuration");
    }
}
