//! Plans carried out and undone on a planted machine, with a journal in a folder of the test's own.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use super::apply::apply_in;
use super::undo::{is_held, is_left_over, undo_in};
use super::*;
use crate::journal::{Change, Entry, Journal, LeverChange, Owner};
use crate::levers::{Plan, Site, Step, Value, find};
use crate::tree::planted::Planted;

mod moved;
mod planted;

const SWAP: &str = "proc/sys/vm/swappiness";
const INDEX: &str = "sys/class/net/eth0/ifindex";
const RX: [&str; 2] = [
    "sys/class/net/eth0/queues/rx-0/rps_cpus",
    "sys/class/net/eth0/queues/rx-1/rps_cpus",
];

/// A machine and a journal that are removed when the test ends.
struct Bench {
    machine: Planted,
    folder: PathBuf,
}

impl Bench {
    fn new(test: &str) -> Self {
        let files = [
            (SWAP, "60\n"),
            (INDEX, "2\n"),
            (RX[0], "00000000\n"),
            (RX[1], "00000001\n"),
        ];
        let name = format!("linerate-carry-{}-{test}", std::process::id());
        let folder = std::env::temp_dir().join(name).join("linerate");
        let _ = fs::remove_dir_all(&folder);
        Self {
            machine: Planted::new(&format!("carry-{test}"), &files),
            folder,
        }
    }

    fn journal(&self) -> Journal {
        Journal::open_in(self.folder.clone()).unwrap()
    }

    fn site(&self) -> Site {
        Site::below(&self.machine.tree, Some("eth0"))
    }

    fn plan(&self, lever: &str, value: &str) -> Plan {
        find(lever)
            .unwrap()
            .plan(&self.site(), Some(value))
            .unwrap()
    }

    fn apply(&self, lever: &str, value: &str) -> Result<Applied, CarryError> {
        let plan = self.plan(lever, value);
        apply_in(&mut self.journal(), &plan, &self.site(), &Until::Undone)
    }

    fn undo(&self) -> Vec<Vec<KnobFate>> {
        self.undo_meant(|_, _| true)
    }

    fn undo_meant(&self, is_meant: impl Fn(&Entry, &LeverChange) -> bool) -> Vec<Vec<KnobFate>> {
        let undone = undo_in(&mut self.journal(), &self.site(), is_meant).unwrap();
        let fates = undone
            .into_iter()
            .map(|undone| undone.knobs.into_iter().map(|(_, fate)| fate).collect());
        fates.collect()
    }

    fn holds(&self, file: &str) -> String {
        self.machine.tree.text(file).unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.machine.tree.path(file), text).unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.folder.parent().unwrap());
    }
}

fn put_back(now: &str) -> KnobFate {
    let now = now.to_owned();
    KnobFate::PutBack { now }
}

#[test]
fn what_was_set_is_put_back_and_the_journal_is_empty() {
    let bench = Bench::new("back");
    bench.apply("swappiness", "10").unwrap();
    bench.apply("receive-packet-steering", "0-1").unwrap();
    assert_eq!(
        [SWAP, RX[0], RX[1]].map(|file| bench.holds(file)),
        ["10", "00000003", "00000003"]
    );
    assert_eq!(
        bench.undo(),
        [vec![put_back("0"), put_back("none")], vec![put_back("60")]]
    );
    assert_eq!(
        [SWAP, RX[0], RX[1]].map(|file| bench.holds(file)),
        ["60", "00000000", "00000001"]
    );
    assert_eq!(bench.journal().entries(), []);
    assert_eq!(bench.undo(), Vec::<Vec<KnobFate>>::new());
}

#[test]
fn what_somebody_else_has_set_since_is_left_alone_and_reported() {
    let bench = Bench::new("others");
    bench.apply("swappiness", "10").unwrap();
    bench.write(SWAP, "33\n");
    let (now, ours) = ("33".to_owned(), "10".to_owned());
    assert_eq!(bench.undo(), [[KnobFate::SetByOthers { now, ours }]]);
    assert_eq!(bench.holds(SWAP), "33");
    assert_eq!(bench.journal().entries(), []);
}

#[test]
fn a_knob_that_is_set_is_not_set_again_before_it_is_put_back() {
    let bench = Bench::new("again");
    bench.apply("swappiness", "10").unwrap();
    let error = bench.apply("swappiness", "20").unwrap_err().to_string();
    assert!(
        error.contains("vm.swappiness was set by `swappiness` before"),
        "{error}"
    );
    assert_eq!(bench.holds(SWAP), "10");
    bench.undo();
    assert_eq!(bench.holds(SWAP), "60");
}

#[test]
fn a_journal_cut_at_any_byte_of_its_last_entry_leaves_nothing_changed() {
    let bench = Bench::new("cut");
    bench.apply("swappiness", "10").unwrap();
    let file = bench.folder.join("journal.jsonl");
    let whole = fs::read(&file).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&file, &whole[..cut]).unwrap();
        // If the power was cut before the entry was complete, the knob was not written yet.
        bench.write(SWAP, if cut == whole.len() { "10\n" } else { "60\n" });
        bench.undo();
        assert_eq!(bench.holds(SWAP), "60", "cut at byte {cut}");
        assert_eq!(bench.journal().entries(), [], "cut at byte {cut}");
    }
}

#[test]
fn a_kill_between_two_knobs_is_undone_from_the_journal() {
    let bench = Bench::new("half");
    let steps = bench.plan("receive-packet-steering", "0-1").steps;
    let change = LeverChange {
        lever: "receive-packet-steering".to_owned(),
        steps,
        device_index: None,
        is_under_way: false,
        reverts_at_ms: None,
        is_held: false,
        refused: None,
    };
    let owner = Owner::this_process().unwrap();
    bench.journal().add(owner, Change::Lever(change)).unwrap();
    bench.write(RX[0], "00000003\n");
    let was_back = KnobFate::WasBack {
        now: "0".to_owned(),
    };
    assert_eq!(bench.undo(), [vec![was_back, put_back("none")]]);
    assert_eq!(
        [RX[0], RX[1]].map(|file| bench.holds(file)),
        ["00000000", "00000001"]
    );
}

#[test]
fn an_entry_that_reuses_the_number_of_an_undone_hold_is_not_undone_in_its_place() {
    let (bench, us) = (Bench::new("number"), Owner::this_process().unwrap());
    let ours = |entry: &Entry, change: &LeverChange| is_held(entry, change, 1, us);
    let hold = || {
        let (plan, until) = (bench.plan("swappiness", "10"), Until::Dropped(&|_| Ok(())));
        apply_in(&mut bench.journal(), &plan, &bench.site(), &until).unwrap()
    };
    hold();
    bench.undo();
    assert_eq!(bench.apply("swappiness", "20").unwrap().id, 1);
    assert_eq!(bench.undo_meant(ours), Vec::<Vec<KnobFate>>::new());
    assert_eq!(bench.holds(SWAP), "20");
    bench.undo();
    hold();
    let another = Owner {
        pid: us.pid + 1,
        ..us
    };
    let anothers = |entry: &Entry, change: &LeverChange| is_held(entry, change, 1, another);
    assert_eq!(bench.undo_meant(anothers), Vec::<Vec<KnobFate>>::new());
    assert_eq!(bench.undo_meant(ours), [[put_back("60")]]);
}

#[test]
fn a_held_change_is_left_over_once_its_holder_has_ended_and_a_lasting_change_is_not() {
    let bench = Bench::new("held");
    bench.apply("receive-packet-steering", "0-1").unwrap();
    let plan = bench.plan("swappiness", "10");
    let until = Until::Dropped(&|_| Ok(()));
    apply_in(&mut bench.journal(), &plan, &bench.site(), &until).unwrap();
    let left_over = |entry: &Entry, change: &LeverChange| is_left_over(entry, change, 0);
    assert_eq!(bench.undo_meant(left_over), Vec::<Vec<KnobFate>>::new());
    let as_if_ended = |entry: &Entry, change: &LeverChange| {
        let mut entry = entry.clone();
        entry.owner.started_ticks += 1;
        is_left_over(&entry, change, 0)
    };
    assert_eq!(bench.undo_meant(as_if_ended), [[put_back("60")]]);
    assert_eq!(bench.journal().entries().len(), 1);
}

#[test]
fn an_entry_for_a_knob_that_is_none_of_its_lever_is_not_believed() {
    let bench = Bench::new("foreign");
    bench.write(SWAP, "10\n");
    let step = Step {
        knob: Knob::sysctl("vm.swappiness"),
        old: Value::Number(100),
        new: Value::Number(10),
        follows: false,
    };
    for lever in ["slow-start-after-idle", "no-such-lever", "packet-taps"] {
        let change = LeverChange {
            lever: lever.to_owned(),
            steps: vec![step.clone()],
            device_index: None,
            is_under_way: false,
            reverts_at_ms: None,
            is_held: false,
            refused: None,
        };
        let owner = Owner::this_process().unwrap();
        bench.journal().add(owner, Change::Lever(change)).unwrap();
    }
    assert_eq!(bench.undo(), vec![[KnobFate::Foreign]; 3]);
    assert_eq!(bench.holds(SWAP), "10");
    assert_eq!(
        bench.journal().entries().len(),
        3,
        "they are kept for a person to look at"
    );
}

#[test]
fn a_device_that_is_gone_has_taken_its_setting_along() {
    let bench = Bench::new("gone");
    bench.apply("receive-packet-steering", "0-1").unwrap();
    fs::remove_dir_all(bench.machine.tree.path("sys/class/net/eth0")).unwrap();
    assert_eq!(bench.undo(), [[KnobFate::Gone, KnobFate::Gone]]);
    assert_eq!(bench.journal().entries(), []);
}

#[test]
fn a_refused_knob_takes_those_before_it_back() {
    let bench = Bench::new("refused");
    let mut plan = bench.plan("swappiness", "10");
    let missing = Knob::sysctl("vm.no_such_thing");
    let rehearsed = Plan {
        lever: plan.lever,
        is_on_trial: false,
        steps: vec![Step {
            knob: missing,
            ..plan.steps[0].clone()
        }],
    };
    plan.steps.extend(rehearsed.steps);
    let error = apply_in(&mut bench.journal(), &plan, &bench.site(), &Until::Undone).unwrap_err();
    assert!(
        error.to_string().contains("has no vm.no_such_thing"),
        "{error}"
    );
    assert_eq!(bench.holds(SWAP), "60");
    assert_eq!(bench.journal().entries(), []);
}

/// A plan for the two masks whose second list is out of order. The kernel returns it sorted, so the
/// knob then holds neither the old value nor the one that was written.
fn out_of_order(bench: &Bench) -> Plan {
    let mut plan = bench.plan("receive-packet-steering", "0-1");
    plan.steps[1].new = Value::Numbers(vec![1, 0]);
    plan
}

#[test]
fn a_knob_that_holds_another_value_than_was_written_gets_its_old_one_back() {
    let bench = Bench::new("rounded");
    let plan = out_of_order(&bench);
    let error = apply_in(&mut bench.journal(), &plan, &bench.site(), &Until::Undone).unwrap_err();
    assert!(matches!(error, CarryError::PutBack(_)), "{error}");
    assert_eq!(RX.map(|file| bench.holds(file)), ["00000000", "00000001"]);
    assert_eq!(bench.journal().entries(), []);
}

#[test]
fn a_value_that_could_not_be_restored_is_recognised_as_ours_by_a_later_undo() {
    let bench = Bench::new("stuck");
    let plan = bench.plan("receive-packet-steering", "0-1");
    let file = bench.machine.tree.path(RX[0]);
    // After the plan was checked, the file holds a third value and accepts none: the index of lo,
    // which reads as CPU 0.
    let start = |_| {
        fs::remove_file(&file)?;
        std::os::unix::fs::symlink("/sys/class/net/lo/ifindex", &file)
    };
    let guard = Guard {
        trial_ms: u64::MAX,
        start: &start,
    };
    let error = apply_in(
        &mut bench.journal(),
        &plan,
        &bench.site(),
        &Until::Confirmed(guard),
    )
    .unwrap_err();
    assert!(matches!(error, CarryError::LeftChanged(_)), "{error}");
    fs::remove_file(&file).unwrap();
    bench.write(RX[0], "00000001\n");
    bench.undo();
    assert_eq!(RX.map(|file| bench.holds(file)), ["00000000", "00000001"]);
    assert_eq!(bench.journal().entries(), []);
}

#[test]
fn a_plan_that_is_out_of_date_is_not_carried_out() {
    let bench = Bench::new("stale");
    let plan = bench.plan("swappiness", "10");
    bench.write(SWAP, "33\n");
    let error = apply_in(&mut bench.journal(), &plan, &bench.site(), &Until::Undone).unwrap_err();
    let words = "vm.swappiness was `60` when this was planned and is `33` now; nothing was changed";
    assert!(error.to_string().starts_with(words), "{error}");
    assert_eq!(bench.holds(SWAP), "33");
    assert_eq!(bench.journal().entries(), []);
}

#[test]
fn without_its_guard_nothing_is_changed() {
    let bench = Bench::new("guard");
    let (plan, asked) = (bench.plan("swappiness", "10"), Cell::new(0));
    let start = |id| {
        asked.set(id);
        Err(io::Error::other("no process"))
    };
    let guard = Guard {
        trial_ms: 60_000,
        start: &start,
    };
    let error = apply_in(
        &mut bench.journal(),
        &plan,
        &bench.site(),
        &Until::Confirmed(guard),
    );
    assert!(matches!(error, Err(CarryError::Unguarded(_))));
    assert_eq!((asked.get(), bench.holds(SWAP).as_str()), (1, "60"));
    assert_eq!(bench.journal().entries(), []);
}
