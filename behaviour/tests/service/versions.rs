//! Several versions of one service, beside one another.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use model::RunRecord;
use model::service::ServiceRecord;

use crate::common::{answer, refusal_of, words};
use crate::service::bench::Bench;

/// A study that compares these targets with the first of them.
fn study(targets: &[&str]) -> String {
    let first = targets[0];
    let mut text = format!(
        r#"
format = 1
name = "versions"
title = "Versions"
question = "Which?"
method = "Side by side."
[design]
kind = "compare"
rounds = 16
settle_ms = 60
score_ms = 400
smallest_effect = 0.03
[workload]
path = "/json"
connections = 4
[baseline]
title = "First"
target = "{first}"
"#
    );
    for (number, target) in targets.iter().enumerate().skip(1) {
        text += &format!(
            "[[step]]\nname = \"step-{number}\"\ntitle = \"Step {number}\"\ntarget = \"{target}\"\n"
        );
    }
    text
}

/// A service whose program exists in these versions, each as `FOLDER/bin/fakeserver`.
fn bench(name: &str, versions: &[(&str, &str)]) -> Bench {
    let there = "programs = [\"sh\"]\nversion_arguments = [\"-c\", \"echo fake/1.0\"]";
    let bench = Bench::with_fake(name, there, "PROGRAMS");
    let root = bench.0.path().to_owned();
    let programs = format!(
        "programs = [\"fakeserver\"]\nplaces = [\"{}/v*/bin\"]\nversion_arguments = [\"--version\"]",
        root.display()
    );
    let file = root.join("services/fake.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("PROGRAMS", &programs);
    std::fs::write(
        &file,
        text.replace("\"-c\", \"exec linerate serve", "\"exec linerate serve"),
    )
    .unwrap();
    for (folder, version) in versions {
        let bin = root.join(folder).join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo fake/{version} && exit\nexec sh -c \"$1\"\n"
        );
        let program = bin.join("fakeserver");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    bench
}

fn run(bench: &Bench, targets: &[&str], trust: &[&str]) -> Command {
    run_of(bench, &study(targets), trust)
}

fn run_of(bench: &Bench, study: &str, trust: &[&str]) -> Command {
    std::fs::write(bench.0.path().join("versions.toml"), study).unwrap();
    let run = words("study run versions.toml --smoke --yes --out run");
    bench.linerate(&[&run[..], trust].concat())
}

#[test]
fn two_versions_of_a_service_stand_in_one_study_each_with_its_version_and_hash() {
    let bench = bench(
        "versions",
        &[("v1", "1.2.9"), ("v2", "1.21.0"), ("other", "1.5")],
    );
    let by_path = format!("fake@{}/other/bin/fakeserver", bench.0.path().display());
    answer(&mut run(
        &bench,
        &["fake@1.2", "fake@1.21", "fake@3", &by_path],
        &["--trust"],
    ));
    let record: RunRecord = serde_json::from_str(&bench.0.text("run/run.json")).unwrap();
    let all: Vec<&ServiceRecord> = record.service.iter().chain(&record.own_services).collect();
    let versions: Vec<&str> = all.iter().map(|service| service.version.as_str()).collect();
    assert_eq!(versions, ["1.2.9", "1.21.0", "1.5"]);
    for (service, folder) in all.iter().zip(["v1", "v2", "other"]) {
        let program = bench.0.path().join(folder).join("bin/fakeserver");
        let said = answer(Command::new("sha256sum").arg(program));
        assert_eq!(service.program_sha256.as_deref(), said.split(' ').next());
    }
    let [left_out] = &record.left_out[..] else {
        panic!("{:?}", record.left_out);
    };
    assert!(
        left_out.step == "step-2" && left_out.why.contains("fakeserver is 1."),
        "{left_out:?}"
    );
    let shown = answer(&mut bench.linerate(&["study", "report", "run"]));
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "Fake@1.2 1.2.9 (SHA-256",
        "Fake@1.21 1.21.0 (SHA-256",
        ", program ",
    ] {
        assert!(flat.contains(said), "no `{said}` in {shown}");
    }
    bench.assert_nothing_is_left();
}

#[test]
fn versions_in_a_list_and_a_program_beside_its_service_are_arms_of_one_study() {
    let bench = bench(
        "versions-short",
        &[("v1", "1.2"), ("v2", "1.21"), ("other", "1.5")],
    );
    let program = format!("{}/other/bin/fakeserver", bench.0.path().display());
    let before = study(&["serve"]);
    let before = before.split_once("[baseline]").unwrap().0;
    let list = "services = [\"fake@1.2\", \"fake@1.21\"]\n[design]";
    let step = format!(
        "[[step]]\nname = \"own\"\ntitle = \"Own\"\nservice = \"fake\"\nprogram = \"{program}\"\n"
    );
    let text = before.replace("[design]", list) + &step;
    answer(&mut run_of(&bench, &text, &["--trust"]));
    let record: RunRecord = serde_json::from_str(&bench.0.text("run/run.json")).unwrap();
    let of_all = record.service.iter().chain(&record.own_services);
    let versions: Vec<&str> = of_all.map(|service| service.version.as_str()).collect();
    assert_eq!(versions, ["1.2", "1.5", "1.21"]);
    let wrong = before.replace(
        "[design]",
        "services = [\"fake@1.2\", \"fake@-\"]\n[design]",
    );
    let words = refusal_of(&mut run_of(&bench, &wrong, &["--trust"]));
    assert!(words.contains("versions.toml:7:25"), "{words}");
    bench.assert_nothing_is_left();
}

#[test]
fn one_version_is_started_and_stopped_by_what_it_is_asked_for() {
    let bench = bench("versions-stopped", &[("v1", "1.2")]);
    bench.start("fake@1.2");
    assert_eq!(bench.stop("fake@1.2"), "ended");
    bench.assert_nothing_is_left();
}

#[test]
fn a_run_does_not_go_on_with_a_program_that_became_another() {
    let bench = bench("versions-resumed", &[("v1", "1.2")]);
    answer(&mut run(&bench, &["serve", "fake@1"], &["--trust"]));
    // As if the run had been stopped before its first block.
    std::fs::write(bench.0.path().join("run/blocks.jsonl"), "").unwrap();
    let program = bench.0.path().join("v1/bin/fakeserver");
    let script = std::fs::read_to_string(&program).unwrap();
    std::fs::write(&program, script + "# rebuilt\n").unwrap();
    let words = refusal_of(&mut bench.linerate(&["study", "resume", "run", "--trust", "--yes"]));
    assert!(words.contains("1.2 (SHA-256"), "{words}");
}

#[test]
fn a_program_by_its_path_needs_trust_and_a_target_that_is_none_is_named_with_its_place() {
    let bench = Bench::new("versions-trust");
    let refused = |target: &str| refusal_of(&mut run(&bench, &["serve", target], &[]));
    let words = refused("nginx@/bin/sh");
    assert!(
        words.contains("add --trust") && words.contains("/bin/sh -v"),
        "{words}"
    );
    for wrong in [
        "nginx@",
        "nginx@/x.toml",
        "nginx@-rc",
        "nginx@bin/sh",
        "nginx@1 2",
        "@1",
    ] {
        let words = refused(wrong);
        let wanted = "expected \"serve\", the name of a service, its NAME@VERSION";
        assert!(
            words.contains("versions.toml:22:10") && words.contains(wanted),
            "{words}"
        );
    }
}
