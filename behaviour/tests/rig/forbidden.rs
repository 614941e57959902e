//! A machine that does not allow namespaces.

use std::io::Read as _;
use std::process::{Command, Output, Stdio};

use crate::common::refused_call::refuse;
use crate::common::{assert_says, refusal_of, refused};
use crate::rig::bench::{Bench, User};

/// Denies unshare(2) to a command, as container runtimes do.
fn without_unshare(command: &mut Command) {
    const EPERM: u16 = 1;
    const UNSHARE: u32 = if cfg!(target_arch = "x86_64") {
        272
    } else {
        97
    };
    refuse(command, UNSHARE, EPERM);
}

/// Runs `rig up` in a user namespace that has root and `nobody`, after its root set a limit to 0.
fn up_where_none_are_allowed(bench: &Bench, limit: &str, user: &str) -> Output {
    let mut keeper = Command::new("unshare")
        .args(["--user", "sh", "-c", "echo here; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut here = [0; 5];
    keeper
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut here)
        .unwrap();
    let pid = keeper.id().to_string();
    for map in ["uid_map", "gid_map"] {
        std::fs::write(format!("/proc/{pid}/{map}"), "0 0 65535").unwrap();
    }
    let state = bench.folder.path().join("state");
    let script = format!(
        "mount --bind {} /var/lib && echo 0 > /proc/sys/user/{limit} && \
         exec setpriv --reuid {user} --regid {user} --clear-groups {} rig up",
        state.display(),
        bench.program()
    );
    let output = Command::new("nsenter")
        .args(["--target", &pid, "--user", "--setuid", "0", "--setgid", "0"])
        .args(["unshare", "--mount", "sh", "-c", &script])
        .env("XDG_STATE_HOME", &state)
        .output();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    output.unwrap()
}

#[test]
fn where_a_sandbox_forbids_namespaces_the_step_and_the_errno_are_named() {
    let bench = Bench::new("sandbox", User::Ordinary);
    let mut up = bench.linerate(&["rig", "up"]);
    without_unshare(&mut up);
    let words = refusal_of(&mut up);
    assert_says(&words, "making a user namespace failed");
    assert_says(&words, "Operation not permitted (EPERM)");
    assert_says(&words, "run it as root, or have it allowed");
    assert!(bench.rigs().is_empty());
}

#[test]
fn where_a_limit_forbids_namespaces_the_limit_is_named_to_root_and_to_others() {
    crate::common::needs_root!();
    for (limit, user, uid) in [
        ("max_user_namespaces", User::Ordinary, "65534"),
        ("max_net_namespaces", User::Root, "0"),
    ] {
        let bench = Bench::new("limit", user);
        // This makes the state folder, as this user.
        bench.answer(&["rig", "up"]);
        bench.answer(&["rig", "clean"]);
        let words = refused(&up_where_none_are_allowed(&bench, limit, uid));
        assert_says(&words, "(ENOSPC)");
        assert_says(&words, limit);
        assert!(bench.rigs().is_empty(), "{user:?}");
    }
}
