//! A machine that gives the program less than it has: one CPU, half a CPU's time, a CPU that does
//! not exist, files of the kernel that cannot be seen.

use model::Doubt;
use model::run::RunRecord;

use crate::common::server::Server;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};
use crate::machine::confined::{QuotaGroup, on_cpus, without};

const SMOKE: [&str; 7] = [
    "study",
    "run",
    "http-json",
    "--smoke",
    "--yes",
    "--out",
    "run",
];

/// Two CPUs that we may use, in the form that `taskset` takes.
fn two_cpus() -> (String, String) {
    let allowed = sys::cpu::allowed().unwrap();
    assert!(allowed.len() > 1, "these tests need two CPUs");
    (allowed[0].to_string(), allowed[1].to_string())
}

fn run_record(folder: &Folder) -> RunRecord {
    let text = folder.text("run/run.json");
    serde_json::from_str(&text).unwrap()
}

fn finding(json: &str, name: &str) -> serde_json::Value {
    let page: serde_json::Value = serde_json::from_str(json).unwrap();
    let findings = page["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {json}"))
        .clone()
}

#[test]
fn a_cpu_that_is_not_there_is_named_with_those_that_are() {
    let folder = Folder::new("no-such-cpu");
    let allowed = sys::cpu::format_list(&sys::cpu::allowed().unwrap());
    for arguments in [
        &["serve", "--listen", "0", "--cpus", "999"][..],
        &["load", "http://127.0.0.1:1/", "--cpus", "999"],
        &["load", "http://127.0.0.1:1/", "--cpus", "0-999"],
    ] {
        let words = refusal_of(&mut linerate(&folder, arguments));
        assert!(
            words.contains("may not be used here"),
            "{arguments:?}: {words}"
        );
        assert!(words.contains(&allowed), "{arguments:?}: {words}");
    }
    assert_eq!(folder.names(""), [""; 0], "nothing is left behind");
}

#[test]
fn a_cpu_beyond_the_affinity_mask_is_refused_though_the_machine_has_it() {
    let (one, other) = two_cpus();
    let folder = Folder::new("beyond-mask");
    // A load rather than a server: if it is let through by mistake, it ends by itself.
    let load = ["load", "http://127.0.0.1:1/", "--cpus", &other];
    let words = refusal_of(&mut on_cpus(&one, &folder, &load));
    assert_says(&words, &format!("--cpus: CPU {other} may not"));
}

#[test]
fn on_one_cpu_a_study_says_that_client_and_server_share_it() {
    let folder = Folder::new("one-cpu-study");
    let (cpu, _) = two_cpus();
    let page = answer(&mut on_cpus(&cpu, &folder, &SMOKE));
    assert_says(&page, "client and server share 1 CPU");
    let record = run_record(&folder);
    assert_eq!(record.facts.cpus_allowed, cpu);
    assert!(record.doubts.contains(&Doubt::SharedCpus { cpus: 1 }));
}

#[test]
fn versus_and_load_doubt_a_server_on_the_clients_only_cpu_and_no_other() {
    let (one, other) = two_cpus();
    let server = Server::start(&["--cpus", &one]);
    let url = format!("http://{}/json", server.address);
    let folder = Folder::new("one-cpu-client");
    let versus = [
        "versus", &url, &url, "--smoke", "--yes", "--json", "--out", "run",
    ];
    let load = ["load", &url, "-d", "1s", "--settle", "50ms", "-c", "4"];
    let is_doubted = |cpu: &str| {
        let _ = std::fs::remove_dir_all(folder.path().join("run"));
        answer(&mut on_cpus(cpu, &folder, &versus));
        let of_run = run_record(&folder)
            .doubts
            .contains(&Doubt::SharedCpus { cpus: 1 });
        let page = answer(&mut on_cpus(cpu, &folder, &load));
        (of_run, page.contains("client and server share 1 CPU"))
    };
    assert_eq!(is_doubted(&one), (true, true));
    assert_eq!(is_doubted(&other), (false, false));
}

#[test]
fn the_doctor_on_one_cpu_says_what_it_costs_and_what_to_do() {
    let folder = Folder::new("one-cpu-doctor");
    let json = answer(&mut on_cpus(
        &two_cpus().0,
        &folder,
        &["doctor", "--no-load", "--json"],
    ));
    let finding = finding(&json, "cpus");
    assert_eq!(finding["severity"], "notice");
    assert_eq!(finding["what"], "Server and client must share one CPU.");
    assert!(finding["advice"].as_str().unwrap().contains("two CPUs"));
}

#[test]
fn half_a_cpus_time_is_a_doubt_of_the_run_and_of_the_load_and_a_finding() {
    crate::common::needs_root!();
    let group = QuotaGroup::of_us(50_000);
    let folder = Folder::new("half-a-cpu");
    let page = answer(&mut group.linerate(&folder, &SMOKE));
    assert_says(&page, "grants 0.50 CPUs");
    let record = run_record(&folder);
    assert_eq!(record.facts.cpu_quota, Some(0.5));
    for doubt in [Doubt::CpuQuota { cpus: 0.5 }, Doubt::SharedCpus { cpus: 1 }] {
        assert!(record.doubts.contains(&doubt), "{:?}", record.doubts);
    }
    let json = answer(&mut group.linerate(&folder, &["doctor", "--no-load", "--json"]));
    let finding = finding(&json, "cpu-quota");
    assert_ne!(finding["severity"], "fine");
    let what = finding["what"].as_str().unwrap();
    assert_says(what, "a quota of 0.50 CPUs");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let load = ["load", &url, "-d", "1s", "--settle", "50ms", "-c", "4"];
    let page = answer(&mut group.linerate(&folder, &load));
    assert_says(&page, "grants 0.50 CPUs");
}

#[test]
fn without_pressure_files_everything_runs_and_the_doctor_says_what_it_lacks() {
    crate::common::needs_root!();
    let folder = Folder::new("no-pressure");
    let hidden = "/proc/pressure";
    let json = answer(&mut without(
        hidden,
        &folder,
        &["doctor", "--no-load", "--json"],
    ));
    let pressure = finding(&json, "cpu-pressure");
    assert_eq!(pressure["severity"], "unknown");
    let evidence = pressure["evidence"].as_str().unwrap();
    assert_says(evidence, hidden);
    answer(&mut without(hidden, &folder, &SMOKE));
    assert_eq!(run_record(&folder).watched.psi_cpu_some_avg10, None);
}

#[test]
fn without_its_files_a_machine_is_measured_all_the_same() {
    crate::common::needs_root!();
    for (number, hidden) in ["/sys", "/proc/stat", "/proc/cpuinfo"].iter().enumerate() {
        let folder = Folder::new(&format!("hidden-{number}"));
        answer(&mut without(hidden, &folder, &["doctor", "--no-load"]));
        answer(&mut without(hidden, &folder, &SMOKE));
        let blocks = folder.text("run/blocks.jsonl");
        assert!(blocks.lines().count() > 10, "{hidden}: {blocks}");
    }
}
