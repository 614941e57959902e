//! Whether server and client can have CPUs of their own.

use model::finding::Finding;

use super::Subject;
use crate::cpus::{self, CpuSplit};

pub(super) fn check(_subject: &Subject) -> Option<Finding> {
    Some(match cpus::here(&model::cpus::CpuWish::default()) {
        Ok(split) => judge(&split),
        Err(error) => say!("cpus.hidden", error),
    })
}

fn judge(split: &CpuSplit) -> Finding {
    let [server, client] = [&split.server, &split.client].map(|cpus| sys::cpu::format_list(cpus));
    match split.is_shared() {
        true => say!("cpus.shared", server, client),
        false => say!("cpus.own", server, client),
    }
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

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
