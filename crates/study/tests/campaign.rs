//! Whole campaigns against a fake agent and a fake clock.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "campaign/fake_agent.rs"]
mod fake_agent;
#[path = "campaign/looks.rs"]
mod looks;
#[path = "campaign/reboot.rs"]
mod reboot;
#[path = "campaign/stopped.rs"]
mod stopped;
#[path = "campaign/two_hosts.rs"]
mod two_hosts;
#[path = "campaign/whole_ladder.rs"]
mod whole_ladder;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use fake_agent::FakeAgent;
use model::facts::Watched;
use model::message::{BurstsAsk, Whom};
use model::run::{BLOCKS_FILE, Blocks, RUN_FILE, Rig, RunRecord};
use model::study::Program;
use model::{Ask, Doubt, Pace, Study};
use study::progress::Outlook;
use study::{Campaign, CampaignError, Clock, Order, Progress, Targets};

#[derive(Default)]
struct FakeClock(AtomicU64);

impl Clock for FakeClock {
    fn now_ns(&self) -> u64 {
        const STEP_NS: u64 = 600_000_000;
        self.0.fetch_add(STEP_NS, Ordering::SeqCst) + STEP_NS
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// Reports nothing, and consents to the load.
struct Silent;

impl Progress for Silent {
    fn may_load(&mut self, _: &[Doubt]) -> bool {
        true
    }
}

/// Remembers how long the run is planned to take.
#[derive(Default)]
struct Heard {
    planned_ms: u64,
}

impl Progress for Heard {
    fn outlook(&mut self, outlook: &Outlook) {
        self.planned_ms = outlook.planned_ms;
    }
    fn may_load(&mut self, _: &[Doubt]) -> bool {
        true
    }
}

/// Refuses its consent to load a machine that is at work.
struct Careful;

impl Progress for Careful {
    fn may_load(&mut self, _: &[Doubt]) -> bool {
        false
    }
}

/// A folder for one test, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("linerate-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn record(&self) -> RunRecord {
        let text = std::fs::read_to_string(self.0.join(RUN_FILE)).unwrap();
        RunRecord::parse(&text).unwrap()
    }

    fn saved(&self) -> Vec<model::BlockRecord> {
        let text = std::fs::read_to_string(self.0.join(BLOCKS_FILE)).unwrap();
        Blocks::parse(&text).unwrap().records
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The study `http-json` with the part that `--whole` uses.
fn whole_study() -> Study {
    let found = study::catalogue::find("http-json").unwrap();
    found.study.load().unwrap()
}

fn order() -> Order {
    let mut study = whole_study();
    study.whole = None;
    study.design.rounds = 4;
    Order::new(study, Targets::ours(), 7, String::new())
}

fn run(agent: &mut FakeAgent, folder: &Folder) -> Result<(), CampaignError> {
    run_order(agent, folder, order())
}

fn run_order(agent: &mut FakeAgent, folder: &Folder, order: Order) -> Result<(), CampaignError> {
    let clock = FakeClock::default();
    let mut campaign = Campaign {
        agent,
        progress: &mut Silent,
        clock: &clock,
    };
    campaign.run(order, &folder.0)
}

/// Runs the same study with nginx in the place of our own server.
fn run_nginx(agent: &mut FakeAgent, folder: &Folder) -> Result<(), CampaignError> {
    let nginx = study::services::find("nginx").unwrap();
    let order = Order {
        targets: Targets::Started {
            common: Some(Box::new(nginx)),
            own: Vec::new(),
            asked: None,
        },
        ..order()
    };
    run_order(agent, folder, order)
}

fn resume(agent: &mut FakeAgent, folder: &Folder) -> Result<(), CampaignError> {
    let clock = FakeClock::default();
    let mut campaign = Campaign {
        agent,
        progress: &mut Silent,
        clock: &clock,
    };
    campaign.resume(study::store::Store::resume(&folder.0)?)
}

/// Blocks of the rehearsal: one pair, since four rounds are too few for a verdict.
const REHEARSED: usize = 2;

/// Four rounds of eight arms, and six rounds of two in latency mode.
const PLANNED: usize = 4 * 8 + 6 * 2;

#[test]
fn every_planned_block_is_saved_once() {
    let folder = Folder::new("whole");
    run(&mut FakeAgent::default(), &folder).unwrap();
    assert_eq!(folder.saved().len(), PLANNED);
}

#[test]
fn ceilings_and_what_answers_demand_of_them_are_saved_before_the_first_block() {
    let folder = Folder::new("ceilings");
    let mut agent = FakeAgent::default();
    run(&mut agent, &folder).unwrap();
    let record = folder.record();
    assert_eq!(record.probed["syscall_ns"], [100.0]);
    let seen = |ask: &Ask| match ask {
        Ask::Observe(ask) => match &ask.whom {
            Whom::Loaded(block) if ask.bursts == BurstsAsk::Calls => Some(block.target.clone()),
            _ => None,
        },
        _ => None,
    };
    let seen: Vec<String> = agent.asked.iter().filter_map(seen).collect();
    let demands = record.demands.iter().map(|demand| demand.arm.clone());
    assert_eq!(seen, demands.collect::<Vec<_>>());
    assert!(seen.contains(&"baseline".to_owned()) && !seen.contains(&"control".to_owned()));
    assert_eq!(record.demands[0].switches, Some(2.0));
}

#[test]
fn latency_blocks_offer_both_arms_the_same_share_of_capacity_and_the_same_arrivals() {
    let folder = Folder::new("rate");
    let mut agent = FakeAgent::default();
    run(&mut agent, &folder).unwrap();
    let open: Vec<Pace> = agent
        .blocks()
        .map(|block| block.pace)
        .filter(|pace| *pace != Pace::Closed)
        .collect();
    assert_eq!(open.len(), 12);
    for round in open.chunks(2) {
        assert_eq!(round[0], round[1]);
        let Pace::Open { rate_rps, .. } = round[0] else {
            unreachable!("filtered")
        };
        assert!(
            (rate_rps - 1400.0).abs() < 1e-6,
            "70 % of 2,000 requests/s, not {rate_rps}"
        );
    }
}

#[test]
fn without_an_answer_in_closed_loop_a_run_ends_without_its_latency_blocks() {
    let folder = Folder::new("silent");
    let mut agent = FakeAgent {
        answered: 0,
        ..FakeAgent::default()
    };
    run(&mut agent, &folder).unwrap();
    let is_closed = |block: &model::message::BlockAsk| block.pace == model::workload::Pace::Closed;
    assert!(agent.blocks().count() > 0 && agent.blocks().all(is_closed));
}

#[test]
fn a_run_is_not_resumed_on_another_rig() {
    let folder = Folder::new("rig");
    let mut failing = FakeAgent::failing_after(14);
    run(&mut failing, &folder).unwrap_err();
    let rig = Rig::Loopback { reason: None };
    let error = resume(
        &mut FakeAgent {
            rig,
            ..FakeAgent::default()
        },
        &folder,
    )
    .unwrap_err();
    assert!(error.to_string().contains("here it would be"), "{error}");
}

#[test]
fn a_machine_at_work_is_not_loaded_without_consent() {
    let folder = Folder::new("work");
    let watched = Watched {
        foreign_cpu_share: Some(0.5),
        ..Watched::default()
    };
    let mut agent = FakeAgent {
        watched,
        ..FakeAgent::default()
    };
    let clock = FakeClock::default();
    let mut campaign = Campaign {
        agent: &mut agent,
        progress: &mut Careful,
        clock: &clock,
    };
    let error = campaign.run(order(), &folder.0).unwrap_err();
    assert!(error.to_string().contains("is at work"), "{error}");
    assert!(
        agent
            .asked
            .iter()
            .all(|ask| !matches!(ask, Ask::Start { .. } | Ask::Block(_)))
    );
    assert!(!folder.0.exists());
}

#[test]
fn a_folder_with_a_run_in_it_is_not_written_over() {
    let folder = Folder::new("taken");
    run(&mut FakeAgent::default(), &folder).unwrap();
    let before = folder.saved();
    assert!(matches!(
        run(&mut FakeAgent::default(), &folder),
        Err(CampaignError::Store(_))
    ));
    assert_eq!(folder.saved(), before);
}

#[test]
fn a_run_folder_of_another_format_is_refused_by_name() {
    let folder = Folder::new("format");
    run(&mut FakeAgent::default(), &folder).unwrap();
    let path = folder.0.join(model::run::RUN_FILE);
    let text = std::fs::read_to_string(&path)
        .unwrap()
        .replacen("\"format\":1", "\"format\":99", 1);
    std::fs::write(&path, text).unwrap();
    let error = resume(&mut FakeAgent::default(), &folder).unwrap_err();
    assert!(error.to_string().contains("format is 99"), "{error}");
}

#[test]
fn a_run_of_a_service_says_which_and_goes_on_with_the_same_version_only() {
    let folder = Folder::new("service");
    let mut failing = FakeAgent::failing_after(REHEARSED + 9);
    run_nginx(&mut failing, &folder).unwrap_err();
    let text = std::fs::read_to_string(folder.0.join(model::run::RUN_FILE)).unwrap();
    let record: RunRecord = serde_json::from_str(&text).unwrap();
    let service = record.service.unwrap();
    let nginx = study::services::find("nginx").unwrap();
    assert_eq!(
        (service.description, service.sha256),
        (nginx.service.clone(), nginx.sha256())
    );
    assert_eq!(service.version, "1.22.1");

    let mut newer = FakeAgent {
        service_version: "1.26.0".to_owned(),
        ..FakeAgent::default()
    };
    let error = resume(&mut newer, &folder).unwrap_err().to_string();
    assert!(
        error.contains("nginx 1.22.1") && error.contains("nginx 1.26.0"),
        "{error}"
    );
    assert_eq!(newer.blocks().count(), 0);

    let mut same = FakeAgent::default();
    resume(&mut same, &folder).unwrap();
    assert!(same.asked.iter().any(|ask| matches!(
        ask,
        Ask::Find { service } if **service == nginx.service
    )));
    assert!(same.asked.iter().any(|ask| matches!(
        ask,
        Ask::Start { program: Program::Service(name), .. } if name == "nginx"
    )));
}

/// The study that compares programs, in one round.
fn frameworks() -> Order {
    let found = study::catalogue::find("http-frameworks").unwrap();
    let mut study = found.study.load().unwrap();
    study.design.rounds = 1;
    let own = study.own_targets().into_iter();
    let own = own.map(|name| study::services::find(name).unwrap());
    Order {
        targets: Targets::Started {
            common: None,
            own: own.collect(),
            asked: None,
        },
        study,
        ..order()
    }
}

#[test]
fn each_program_is_asked_for_its_own_path_and_goes_on_with_the_same_version_only() {
    let folder = Folder::new("frameworks");
    let mut agent = FakeAgent::failing_after(REHEARSED + 9);
    run_order(&mut agent, &folder, frameworks()).unwrap_err();
    let path_of = |wanted: &str| {
        agent.asked.iter().find_map(|ask| match ask {
            Ask::Start {
                target, workload, ..
            } if target == wanted => Some(workload.path.as_str()),
            _ => None,
        })
    };
    assert_eq!(path_of("caddy"), Some("/json"));
    assert_eq!(path_of("caddy-plaintext"), Some("/plaintext"));

    let mut newer = FakeAgent {
        service_version: "1.26.0".to_owned(),
        ..FakeAgent::default()
    };
    let error = resume(&mut newer, &folder).unwrap_err().to_string();
    assert!(error.contains("nginx 1.26.0"), "{error}");
    resume(&mut FakeAgent::default(), &folder).unwrap();
}
