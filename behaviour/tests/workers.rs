//! Studies of targets with more than one worker, and of CPUs that are named.

use model::ceiling::AnswerDemand;
use model::{Doubt, Judgement, RunRecord};

use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of};
use crate::machine::confined::on_cpus;

/// Two CPUs that may be used.
fn two_cpus() -> [String; 2] {
    let allowed = sys::cpu::allowed().unwrap();
    assert!(allowed.len() > 1, "these tests need two CPUs");
    [allowed[0].to_string(), allowed[1].to_string()]
}

fn run_record(folder: &Folder) -> RunRecord {
    serde_json::from_str(&folder.text("run/run.json")).unwrap()
}

/// A short run of the study of JSON answers, with these flags.
fn short<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    let command = ["study", "run", "http-json", "--smoke", "--yes"];
    [&command, flags, &["--out", "run"]].concat()
}

/// The message with which a run with these flags is refused. The run leaves nothing behind.
fn refusal(folder: &Folder, flags: &[&str]) -> String {
    let [one, other] = two_cpus();
    let mut run = on_cpus(&format!("{one},{other}"), folder, &short(flags));
    let said = refusal_of(&mut run);
    assert_eq!(folder.names(""), [""; 0]);
    said
}

#[test]
fn two_workers_on_two_cpus_share_them_with_the_client_and_it_is_said_what_that_does() {
    let folder = Folder::new("two-workers");
    let [one, other] = two_cpus();
    let flags = short(&["--workers", "1,2", "--json"]);
    let mut run = on_cpus(&format!("{one},{other}"), &folder, &flags);
    let judgement: Judgement = serde_json::from_str(&answer(&mut run)).unwrap();
    let scale = judgement.scale.unwrap();
    let workers: Vec<u32> = scale.levels.iter().map(|level| level.workers).collect();
    assert_eq!(workers, [1, 2]);
    let record = run_record(&folder);
    let cpus = record.cpus.unwrap();
    assert_eq!([cpus.server, cpus.client], [one, other]);
    let of_our_own = |it: &AnswerDemand| it.bytes > Some(100.0) && it.switches.is_some();
    assert!(
        record.demands.iter().all(of_our_own),
        "{:?}",
        record.demands
    );
    assert_eq!(record.probed.len(), 3, "{:?}", record.probed);
    assert!(record.doubts.contains(&Doubt::SharedCpus { cpus: 1 }));
    let page = answer(&mut linerate(&folder, &["study", "report", "run"]));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    // Whether the client is the limit on such a machine does not matter here.
    let headlines = ["2 workers answer", "2 workers reached"];
    let is_told = headlines.iter().any(|words| page.contains(words));
    assert!(is_told, "{page}");
    for said in [
        "share of linear",
        "only CPU time per request is the server's alone",
        "reached of each ceiling",
        "repeat: linerate study run http-json --workers 1,2 ",
    ] {
        assert_says(&page, said);
    }
}

#[test]
fn a_server_with_one_cpu_has_nothing_to_scale_and_is_told_what_to_type() {
    let folder = Folder::new("no-scale");
    let said = refusal(&folder, &["--scale"]);
    assert_says(&said, "one CPU for the server");
    assert_says(&said, "`--workers 1,2`");
}

#[test]
fn cpus_that_may_not_be_used_are_refused_beside_those_that_may() {
    let folder = Folder::new("no-such-cpus");
    let [one, other] = two_cpus();
    for list in ["1023", "few"] {
        let said = refusal(&folder, &["--server-cpus", list]);
        assert_says(&said, &format!("`{list}`"));
        let may = [format!("{one}-{other}"), format!("{one},{other}")];
        assert!(may.iter().any(|may| said.contains(may)), "{said}");
    }
}

#[test]
fn cpus_that_are_named_are_taken_and_kept_when_a_run_goes_on() {
    let folder = Folder::new("named-cpus");
    let [one, other] = two_cpus();
    let flags = ["--workers", "1,2", "--server-cpus", &other];
    let page = answer(&mut linerate(&folder, &short(&flags)));
    assert_says(&page, &format!(" --server-cpus {other} "));
    let cpus = run_record(&folder).cpus.unwrap();
    assert_eq!([&cpus.server, &cpus.client], [&other, &one]);
    // The blocks of a run that was cut off.
    let blocks = folder.text("run/blocks.jsonl");
    let kept: Vec<&str> = blocks.lines().take(3).collect();
    std::fs::write(
        folder.path().join("run/blocks.jsonl"),
        kept.join("\n") + "\n",
    )
    .unwrap();
    let resume = ["study", "resume", "run", "--yes"];
    let said = refusal_of(&mut on_cpus(&one, &folder, &resume));
    assert_says(&said, &format!("`{other}`"));
    let resumed = linerate(&folder, &resume).output().unwrap();
    let said = errors(&resumed);
    let line = format!("server on CPU {other}, client on CPU {one}");
    assert_says(&said, &line);
    assert_eq!(resumed.status.code(), Some(0), "{said}");
}
