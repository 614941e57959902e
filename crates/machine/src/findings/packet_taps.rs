//! Sockets that are shown every packet, and who holds them.

use model::finding::Finding;

use super::{Subject, costly, counted, fine, unknown};
use crate::errno::denied;
use crate::{packet_list, targets};

const NAME: &str = "packet-taps";
const FILE: &str = "proc/net/packet";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(match subject.tree.try_text(FILE) {
        Ok(text) => {
            let taps = packet_list::parse(&text);
            let wide = taps.into_iter().filter(|tap| tap.sees_every_protocol());
            let inodes: Vec<_> = wide.map(|tap| tap.inode).collect();
            judge(&inodes, &holders(subject, &inodes))
        }
        Err(error) => unknown(
            NAME,
            "Packet taps cannot be listed.",
            denied("/proc/net/packet", &error),
        ),
    })
}

fn judge(inodes: &[u64], holders: &str) -> Finding {
    if inodes.is_empty() {
        let what = "No socket is shown every packet of this network namespace.";
        return fine(NAME, what, "/proc/net/packet lists none for all protocols");
    }
    let sockets = counted(inodes.len(), "socket", "sockets");
    costly(
        "packet-taps",
        NAME,
        format!("Every packet is copied for {sockets}."),
        format!("/proc/net/packet, protocol 0003; held by {holders}"),
    )
}

/// The processes that hold the sockets, by command name and number.
fn holders(subject: &Subject, inodes: &[u64]) -> String {
    if inodes.is_empty() {
        return String::new();
    }
    let links: Vec<_> = inodes
        .iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let (pids, hidden) = targets::holders(&links);
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

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    #[test]
    fn a_tap_costs_and_names_its_holder() {
        let finding = judge(&[7], "dhclient (pid 411)");
        assert_eq!(finding.severity, Severity::Notice);
        assert_eq!(finding.what, "Every packet is copied for one socket.");
        assert!(finding.evidence.contains("dhclient (pid 411)"));
        assert_eq!(
            judge(&[7, 8], "").what,
            "Every packet is copied for 2 sockets."
        );
    }

    #[test]
    fn without_taps_all_is_fine() {
        assert_eq!(judge(&[], "").severity, Severity::Fine);
    }
}
