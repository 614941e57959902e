//! Whether connections wait in a queue that is too short before they are accepted.

use model::finding::Finding;

use super::Subject;

/// The kernel's default length since Linux 5.4; before, it was 128.
const USUAL: u64 = 4096;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let most = subject.tree.number("proc/sys/net/core/somaxconn");
    let netstat = subject.tree.text("proc/net/netstat").unwrap_or_default();
    Some(judge(most, overflows(&netstat)))
}

pub(super) fn judge(most: Option<u64>, overflows: Option<u64>) -> Finding {
    let Some(most) = most else {
        return say!("listen-backlog.hidden");
    };
    let overflows = overflows.unwrap_or(0);
    match overflows {
        0 if most >= USUAL => say!("listen-backlog.long", most, overflows),
        0 => say!("listen-backlog.short", most, overflows),
        _ => say!("listen-backlog.ran_over", most, overflows),
    }
}

/// Reads the column `ListenOverflows`: a line of names is followed by a line of values.
fn overflows(netstat: &str) -> Option<u64> {
    let mut lines = netstat
        .lines()
        .filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut names = names.split_whitespace();
    let at = names.position(|name| name == "ListenOverflows")?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflows_are_found_by_their_name() {
        let netstat = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 42 43\nIpExt: A\nIpExt: 9\n";
        assert_eq!(overflows(netstat), Some(42));
        for odd in [
            "",
            "TcpExt: ListenOverflows\n",
            "TcpExt: A\nTcpExt: 1\n",
            "TcpExt: A ListenOverflows\nTcpExt: 1\n",
        ] {
            assert_eq!(overflows(odd), None, "{odd}");
        }
    }
}
