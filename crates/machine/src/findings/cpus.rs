//! Whether server and client can have separate CPUs.

use model::finding::Finding;

use super::Subject;
use crate::cpus::{self, CpuSplit};

pub(super) fn check(_subject: &Subject) -> Option<Finding> {
    Some(match cpus::here(&model::cpus::CpuWish::default()) {
        Ok(split) => judge(&split),
        Err(error) => say!("cpus.hidden", error),
    })
}

pub(super) fn judge(split: &CpuSplit) -> Finding {
    let [server, client] = [&split.server, &split.client].map(|cpus| sys::cpu::format_list(cpus));
    match split.is_shared() {
        true => say!("cpus.shared", server, client),
        false => say!("cpus.own", server, client),
    }
}
