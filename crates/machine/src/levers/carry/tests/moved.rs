//! What moves while a change is in force: the deadline of a trial, the owner of an interrupt, and
//! settings that the kernel changes along with ours.

use std::time::Duration;

use super::*;

const LONGEST: Duration = Duration::from_secs(30);

#[test]
fn a_trial_counts_from_when_all_was_set() {
    const TRIAL_MS: u64 = 3_600_000;
    let bench = Bench::new("trial");
    let plan = bench.plan("swappiness", "10");
    let at_first_ms = Cell::new(0);
    let start = |id| {
        let text = fs::read_to_string(bench.folder.join("journal.jsonl"))?;
        let entry: Entry = serde_json::from_str(text.trim())?;
        let Change::Lever(change) = entry.change else {
            return Err(io::Error::other("another change"));
        };
        assert_eq!((entry.id, bench.holds(SWAP).as_str()), (id, "60"));
        at_first_ms.set(change.reverts_at_ms.unwrap());
        // What is set after this wait has a later deadline.
        let is_later = || sys::clock::since_boot_ms() + TRIAL_MS > at_first_ms.get();
        assert!(sys::clock::wait_until(LONGEST, is_later));
        Ok(())
    };
    let guard = Guard {
        trial_ms: TRIAL_MS,
        start: &start,
    };
    apply_in(
        &mut bench.journal(),
        &plan,
        &bench.site(),
        &Until::Confirmed(guard),
    )
    .unwrap();
    let standing = bench.journal();
    let Change::Lever(change) = &standing.entries()[0].change else {
        panic!("another change");
    };
    assert!(change.reverts_at_ms.unwrap() > at_first_ms.get());
}

#[test]
fn an_interrupt_whose_number_was_given_to_another_is_left_as_it_is() {
    const AFFINITY: &str = "proc/irq/24/smp_affinity_list";
    const ACTIONS: &str = "sys/kernel/irq/24/actions";
    let bench = Bench::new("hands");
    for (file, text) in [
        (
            "proc/interrupts",
            " 24:  7  0  PCI-MSI 65536-edge  eth0-rx-0\n",
        ),
        ("sys/devices/system/cpu/online", "0-1\n"),
        (AFFINITY, "0\n"),
        (ACTIONS, "eth0-rx-0\n"),
    ] {
        fs::create_dir_all(bench.machine.tree.path(file).parent().unwrap()).unwrap();
        bench.write(file, text);
    }
    // Where another device shares the interrupt, or nobody has it while the device is down, it is
    // still ours.
    for ours in ["eth0-rx-0\n", "eth1, eth0-rx-0\n", "\n"] {
        bench.apply("interrupt-affinity", "1").unwrap();
        bench.write(ACTIONS, ours);
        assert_eq!(bench.undo(), [[put_back("0")]], "{ours}");
        bench.write(ACTIONS, "eth0-rx-0\n");
    }
    bench.apply("interrupt-affinity", "1").unwrap();
    bench.write(ACTIONS, "nvme0q1\n");
    let now = "nvme0q1".to_owned();
    assert_eq!(bench.undo(), [[KnobFate::ChangedHands { now }]]);
    assert_eq!(bench.holds(AFFINITY), "1");
    assert_eq!(bench.journal().entries(), []);
    // The interrupt no longer exists.
    bench.write(ACTIONS, "eth0-rx-0\n");
    bench.apply("interrupt-affinity", "0").unwrap();
    fs::remove_dir_all(bench.machine.tree.path("proc/irq/24")).unwrap();
    assert_eq!(bench.undo(), [[KnobFate::Gone]]);
}

#[test]
fn what_the_kernel_moves_along_is_put_back_and_what_somebody_has_set_since_is_not() {
    const PAGES: &str = "sys/kernel/mm/transparent_hugepage/enabled";
    const RESERVE: &str = "proc/sys/vm/min_free_kbytes";
    let bench = Bench::new("moved");
    fs::create_dir_all(bench.machine.tree.path(PAGES).parent().unwrap()).unwrap();
    bench.write(PAGES, "always [madvise] never\n");
    bench.write(RESERVE, "67584\n");
    let plan = bench.plan("huge-pages", "never");
    let knobs: Vec<_> = plan.steps.iter().map(|step| step.knob.clone()).collect();
    assert_eq!(knobs.len(), 2);
    assert_eq!(knobs[0], Knob::sysctl("vm.min_free_kbytes"));
    assert_eq!(plan.commands(), [format!("echo never > /{PAGES}")]);
    let undo = plan.undo_commands();
    assert_eq!(undo[1], "sysctl -w vm.min_free_kbytes=67584");
    let was_back = || KnobFate::WasBack {
        now: "madvise".to_owned(),
    };
    let (now, ours) = ("70000".to_owned(), "5000".to_owned());
    let others = KnobFate::SetByOthers { now, ours };
    for (is_under_way, moved_to, held, fate) in [
        (false, 5000, "5000", put_back("67584")),
        // The process was killed before it could note where the value moved to.
        (true, 67_584, "5000", put_back("67584")),
        (false, 5000, "70000", others),
    ] {
        let mut steps = plan.steps.clone();
        steps[0].new = Value::Number(moved_to);
        let change = LeverChange {
            lever: "huge-pages".to_owned(),
            steps,
            device_index: None,
            is_under_way,
            reverts_at_ms: None,
            is_held: false,
            refused: None,
        };
        let owner = Owner::this_process().unwrap();
        bench.journal().add(owner, Change::Lever(change)).unwrap();
        bench.write(RESERVE, held);
        assert_eq!(bench.undo(), [[was_back(), fate]]);
    }
}
