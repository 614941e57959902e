//! Sockets that get a copy of every packet, and who holds them.

use model::finding::Finding;

use super::{Subject, counted};
use crate::errno::denied;
use crate::{packet_list, targets};

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(match subject.tree.try_text("proc/net/packet") {
        Ok(text) => {
            let taps = packet_list::parse(&text);
            let wide = taps.into_iter().filter(|tap| tap.sees_every_protocol());
            let inodes: Vec<_> = wide.map(|tap| tap.inode).collect();
            judge(&inodes, &holders(subject, &inodes))
        }
        Err(error) => {
            let refused = denied("/proc/net/packet", &error);
            say!("packet-taps.hidden", refused)
        }
    })
}

pub(super) fn judge(inodes: &[u64], holders: &str) -> Finding {
    let sockets = counted(inodes.len(), "socket", "sockets");
    match inodes {
        [] => say!("packet-taps.none"),
        _ => say!("packet-taps.held", sockets, holders),
    }
}

/// The processes that hold the sockets, by command name and process number.
fn holders(subject: &Subject, inodes: &[u64]) -> String {
    if inodes.is_empty() {
        return String::new();
    }
    let (pids, hidden) = targets::holders(&targets::links(inodes));
    let names: Vec<_> = pids.iter().map(|pid| named(subject, *pid)).collect();
    match (names.is_empty(), hidden) {
        (false, _) => names.join(", "),
        (true, 0) => "no process that can be seen".to_owned(),
        (true, _) => "a process of another user (EACCES)".to_owned(),
    }
}

fn named(subject: &Subject, pid: u32) -> String {
    let comm = subject.tree.text(&format!("proc/{pid}/comm"));
    format!("{} (pid {pid})", comm.unwrap_or_else(|| "?".to_owned()))
}
