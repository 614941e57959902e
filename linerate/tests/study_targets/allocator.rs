//! The memory allocator of a service under study.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
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

/// A run that does not go on when a test has failed.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn offspring(pid: u32) -> Vec<u32> {
    let with_its_own = |child| [vec![child], offspring(child)].concat();
    children(pid).into_iter().flat_map(with_its_own).collect()
}

/// What a process says in a file of `/proc/PID`.
fn of(pid: u32, file: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    Some(text.replace('\0', " "))
}

fn is_nginx_with_jemalloc(pid: u32) -> bool {
    let says = |file, what| of(pid, file).is_some_and(|text| text.contains(what));
    says("cmdline", "nginx: ") && says("maps", "/libjemalloc.so")
}

/// The words, the environment and what is mapped of whoever keeps a service that has jemalloc.
fn keeper_with_jemalloc_below(run: u32) -> Option<[String; 3]> {
    let keeps = |pid: &u32| {
        let is_keeper = of(*pid, "cmdline").is_some_and(|words| words.contains(" service keep"));
        is_keeper && offspring(*pid).into_iter().any(is_nginx_with_jemalloc)
    };
    let keeper = offspring(run).into_iter().find(keeps)?;
    Some([
        of(keeper, "cmdline")?,
        of(keeper, "environ")?,
        of(keeper, "maps")?,
    ])
}

#[test]
fn a_service_has_the_allocator_of_its_arm_and_its_keeper_has_not() {
    let folder = Folder::new("allocator-of-a-service");
    study(&folder, "nginx", "jemalloc");
    // Whole blocks, so that it lives for seconds.
    let words = "study run allocators.toml --rounds 4 --yes --json --out run";
    let words: Vec<&str> = words.split(' ').collect();
    let mut command = linerate(&folder, &words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = Running(command.spawn().unwrap());
    let mut keeper = None;
    let is_up = || {
        keeper = keeper_with_jemalloc_below(run.0.id());
        keeper.is_some()
    };
    assert!(sys::clock::wait_until(Duration::from_secs(60), is_up));
    let [words, environment, maps] = keeper.unwrap();
    assert!(environment.contains("PATH="), "{words}: {environment}");
    assert!(
        !environment.contains("LD_PRELOAD"),
        "{words}: {environment}"
    );
    assert!(!maps.contains("jemalloc"), "{words}: {maps}");
    assert!(run.0.wait().unwrap().success());
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
    answer(linerate(&folder, &words).arg("--trust"));
    let record: RunRecord = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    let [left_out] = &record.left_out[..] else {
        panic!("{:?}", record.left_out);
    };
    assert_eq!(left_out.step, "given");
    let why = "does not take /no/such/library.so";
    assert!(left_out.why.contains(why), "{}", left_out.why);
}
