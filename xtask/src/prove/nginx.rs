//! Runs `versus` and `levers try` on Debian's nginx in a separate network namespace: against an
//! nginx whose packets cross linear nft rules, against an identical one, and with levers whose sign
//! is known.

use std::process::Command;

use anyhow::bail;
use model::{Judgement, Verdict};

use crate::bench::servers::nginx_configuration;

use super::expected::Expected;
use super::{Lab, Proof, last_step, read_judgement, step_words};

const COMPARE: &str = include_str!("nginx.sh");
/// Number of rules: more than enough to be seen.
pub(super) const RULES: usize = 200;
/// Ports of the plain nginx and of the other.
const PORTS: [u16; 2] = [18_090, 18_091];

/// Number of runs of two identical servers that go on until the answer is known, unless the
/// environment variable gives another.
const RUNS: usize = 60;
/// The precision at which such a run ends, and its longest duration.
const UNTIL: [&str; 4] = ["--until", "3%", "--for", "5m"];
/// Of these runs at most a twentieth may call a difference, and at least two thirds must end with
/// no difference that matters.
const MOST_CALLED: f64 = 0.05;
const LEAST_KNOWN: f64 = 2.0 / 3.0;

/// Number of runs under each load, unless the environment variable gives another.
const TRIALS: usize = 20;
/// A lever that has no effect on answers that are sent at once, and one that makes each packet
/// dearer.
const TRIED: [&str; 2] = ["tcp-autocorking=0", "packet-tap=64"];
/// A queue discipline in the way of each packet makes it 1 to 2 % dearer; that takes more rounds to
/// see than 64 taps do.
const QUEUED: &str = "qdisc=pfifo_fast";
const WITH_CARE: [&str; 4] = ["--host", "--smallest-effect", "0.5", "--for"];
/// Number of careful runs under each load, unless the environment variable gives another.
const CAREFUL_TRIALS: usize = 3;

/// A load that we offer, and a load of somebody else, which shows less in the same time.
const LOADS: [TrialLoad; 2] = [
    TrialLoad {
        name: "offered",
        flags: &[],
        with_care: "3m",
    },
    TrialLoad {
        name: "theirs",
        flags: &["--their-load"],
        with_care: "6m",
    },
];

/// A load under which levers are tried.
struct TrialLoad {
    name: &'static str,
    flags: &'static [&'static str],
    /// Time that it takes to see an effect of one per cent.
    with_care: &'static str,
}

impl TrialLoad {
    /// Runs `levers try` under this load.
    fn try_levers(&self, lab: &Lab, words: &[&str]) -> anyhow::Result<Judgement> {
        let url = url(PORTS[0]);
        let whole = [&["levers", "try", "--url", &url], words, self.flags].concat();
        ask(lab, 0, &whole)
    }
}

/// Runs `versus` on two nginx; the packets of the second cross `rules` rules that never match.
fn versus(lab: &Lab, rules: usize, further: &[&str]) -> anyhow::Result<Judgement> {
    let [plain, behind_rules] = PORTS.map(url);
    ask(
        lab,
        rules,
        &[&["versus", &plain, &behind_rules], further].concat(),
    )
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/json")
}

/// Runs a command of linerate while both nginx serve, and returns its judgement.
fn ask(lab: &Lab, rules: usize, words: &[&str]) -> anyhow::Result<Judgement> {
    let folder = lab.folder().join(format!("{rules}-rules"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    for port in PORTS {
        let configuration = nginx_configuration(&format!("127.0.0.1:{port}"));
        std::fs::create_dir_all(folder.join(port.to_string()))?;
        let file = folder.join(port.to_string()).join("nginx.conf");
        std::fs::write(file, configuration.replace("{root}", "."))?;
    }
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "sh", "-c", COMPARE, "sh"])
        .arg(&lab.linerate);
    command.args(PORTS.map(|port| port.to_string()));
    command.arg(rules.to_string()).args(words);
    read_judgement(command.current_dir(&folder))
}

/// Proves that two identical nginx, started again for each run, are seldom called different, and
/// that most runs end with no difference that matters.
pub(super) fn until(lab: &Lab) -> anyhow::Result<Proof> {
    let runs = super::runs(RUNS)?;
    let mut found = Vec::new();
    for _ in 0..runs {
        let judgement = versus(lab, 0, &UNTIL)?;
        let step = last_step(&judgement)?;
        println!(
            "     {} rounds: {}",
            judgement.rounds_done,
            step_words(step)
        );
        found.push(step.verdict);
    }
    let count = |is: fn(Verdict) -> bool| found.iter().filter(|verdict| is(**verdict)).count();
    let called = count(Verdict::is_call);
    let known = count(|verdict| verdict == Verdict::NoDifferenceThatMatters);
    let of = |share: f64| share * runs as f64;
    Ok(Proof {
        claim: format!(
            "of {runs} runs of `versus {}` on two nginx alike {:.0} at most call a difference, and {:.0} or more end \
             with none that matters",
            UNTIL.join(" "),
            of(MOST_CALLED).floor(),
            of(LEAST_KNOWN).ceil()
        ),
        seen: format!("{called} call one, and {known} end with none that matters"),
        held: called as f64 <= of(MOST_CALLED) && known as f64 >= of(LEAST_KNOWN),
    })
}

/// Proves that a lever without effect is never called, and that one that costs is always called,
/// under either load.
pub(super) fn tried(lab: &Lab) -> anyhow::Result<Proof> {
    let trials = super::runs(TRIALS)?;
    let (mut seen, mut held) = (Vec::new(), true);
    for load in &LOADS {
        let (mut called, mut worse) = (0, 0);
        for _ in 0..trials {
            let judgement = load.try_levers(lab, &TRIED)?;
            let [idle, dear] = &judgement.steps[..] else {
                bail!("{} levers were tried, not two", judgement.steps.len());
            };
            let name = load.name;
            println!("     {name}: {}; {}", step_words(idle), step_words(dear));
            called += usize::from(idle.verdict.is_call());
            worse += usize::from(dear.verdict == Verdict::Worse);
        }
        seen.push(format!(
            "load {}: {called} call {}, {worse} have {} for worse",
            load.name, TRIED[0], TRIED[1]
        ));
        held &= called == 0 && worse == trials;
    }
    Ok(Proof {
        claim: format!(
            "of {trials} runs of `levers try` on nginx none calls {}, and all have {} for worse",
            TRIED[0], TRIED[1]
        ),
        seen: seen.join("\n     "),
        held,
    })
}

/// Proves that a lever that costs little is called, given enough time, under either load.
pub(super) fn queued(lab: &Lab) -> anyhow::Result<Proof> {
    let trials = super::runs(CAREFUL_TRIALS)?;
    let (mut seen, mut held) = (Vec::new(), true);
    for load in &LOADS {
        let words = [&[QUEUED], &WITH_CARE[..], &[load.with_care]].concat();
        for _ in 0..trials {
            let judgement = load.try_levers(lab, &words)?;
            let step = last_step(&judgement)?;
            seen.push(format!("{}: {}", load.name, step_words(step)));
            held &= step.verdict == Verdict::Worse;
        }
    }
    Ok(Proof {
        claim: format!(
            "all {trials} runs of `levers try` on nginx have {QUEUED} for worse, under either load"
        ),
        seen: seen.join("\n     "),
        held,
    })
}

/// Proves that nginx behind `rules` rules, against plain nginx, has the expected result.
pub(super) fn proof(lab: &Lab, rules: usize, expected: &Expected) -> anyhow::Result<Proof> {
    let judgement = versus(lab, rules, &[])?;
    let what = format!("nginx behind {rules} nft rules");
    Ok(expected.proof(&what, last_step(&judgement)?))
}
