//! Whether server and client can have CPUs of their own.

use model::finding::{Finding, Severity};

use super::{Subject, fine, unknown};
use crate::cpus::{self, CpuSplit};

const NAME: &str = "cpus";

pub(super) fn check(_subject: &Subject) -> Option<Finding> {
    Some(match cpus::here(&model::cpus::CpuWish::default()) {
        Ok(split) => judge(&split),
        Err(error) => unknown(
            NAME,
            "The CPUs that we may use cannot be seen.",
            format!("sched_getaffinity: {error}"),
        ),
    })
}

fn judge(split: &CpuSplit) -> Finding {
    let list = sys::cpu::format_list;
    let evidence = format!(
        "of the inherited affinity mask, within the quota: server {}, client {}",
        list(&split.server),
        list(&split.client)
    );
    if !split.is_shared() {
        return fine(
            NAME,
            "Server and client can have CPUs of their own.",
            evidence,
        );
    }
    Finding {
        severity: Severity::Notice,
        cost: "each takes time from the other: throughput and latency say little, CPU per request \
               still stands"
            .to_owned(),
        advice: "use a machine, or a quota, of two CPUs or more".to_owned(),
        ..fine(NAME, "Server and client must share one CPU.", evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_for_both_is_told() {
        let split = |client| cpus::CpuSplit {
            server: vec![0],
            client: vec![client],
            left_out: Vec::new(),
        };
        assert_eq!(judge(&split(1)).severity, Severity::Fine);
        let shared = judge(&split(0));
        assert_eq!(shared.severity, Severity::Notice);
        assert!(shared.evidence.ends_with("server 0, client 0"));
    }
}
