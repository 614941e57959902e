//! Two agents, each with a clock of its own, and a server that is busy only under load.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use model::facts::Watched;
use model::message::{BlockAsk, BurstsAsk, ClockTell, Loaded, ObserveAsk, Whom};
use model::reading::{Counts, CpuReading};
use model::run::{Rig, RunRecord};
use model::{Ask, Pace, Reading, Tell};
use study::pair::NamedAgent;
use study::transport::AgentError;
use study::{Agent, Campaign, CampaignError, Clock, Pair};

use super::fake_agent::FakeAgent;
use super::{Careful, Folder, PLANNED, REHEARSED, Silent, order};

/// Under load the server uses its CPU for one nanosecond in this many.
const ONE_IN: u64 = 2;
/// Time from one answer to the next under load.
const BETWEEN_ANSWERS_NS: u64 = 500_000;

/// The world that both hosts and the study share: its time, and when there is load.
#[derive(Default)]
struct World {
    now_ns: AtomicU64,
    load_began_ns: AtomicU64,
    load_ended_ns: AtomicU64,
}

impl World {
    fn pass(&self, ns: u64) {
        self.now_ns.fetch_add(ns, Ordering::SeqCst);
    }
}

impl Clock for &World {
    fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::SeqCst)
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// A fake agent with a clock, at the far end of a line.
struct Distant<'a> {
    agent: FakeAgent,
    world: &'a World,
    /// Its clock minus the world's.
    ahead_ns: u64,
    /// Time of the way to it, by default longer than the way back.
    there_ns: u64,
    back_ns: u64,
    boot_id: &'static str,
    interval_ns: u64,
    /// How many more times its counters are not read in time.
    misses: u32,
    /// Time from the last reading of its counters to the end of a window.
    stalls_ns: u64,
    /// By how much later than the truth it says that windows opened.
    false_delay_ns: u64,
}

impl<'a> Distant<'a> {
    fn new(world: &'a World, ahead_ns: u64) -> Self {
        Self {
            agent: FakeAgent::default(),
            world,
            ahead_ns,
            there_ns: 900_000,
            back_ns: 100_000,
            boot_id: "",
            interval_ns: 0,
            misses: 0,
            stalls_ns: 0,
            false_delay_ns: 0,
        }
    }

    fn clock_ns(&self) -> u64 {
        self.world.now_ns() + self.ahead_ns
    }

    /// Connects, settles, scores; the server is busy from the first request to the last.
    fn load(&self, ask: &BlockAsk) -> Tell {
        self.world.pass(3_000_000);
        let began_ns = self.world.now_ns();
        self.world.pass(u64::from(ask.settle_ms) * 1_000_000);
        let opened_ns = self.clock_ns() + self.false_delay_ns;
        let window_ns = u64::from(ask.score_ms) * 1_000_000;
        self.world.pass(window_ns);
        let closed_ns = self.clock_ns();
        self.world.load_began_ns.store(began_ns, Ordering::SeqCst);
        let ended_ns = self.world.now_ns();
        self.world.load_ended_ns.store(ended_ns, Ordering::SeqCst);
        let cpu = CpuReading {
            client_ns: window_ns / 10,
            ..CpuReading::default()
        };
        let reading = Reading {
            window_ns,
            answered: window_ns / BETWEEN_ANSWERS_NS,
            cpu,
            ..Reading::default()
        };
        Tell::Loaded(Box::new(Loaded {
            opened_ns,
            closed_ns,
            reading,
        }))
    }

    /// What the counter showed at this time of the host's clock.
    fn counter_ns(&self, at_ns: u64) -> u64 {
        let of_load = [&self.world.load_began_ns, &self.world.load_ended_ns];
        let [began_ns, ended_ns] = of_load.map(|at| at.load(Ordering::SeqCst));
        let world_ns = at_ns - self.ahead_ns;
        (world_ns.clamp(began_ns, ended_ns) - began_ns) / ONE_IN
    }

    fn counts(&mut self, from_ns: u64, to_ns: u64) -> Tell {
        let first_ns = from_ns.next_multiple_of(self.interval_ns);
        let last_ns = (to_ns - self.stalls_ns) / self.interval_ns * self.interval_ns;
        if last_ns <= first_ns || self.misses > 0 {
            self.misses = self.misses.saturating_sub(1);
            return Tell::Uncounted {
                target: "baseline".to_owned(),
            };
        }
        let rose_ns = self.counter_ns(last_ns) - self.counter_ns(first_ns);
        Tell::Counts {
            counts: Counts {
                window_ns: last_ns - first_ns,
                server_ns: Some(rose_ns),
                ..Counts::default()
            },
            doubts: Vec::new(),
        }
    }
}

impl Agent for Distant<'_> {
    fn ask(&mut self, ask: &Ask) -> Result<Tell, AgentError> {
        self.world.pass(self.there_ns);
        let tell = match ask {
            Ask::Clock => Tell::Clock(ClockTell {
                monotonic_ns: self.clock_ns(),
                boot_id: self.boot_id.to_owned(),
            }),
            Ask::Count {
                target,
                interval_ms,
            } => {
                self.interval_ns = u64::from(*interval_ms) * 1_000_000;
                self.agent.count(target)
            }
            Ask::Load(block) => self.load(block),
            Ask::Counted { from_ns, to_ns, .. } => self.counts(*from_ns, *to_ns),
            other => self.agent.ask(other)?,
        };
        self.world.pass(self.back_ns);
        match tell {
            Tell::Failed(failure) => Err(AgentError::Refused(failure)),
            tell => Ok(tell),
        }
    }
}

fn pair<'a>(
    server: &'a mut Distant<'_>,
    client: &'a mut Distant<'_>,
    clock: &'a dyn Clock,
) -> Pair<'a> {
    let end = |agent, title: &str| NamedAgent {
        agent,
        title: title.to_owned(),
    };
    let address = "10.0.0.2".parse().unwrap();
    Pair::new(
        end(server, "server"),
        end(client, "client (b)"),
        address,
        clock,
    )
}

/// Two hosts that were booted hours apart.
fn hosts(world: &World) -> (Distant<'_>, Distant<'_>) {
    (
        Distant::new(world, 7_200_000_000_000),
        Distant::new(world, 36_000_000_000),
    )
}

fn run(
    world: &World,
    (server, client): (&mut Distant<'_>, &mut Distant<'_>),
    folder: &Folder,
) -> Result<(), CampaignError> {
    let mut campaign = Campaign {
        agent: &mut pair(server, client, &world),
        progress: &mut Silent,
        clock: &world,
    };
    campaign.run(order(), &folder.0)
}

fn one_block(
    world: &World,
    server: &mut Distant<'_>,
    client: &mut Distant<'_>,
) -> Result<Reading, AgentError> {
    match pair(server, client, &world).ask(&Ask::Block(Box::new(block())))? {
        Tell::Reading(reading) => Ok(*reading),
        other => panic!("{other:?}"),
    }
}

fn block() -> BlockAsk {
    BlockAsk {
        target: "baseline".to_owned(),
        workload: order().study.workload,
        pace: Pace::Closed,
        settle_ms: 80,
        score_ms: 500,
    }
}

#[test]
fn a_client_s_host_cannot_have_a_server_s_host_loaded_for_longer_than_it_takes_to_connect() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    let look = ObserveAsk {
        whom: Whom::Loaded(block()),
        look_ms: 500,
        seed: 1,
        behind: Vec::new(),
        bursts: BurstsAsk::Calls,
    };
    for (false_delay_ns, is_taken, looks) in [(0, true, 1), (1 << 59, false, 2)] {
        client.false_delay_ns = false_delay_ns;
        let ask = Ask::Observe(Box::new(look.clone()));
        let tell = pair(&mut server, &mut client, &&world).ask(&ask);
        assert_eq!(tell.is_ok(), is_taken, "{tell:?}");
        let is_look = |ask: &&Ask| matches!(ask, Ask::Observe(_));
        assert_eq!(server.agent.asked.iter().filter(is_look).count(), looks);
    }
}

#[test]
fn cpu_per_request_is_that_of_steady_load_whatever_the_clocks_of_both_hosts_say() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    let reading = one_block(&world, &mut server, &mut client).unwrap();
    let true_us = (BETWEEN_ANSWERS_NS / ONE_IN) as f64 / 1e3;
    let measured_us = reading.server_cpu_us_per_request().unwrap();
    assert!(
        (measured_us / true_us - 1.0).abs() < 1e-3,
        "{measured_us} is not {true_us}"
    );
    let server_window_ns = reading.cpu.server_window_ns.unwrap();
    assert!(
        (450_000_000..500_000_000).contains(&server_window_ns),
        "{server_window_ns}"
    );
}

#[test]
fn a_block_whose_counters_were_missed_is_measured_again() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    server.misses = 2;
    let reading = one_block(&world, &mut server, &mut client).unwrap();
    assert!(reading.server_cpu_us_per_request().is_some());
    assert_eq!((server.misses, reading.cpu.missed_before), (0, 2));
}

#[test]
fn a_block_whose_counters_were_read_too_far_from_the_ends_of_the_window_is_missed() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    server.stalls_ns = 60_000_000;
    let reading = one_block(&world, &mut server, &mut client).unwrap();
    assert_eq!(reading.cpu.missed_before, 0);
    server.stalls_ns = 90_000_000;
    let error = one_block(&world, &mut server, &mut client).unwrap_err();
    assert!(error.to_string().contains("near both ends"), "{error}");
}

#[test]
fn a_line_so_slow_that_no_window_is_certain_is_refused() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    server.there_ns = 2_000_000_000;
    let error = one_block(&world, &mut server, &mut client).unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("known to 1000.") && words.contains("shorter round trips"),
        "{words}"
    );
}

#[test]
fn a_campaign_over_two_hosts_saves_every_block_and_what_is_known_of_both() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    client.agent.watched.spin_robust_cv = 0.25;
    // The ways there and back differ in length, and the longer one is not the same for both.
    (client.there_ns, client.back_ns) = (server.back_ns, server.there_ns);
    let folder = Folder::new("two-hosts");
    run(&world, (&mut server, &mut client), &folder).unwrap();
    assert_eq!(folder.saved().len(), PLANNED);
    let text = std::fs::read_to_string(folder.0.join(model::run::RUN_FILE)).unwrap();
    let record: RunRecord = serde_json::from_str(&text).unwrap();
    let seen = record.client.unwrap();
    assert_eq!(seen.watched.spin_robust_cv, 0.25);
    assert_eq!(seen.facts.cpus_allowed, "0-1");
    let truth_ns = server.ahead_ns.cast_signed() - client.ahead_ns.cast_signed();
    let off_ns = seen.clocks.offset_ns.abs_diff(truth_ns);
    assert!(off_ns <= seen.clocks.uncertainty_ns, "{seen:?}");
    assert!(!seen.same_machine);
    // The target runs on the server's host, and the load comes from the client's.
    let starts = |host: &Distant<'_>| {
        let is_start = |ask: &&Ask| matches!(ask, Ask::Start { .. });
        host.agent.asked.iter().filter(is_start).count()
    };
    assert_eq!((starts(&server), starts(&client)), (8, 0));
}

#[test]
fn two_hosts_of_one_boot_are_known_as_one_machine_and_watched_once() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    (server.boot_id, client.boot_id) = ("a", "a");
    let folder = Folder::new("one-machine");
    run(&world, (&mut server, &mut client), &folder).unwrap();
    let looks = |host: &Distant<'_>| {
        let is_watch = |ask: &&Ask| matches!(ask, Ask::Watch { .. });
        host.agent.asked.iter().filter(is_watch).count()
    };
    assert_eq!((looks(&server), looks(&client)), (1, 0));
}

#[test]
fn a_client_s_host_at_work_is_not_loaded_without_consent() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    client.agent.watched = Watched {
        foreign_cpu_share: Some(0.5),
        ..Watched::default()
    };
    let folder = Folder::new("client-at-work");
    let clock = &world;
    let mut campaign = Campaign {
        agent: &mut pair(&mut server, &mut client, &clock),
        progress: &mut Careful,
        clock: &clock,
    };
    let error = campaign.run(order(), &folder.0).unwrap_err();
    assert!(error.to_string().contains("is at work"), "{error}");
}

#[test]
fn an_error_names_the_host_on_which_it_happened() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    client.agent.meetings_until_failure = Some(3);
    let folder = Folder::new("named-host");
    let error = run(&world, (&mut server, &mut client), &folder).unwrap_err();
    assert_eq!(error.to_string(), "client (b): no way to the server");
}

#[test]
fn a_run_goes_on_only_on_machines_such_as_it_was_begun_on() {
    let world = World::default();
    let (mut server, mut client) = hosts(&world);
    (server.agent.rig, client.agent.rig) = (Rig::Hosts, Rig::Hosts);
    let folder = Folder::new("other-hosts");
    // A rehearsal, a look at each of six arms, and five blocks.
    server.agent.counts_until_failure = Some(REHEARSED + 6 + 5);
    run(&world, (&mut server, &mut client), &folder).unwrap_err();
    assert_eq!(folder.saved().len(), 5);
    server.agent.counts_until_failure = None;
    client.agent.facts.kernel_release = "another".to_owned();
    let resume = |server: &mut Distant<'_>, client: &mut Distant<'_>| {
        let clock = &world;
        let mut campaign = Campaign {
            agent: &mut pair(server, client, &clock),
            progress: &mut Silent,
            clock: &clock,
        };
        campaign.resume(study::store::Store::resume(&folder.0)?)
    };
    let error = resume(&mut server, &mut client).unwrap_err();
    assert!(
        error.to_string().contains("another CPU or kernel"),
        "{error}"
    );
    client.agent.facts.kernel_release.clear();
    resume(&mut server, &mut client).unwrap();
    assert_eq!(folder.saved().len(), PLANNED);
}
