//! What a process that we start could take from us.

use std::io::Write as _;
use std::path::PathBuf;

use crate::common::Folder;
use crate::hostile::server::running::Running;

/// The file with the certificate's key and that of the tickets, as `/proc` names an open one.
const IDENTITY: &str = "/memfd:linerate-identity";

/// The descriptors of a process that lead to that file.
fn identities(pid: u32) -> Vec<PathBuf> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let is_identity = |path: &PathBuf| {
        std::fs::read_link(path).is_ok_and(|file| file.to_string_lossy().starts_with(IDENTITY))
    };
    files.filter(is_identity).collect()
}

#[test]
fn the_keys_are_open_in_no_worker_once_it_serves() {
    let folder = Folder::new("ticket-key");
    for engine in ["epoll", "uring"] {
        let flags = ["--engine", engine, "--workers", "2", "--tls-self-signed"];
        let server = Running::start(&folder, &flags);
        let workers = server.workers();
        assert_eq!(workers.len(), 2);
        for worker in workers {
            assert_eq!(identities(worker), Vec::<PathBuf>::new());
        }
    }
}

#[test]
fn nobody_can_change_the_keys_and_no_other_program_inherits_them() {
    let folder = Folder::new("ticket-key-sealed");
    let server = Running::start(&folder, &["--workers", "2", "--tls-self-signed"]);
    let found = identities(server.pid());
    assert!(!found.is_empty());
    for path in found {
        let number = path.file_name().unwrap().to_str().unwrap();
        let information = format!("/proc/{}/fdinfo/{number}", server.pid());
        let information = std::fs::read_to_string(information).unwrap();
        let mut lines = information.lines();
        let flags = lines.find_map(|line| line.strip_prefix("flags:")).unwrap();
        let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
        assert_ne!(flags & 0o2_000_000, 0, "closed on exec: {information}");
        let mut options = std::fs::File::options();
        let Ok(mut file) = options.write(true).open(&path) else {
            continue;
        };
        assert!(file.write_all(b"tickets 00").is_err());
        assert!(file.set_len(0).is_err());
    }
}
