//! Whether a server here is serving somebody beyond this machine.

use model::finding::{Finding, Severity};

use super::{Subject, counted, fine};

const NAME: &str = "served-connections";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(subject.watched.foreign_served_connections))
}

fn judge(connections: u32) -> Finding {
    if connections == 0 {
        let what = "No server here has a connection from beyond loopback.";
        return fine(NAME, what, "/proc/net/tcp, /proc/net/tcp6");
    }
    let count = counted(connections as usize, "live connection", "live connections");
    Finding {
        severity: Severity::Notice,
        cost: "loading a machine at work takes speed from those that it serves".to_owned(),
        advice: "do not load it without its owner's word; a study asks for --yes".to_owned(),
        ..fine(
            NAME,
            format!("A server here has {count} from beyond loopback."),
            "/proc/net/tcp, /proc/net/tcp6: established on a listener that is open to others",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_at_work_is_told() {
        assert_eq!(judge(0).severity, Severity::Fine);
        let one = judge(1);
        assert_eq!(
            one.what,
            "A server here has one live connection from beyond loopback."
        );
    }
}
