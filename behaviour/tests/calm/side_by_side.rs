//! Programs that are compared with one another.

use model::study::Program;
use model::{Judgement, RunRecord};

use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

/// A service whose program no machine has.
fn put_absent_service(folder: &Folder) {
    let service = answer(&mut linerate(folder, &["service", "show", "nginx"]))
        .replacen("name = \"nginx\"", "name = \"absent\"", 1)
        .replacen(
            "programs = [\"nginx\"]",
            "programs = [\"no-such-program\"]",
            1,
        );
    std::fs::create_dir(folder.path().join("services")).unwrap();
    std::fs::write(folder.path().join("services/absent.toml"), service).unwrap();
}

/// The shipped study without most of its programs, and with one that no machine has.
fn study(folder: &Folder) -> String {
    let whole = answer(&mut linerate(folder, &["study", "show", "http-frameworks"]));
    let parts: Vec<&str> = whole.split("[[step]]").collect();
    let is_kept = |part: &&str| {
        let names = ["nginx", "plaintext", "nginx-plaintext"];
        names
            .iter()
            .any(|name| part.contains(&format!("name = \"{name}\"\n")))
    };
    let kept: Vec<&str> = parts[1..].iter().copied().filter(is_kept).collect();
    assert_eq!(kept.len(), 3);
    let absent = "\nname = \"absent\"\ntitle = \"Absent\"\ntarget = \"absent\"\n";
    put_absent_service(folder);
    [parts[0], &kept.join("[[step]]"), absent].join("[[step]]")
}

#[test]
fn programs_stand_side_by_side_and_one_that_is_not_here_is_left_out_by_name() {
    let folder = Folder::new("side-by-side");
    let text = study(&folder);
    std::fs::write(folder.path().join("few.toml"), text).unwrap();
    let words = [
        "study", "run", "few.toml", "--smoke", "--yes", "--json", "--out", "run",
    ];
    let said = refusal_of(&mut linerate(&folder, &words));
    assert_says(&said, "the service `absent` is not one of Linerate's own");

    let mut run = linerate(&folder, &words);
    run.args(["--target", "python-http", "--trust"]);
    let judgement: Judgement = serde_json::from_str(&answer(&mut run)).unwrap();
    let compared: Vec<(&str, &str)> = judgement
        .steps
        .iter()
        .map(|step| (step.arm.as_str(), step.against.as_str()))
        .collect();
    assert_eq!(
        compared,
        [
            ("nginx", "baseline"),
            ("plaintext", "baseline"),
            ("nginx-plaintext", "plaintext"),
            ("python-http", "baseline"),
            ("python-http-plaintext", "plaintext"),
        ]
    );
    // All arms but the control are offered one rate: those compared, and the baseline.
    assert_eq!(judgement.latency.len(), compared.len() + 1);
    let rates = judgement.latency.iter().map(|result| result.offered_rps);
    let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(least, most), rate| {
        (least.min(rate), most.max(rate))
    });
    assert!(least > 0.0 && most / least < 1.0 + 1e-9, "{least} {most}");

    let record: RunRecord = serde_json::from_str(&folder.text("run/run.json")).unwrap();
    let names = record.own_services.iter();
    let names: Vec<&str> = names
        .map(|service| service.description.name.as_str())
        .collect();
    assert_eq!(names, ["nginx", "python-http"]);
    assert_eq!(record.arms[0].program, Program::Serve);
    let [left_out] = &record.left_out[..] else {
        panic!("{:?}", record.left_out);
    };
    assert_eq!(left_out.step, "absent");
    assert!(left_out.why.contains("no-such-program"), "{}", left_out.why);
}

#[test]
fn a_program_that_was_asked_for_and_is_not_here_is_refused() {
    let folder = Folder::new("side-by-side-absent");
    put_absent_service(&folder);
    let words = ["study", "run", "http-frameworks", "--smoke", "--yes"];
    let mut run = linerate(&folder, &words);
    run.args(["--target", "absent", "--trust", "--out", "run"]);
    let said = refusal_of(&mut run);
    assert_says(&said, "no-such-program");
    assert_eq!(folder.names(""), ["services"]);
}

#[test]
fn a_program_that_is_compared_already_is_not_asked_for_twice() {
    let folder = Folder::new("side-by-side-twice");
    let words = ["study", "run", "http-frameworks", "--target", "caddy"];
    let said = refusal_of(&mut linerate(&folder, &words));
    let wanted = "the study `http-frameworks` compares `caddy` already";
    assert_says(&said, wanted);
}
