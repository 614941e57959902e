//! The memory allocator of a service under study.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use model::run::RunRecord;

use super::{RUN, children};
use crate::common::{Folder, answer, errors, linerate};

/// A service beside itself with another allocator.
fn study(folder: &Folder, service: &str, allocator: &str) -> Vec<&'static str> {
    let shown = answer(&mut linerate(folder, &["study", "show", "http-frameworks"]));
    let head = shown.split("[latency]").next().unwrap();
    let head = head.replace("floor = true", "floor = false");
    let target = format!("target = \"{service}\"");
    let text = format!(
        "{head}\n[baseline]\ntitle = \"as it is\"\n{target}\n\n[[step]]\nname = \"given\"\n\
         title = \"with another allocator\"\n{target}\nadd = [\"allocator={allocator}\"]\n"
    );
    fs::write(folder.path().join("allocators.toml"), text).unwrap();
    [&["study", "run", "allocators.toml"], &RUN[..]].concat()
}

/// The processes that have jemalloc among those of a run's agents, by their command lines.
fn with_jemalloc(run: u32) -> Vec<String> {
    let read = |pid: u32, file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
    let below = |pid: u32| {
        let grown = children(pid).into_iter().flat_map(children);
        let workers = grown.clone().flat_map(children);
        children(pid).into_iter().chain(grown).chain(workers)
    };
    let agents = children(run).into_iter().flat_map(below);
    let maps = |pid: &u32| read(*pid, "maps").is_ok_and(|maps| maps.contains("/libjemalloc.so"));
    let words = |pid| read(pid, "cmdline").unwrap_or_default().replace('\0', " ");
    agents.filter(maps).map(words).collect()
}

#[test]
fn a_service_has_the_allocator_of_its_arm_and_its_keeper_has_not() {
    let folder = Folder::new("allocator-of-a-service");
    let mut command = linerate(&folder, &study(&folder, "nginx", "jemalloc"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    let mut seen = Vec::new();
    let is_up = || {
        seen = with_jemalloc(run.id());
        seen.iter().any(|words| words.starts_with("nginx: "))
    };
    assert!(sys::clock::wait_until(Duration::from_secs(60), is_up));
    let is_ours = |words: &String| words.contains("service keep") || words.contains("agent");
    assert!(!seen.iter().any(is_ours), "{seen:?}");
    assert!(run.wait().unwrap().success());
    let record: RunRecord = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    assert_eq!(record.arms.last().unwrap().name, "given");
}

#[test]
fn a_service_that_would_not_take_its_allocator_ends_the_run_by_name() {
    let folder = Folder::new("allocator-of-no-service");
    let service = answer(&mut linerate(&folder, &["service", "show", "nginx"]))
        .replacen("name = \"nginx\"", "name = \"privileged\"", 1)
        .replacen("[\"nginx\"]", "[\"privileged-nginx\"]", 1)
        .replacen(
            "[find]",
            &format!("[find]\nplaces = [{:?}]", folder.path()),
            1,
        );
    fs::create_dir(folder.path().join("services")).unwrap();
    fs::write(folder.path().join("services/privileged.toml"), service).unwrap();
    let program = folder.path().join("privileged-nginx");
    let copied = Command::new("cp")
        .arg("/usr/sbin/nginx")
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    fs::set_permissions(&program, Permissions::from_mode(0o2755)).unwrap();

    let words = study(&folder, "privileged", "jemalloc");
    let output = linerate(&folder, &words).arg("--trust").output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("runs with privileges of its own"), "{said}");
    assert!(said.contains("(with allocator=jemalloc)"), "{said}");
}

#[test]
fn an_arm_whose_allocator_is_not_here_is_left_out_by_name() {
    let folder = Folder::new("allocator-not-here");
    let words = study(&folder, "nginx", "/no/such/library.so");
    answer(&mut linerate(&folder, &words));
    let record: RunRecord = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    let [left_out] = &record.left_out[..] else {
        panic!("{:?}", record.left_out);
    };
    assert_eq!(left_out.step, "given");
    let why = "does not take /no/such/library.so";
    assert!(left_out.why.contains(why), "{}", left_out.why);
}
