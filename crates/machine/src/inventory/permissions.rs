//! What this process may do, and which settings say so.

use model::inventory::{Permissions, Setting};

use super::look::Look;

/// Bits of the effective capabilities that bear on measuring: capabilities(7).
const CAPABILITIES: [(u32, &str); 9] = [
    (12, "net_admin"),
    (13, "net_raw"),
    (14, "ipc_lock"),
    (17, "sys_rawio"),
    (19, "sys_ptrace"),
    (21, "sys_admin"),
    (23, "sys_nice"),
    (38, "perfmon"),
    (39, "bpf"),
];

/// Setting, and what its values mean, the first that the value is at most.
type Meanings = (&'static str, &'static [(i64, &'static str)]);

const SETTINGS: [Meanings; 7] = [
    (
        "kernel.perf_event_paranoid",
        &[
            (-1, "everybody may use all perf events"),
            (0, "users may count on whole CPUs, without raw tracepoints"),
            (
                1,
                "users may count their own processes, kernel part included",
            ),
            (2, "users may count the user part of their own processes"),
            (4, "perf events are for root"),
        ],
    ),
    (
        "kernel.unprivileged_bpf_disabled",
        &[
            (0, "users may load BPF programs"),
            (1, "BPF programs are for root, until the next boot"),
            (2, "BPF programs are for root"),
        ],
    ),
    (
        "kernel.kptr_restrict",
        &[
            (0, "kernel addresses are shown to who may profile it"),
            (1, "kernel addresses are for root"),
            (2, "kernel addresses are shown to nobody"),
        ],
    ),
    (
        "kernel.io_uring_disabled",
        &[
            (0, "everybody may use io_uring"),
            (1, "io_uring is for a group and for root"),
            (2, "nobody may use io_uring"),
        ],
    ),
    (
        "user.max_user_namespaces",
        &[
            (0, "no user namespaces: no rig of our own without root"),
            (i64::MAX, "user namespaces may be made"),
        ],
    ),
    (
        "kernel.yama.ptrace_scope",
        &[
            (0, "processes of a user may look into one another"),
            (1, "only parents may look into processes"),
            (3, "looking into processes is for root, or for nobody"),
        ],
    ),
    (
        "net.core.bpf_jit_enable",
        &[
            (0, "BPF programs and seccomp filters are interpreted"),
            (2, "BPF programs and seccomp filters are compiled"),
        ],
    ),
];

pub(super) fn collect(look: &Look) -> Permissions {
    let status = look
        .text("proc/self/status", "permissions")
        .unwrap_or_default();
    let after = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let user = after("Uid:").and_then(|ids| ids.split_whitespace().nth(1));
    Permissions {
        is_root: user == Some("0"),
        capabilities: capabilities(after("CapEff:").unwrap_or_default()),
        settings: SETTINGS
            .iter()
            .filter_map(|setting| read(look, setting))
            .collect(),
    }
}

fn capabilities(hexadecimal: &str) -> Vec<String> {
    let bits = u64::from_str_radix(hexadecimal.trim(), 16).unwrap_or(0);
    let held = CAPABILITIES.iter().filter(|(bit, _)| bits >> bit & 1 == 1);
    held.map(|(_, name)| (*name).to_owned()).collect()
}

fn read(look: &Look, (name, meanings): &Meanings) -> Option<Setting> {
    let value = look.text(&format!("proc/sys/{}", name.replace('.', "/")), name)?;
    let number: i64 = value.parse().ok()?;
    let meaning = meanings.iter().find(|(most, _)| number <= *most);
    Some(Setting {
        name: (*name).to_owned(),
        meaning: meaning.map_or("", |(_, meaning)| meaning).to_owned(),
        value,
    })
}
