//! A hostile service beside another one, both started by root.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
use std::path::Path;
use std::process::Command;

use super::lab::{Lab, STRANGER, all_said, as_user};
use crate::common::assert_says;

const NOBODY: u32 = 65_534;

/// A service that does nothing, with a file and a cache.
fn idle(name: &str) -> String {
    format!(
        r#"
format = 1
name = "{name}"
title = "Idle"
protocol = "redis"
[find]
programs = ["sh"]
version_arguments = ["-c", "echo idle/1.0"]
version_pattern = "idle/{{version}}"
home = "https://example.org/"
[find.install]
[environment]
CACHE = "{{cache}}"
[files]
"secret" = "a word"
[start]
arguments = ["-c", "touch {{cache}}/mine && echo it is up && exec sleep 600"]
[ready]
when = {{ line = "it is up" }}
within_ms = 20000
[stop]
signal = "SIGTERM"
grace_ms = 1000
"#
    )
}

/// A cache of root's services, which a test takes away.
struct Cache(std::path::PathBuf);

impl Cache {
    fn of(service: &str) -> Self {
        Self(Path::new("/var/cache/linerate/services").join(service))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What `cat` prints for a file as this user.
fn cat_as(user: u32, path: &Path) -> String {
    all_said(as_user(user, Command::new("cat").arg(path)))
}

#[test]
fn a_service_of_root_reads_neither_files_nor_environment_nor_cache_of_another() {
    crate::common::needs_root!();
    let lab = Lab::with_service("apart", "idle-one", &idle("idle-one"));
    lab.write_service("idle-other", &idle("idle-other"));
    let caches = ["idle-one", "idle-other"].map(Cache::of);
    let [one, other] = ["idle-one", "idle-other"].map(|name| lab.start(name, &[]));
    let (user, others) = (one.user(), other.user());
    assert!(
        user != others && ![0, NOBODY].contains(&user),
        "{user} {others}"
    );
    let its_process = Path::new("/proc").join(other.processes()[0].to_string());
    let its_file = other.folder().join("secret");
    let its_cache = caches[1].0.join("mine");
    for path in [&its_file, &its_process.join("environ"), &its_cache] {
        assert!(fs::read(path).is_ok(), "{}", path.display());
        for stranger in [user, NOBODY, STRANGER] {
            let said = cat_as(stranger, path);
            assert_says(&said, "Permission denied");
        }
    }
}

#[test]
fn what_another_put_into_the_cache_of_a_service_is_not_taken_for_its_own() {
    crate::common::needs_root!();
    let lab = Lab::with_service("planted-cache", "idle-cached", &idle("idle-cached"));
    let cache = Cache::of("idle-cached");
    for planter in [NOBODY, STRANGER] {
        let _ = fs::remove_dir_all(&cache.0);
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o755)
            .create(&cache.0)
            .unwrap();
        fs::write(cache.0.join("server"), "planted").unwrap();
        chown(&cache.0, Some(planter), Some(planter)).unwrap();
        let started = lab.start("idle-cached", &[]);
        assert!(!cache.0.join("server").exists());
        assert_eq!(fs::metadata(&cache.0).unwrap().uid(), started.user());
        assert!(cache.0.join("mine").exists());
        drop(started);
        // It is kept for the next start.
        let again = lab.start("idle-cached", &[]);
        let kept = fs::metadata(cache.0.join("mine")).unwrap();
        assert_eq!(kept.uid(), again.user());
    }
}

/// Looks at the environment and the open files of its keeper. A process that can see those can also
/// speak in its place.
const LOOK: &str = r#""look" = "cat /proc/$PPID/environ > seen; ls /proc/$PPID/fd >> seen; true"
[[prepare]]
command = ["sh", "{dir}/look"]
within_ms = 20000
[start]"#;

#[test]
fn a_service_of_root_finds_its_keeper_shut() {
    crate::common::needs_root!();
    let looks = idle("idle-looks").replace("[start]", LOOK);
    let lab = Lab::with_service("keeper", "idle-looks", &looks);
    let _cache = Cache::of("idle-looks");
    let started = lab.start("idle-looks", &[]);
    let seen = fs::read_to_string(started.folder().join("seen"));
    assert_eq!(seen.unwrap(), "");
}
