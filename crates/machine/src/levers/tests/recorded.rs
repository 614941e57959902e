//! Levers on recorded drivers that no machine of ours has: read and explained, and never set.

use std::sync::Arc;

use super::*;
use crate::drivers::recorded::Recorded;

const ENA: &str = include_str!("../../../tests/fixtures/drivers/ena.txt");
const MLX5: &str = include_str!("../../../tests/fixtures/drivers/mlx5.txt");
const VIRTIO: &str = include_str!("../../../tests/fixtures/drivers/virtio.txt");
const GVE: &str = include_str!("../../../tests/fixtures/drivers/gve.txt");

/// Stands for the value of a lever that the driver does not have.
const NONE: &str = "none";

/// A machine with a recorded driver, whose files are removed when the test ends.
struct Machine {
    site: Site,
    _files: Planted,
}

impl Machine {
    fn new(test: &str, record: &'static str) -> Self {
        let recorded = Recorded::parse(record);
        let files = recorded.files(test);
        let tree = files.tree.clone().with_drivers(Arc::new(recorded));
        Self {
            site: Site::below(&tree, Some("eth0")),
            _files: files,
        }
    }

    fn now(&self, lever: &str) -> String {
        match find(lever).unwrap().read(&self.site) {
            Ok(reading) => reading.now,
            Err(Obstacle::Absent(_)) => NONE.to_owned(),
            Err(obstacle) => panic!("{lever}: {obstacle}"),
        }
    }

    fn plan(&self, lever: &str, value: &str) -> Result<Plan, Obstacle> {
        find(lever).unwrap().plan(&self.site, Some(value))
    }

    /// The message with which a value is refused.
    fn refusal(&self, lever: &str, value: &str) -> String {
        self.plan(lever, value).unwrap_err().to_string()
    }
}

#[test]
fn what_each_driver_is_set_to_is_found() {
    let levers = [
        "adaptive-coalescing",
        "receive-coalescing",
        "receive-coalescing-frames",
        "transmit-coalescing",
        "receive-ring",
        "transmit-ring",
        "receive-channels",
        "transmit-channels",
        "combined-channels",
        "large-receive-offload",
        "receive-offload",
        "segmentation-offload",
    ];
    let table = [
        (ENA, "ena 0 20 0 64 1024 1024 none none 4 none on on"),
        (MLX5, "mlx5_core 1 8 128 8 1024 1024 none none 4 off on on"),
        (VIRTIO, "virtio_net 0 0 1 0 256 256 none none 1 none on on"),
        (GVE, "gve none none none none 1024 1024 4 4 none none on on"),
    ];
    for (record, expected) in table {
        let (driver, expected) = expected.split_once(' ').unwrap();
        assert_eq!(Recorded::parse(record).driver(), driver);
        let machine = Machine::new(&format!("found-{driver}"), record);
        let found: Vec<String> = levers.iter().map(|lever| machine.now(lever)).collect();
        assert_eq!(found.join(" "), expected, "{driver}");
    }
}

#[test]
fn a_value_that_the_driver_chooses_by_itself_is_refused_and_the_overruling_knob_is_named() {
    let chosen = Machine::new("chosen", MLX5);
    for (lever, knob) in [
        ("receive-coalescing", "rx-usecs"),
        ("receive-coalescing-frames", "rx-frames"),
    ] {
        let said = chosen.refusal(lever, "64");
        let ruled = format!("{knob} of eth0 is overruled by adaptive-rx of eth0, which is `1`");
        assert!(said.starts_with(&ruled), "{said}");
        assert!(said.contains("ethtool -C eth0 adaptive-rx off"), "{said}");
        let shown = find(lever).unwrap().may_set(&chosen.site).unwrap_err();
        assert_eq!(shown.to_string(), said);
    }
    for (test, record) in [("by-hand-ena", ENA), ("by-hand-virtio", VIRTIO)] {
        let by_hand = Machine::new(test, record);
        let plan = by_hand.plan("receive-coalescing", "64").unwrap();
        assert_eq!(plan.commands(), ["ethtool -C eth0 rx-usecs 64"]);
    }
    let without = Machine::new("without", GVE).refusal("receive-coalescing", "64");
    assert_eq!(without, "this kernel or machine has no rx-usecs of eth0");
}

#[test]
fn the_most_that_a_driver_takes_bounds_its_rings_and_channels() {
    let ena = Machine::new("most-ena", ENA);
    let said = ena.refusal("receive-ring", "16385");
    assert!(
        said.contains("expected a number from 64 to 16384 (at worst: "),
        "{said}"
    );
    let said = ena.refusal("transmit-ring", "2048");
    assert!(
        said.contains("expected a number from 64 to 1024 ("),
        "{said}"
    );
    assert!(ena.plan("receive-ring", "16384").is_ok());
    let gve = Machine::new("most-gve", GVE);
    let said = gve.refusal("receive-channels", "5");
    let taken = "expected a number from 1 to 4, or spread for at least one for each CPU (";
    assert!(said.contains(taken), "{said}");
    // The channels of ENA are combined ones, so there are none for receiving alone.
    let said = ena.refusal("receive-channels", "2");
    assert_eq!(said, "this kernel or machine has no rx-channels of eth0");
}

#[test]
fn the_table_by_which_packets_find_their_queue_is_told_where_there_is_one() {
    let ena = Machine::new("hash-ena", ENA).now("receive-hash");
    let even = "of 128 entries 32 to queue 0, 32 to queue 1, 32 to queue 2, 32 to queue 3";
    assert_eq!(ena, even);
    assert_eq!(
        Machine::new("hash-virtio", VIRTIO).now("receive-hash"),
        NONE
    );
}

#[test]
fn a_lever_that_we_never_set_gives_a_person_the_command() {
    let machine = Machine::new("told", MLX5);
    for (lever, command) in [
        ("adaptive-coalescing", "ethtool -C DEVICE adaptive-rx on"),
        ("transmit-coalescing", "ethtool -C DEVICE tx-usecs 256"),
        ("large-receive-offload", "ethtool -K DEVICE lro on"),
        ("receive-hash", "ethtool -X DEVICE equal 4"),
    ] {
        let said = machine.refusal(lever, "1");
        assert!(said.contains(command), "{lever}: {said}");
        assert!(find(lever).unwrap().sets().is_empty());
    }
}

#[test]
fn the_interrupts_of_each_driver_are_known_by_the_names_that_it_gives_them() {
    let named = |test: &str, record| {
        let plan = Machine::new(test, record).plan("interrupt-affinity", "2");
        let knobs = plan.unwrap().steps.into_iter().map(|step| step.knob);
        let names = knobs.map(|knob| match knob {
            Knob::Interrupt { number, action } => format!("{number} {}", action.unwrap()),
            knob => panic!("{knob}"),
        });
        names.collect::<Vec<_>>()
    };
    let ena = named("names-ena", ENA);
    assert_eq!(ena.len(), 5);
    assert_eq!(ena[0], "24 ena-mgmnt@pci:0000:00:05.0");
    assert_eq!(ena[4], "28 eth0-Tx-Rx-3");
    let mlx5 = named("names-mlx5", MLX5);
    assert_eq!(mlx5[1], "41 mlx5_comp0@pci:0000:3b:00.0");
    // The interrupts of a virtio device are those of the device that carries it.
    let virtio = named("names-virtio", VIRTIO);
    let wanted = [
        "30 virtio2-config",
        "31 virtio2-input.0",
        "32 virtio2-output.0",
    ];
    assert_eq!(virtio, wanted);
    assert_eq!(named("names-gve", GVE).len(), 9);
}

/// The commands of a plan, shortened to the CPU and the number of the interrupt.
fn set_to(plan: &Plan) -> Vec<String> {
    let cpu_and_irq = |command: String| {
        let words: Vec<&str> = command.split(' ').collect();
        let place = words[words.len() - 1].trim_start_matches("/proc/irq/");
        format!(
            "{} {}",
            words[1],
            place.trim_end_matches("/smp_affinity_list")
        )
    };
    plan.commands().into_iter().map(cpu_and_irq).collect()
}

#[test]
fn spread_gives_each_queue_the_cpu_of_its_number_and_leaves_interrupts_without_a_queue() {
    let virtio = Machine::new("spread-virtio", VIRTIO);
    let spread = virtio.plan("interrupt-affinity", "spread:2-3").unwrap();
    assert_eq!(set_to(&spread), ["2 31", "2 32"]);
    let ena = Machine::new("spread-ena", ENA);
    let two = ena.plan("interrupt-affinity", "spread:5,7").unwrap();
    assert_eq!(set_to(&two), ["5 25", "7 26", "5 27", "7 28"]);
    for wrong in ["spread:", "spread:x", "spreads"] {
        let said = ena.refusal("interrupt-affinity", wrong);
        assert!(said.contains("expected a list of CPUs"), "{said}");
    }
}

#[test]
fn spread_wants_a_queue_per_cpu_at_least_and_undo_restores_queues_before_their_settings() {
    let ena = Machine::new("queues-ena", ENA);
    // ENA has four.
    assert_eq!(
        ena.plan("combined-channels", "spread:0-1").unwrap().steps,
        []
    );
    let said = ena.refusal("combined-channels", "spread:0-63");
    assert!(
        said.contains("combined-channels cannot be `64`; expected"),
        "{said}"
    );
    let virtio = Machine::new("queues-virtio", VIRTIO);
    let said = virtio.refusal("combined-channels", "spread:0-63");
    assert!(said.contains("expected a number from 1 to "), "{said}");
    let fewer = ena.plan("combined-channels", "3").unwrap();
    assert_eq!(fewer.commands(), ["ethtool -L eth0 combined 3"]);
    let back = fewer.undo_commands();
    assert_eq!(back[0], "ethtool -L eth0 combined 4");
    assert!(
        back.iter()
            .any(|command| command.ends_with("/proc/irq/28/smp_affinity_list")),
        "{back:?}"
    );
    let lever = find("combined-channels").unwrap();
    assert!(fewer.steps.iter().all(|step| lever.owns(&step.knob)));
}

#[test]
fn each_napi_of_a_card_may_stay_without_interrupts_for_a_time() {
    let card = Machine::new("napis", MLX5);
    assert_eq!(card.now("interrupt-suspension"), "20000000 | 0");
    let plan = card.plan("interrupt-suspension", "20000000").unwrap();
    let knobs: Vec<String> = plan
        .steps
        .iter()
        .map(|step| step.knob.to_string())
        .collect();
    assert_eq!(knobs, ["irq-suspend-timeout 1 of eth0"]);
    let said = card.refusal("interrupt-suspension", "1000000001");
    assert!(
        said.contains("expected a number from 0 to 1000000000 ("),
        "{said}"
    );
    assert_eq!(
        Machine::new("no-napis", GVE).now("interrupt-suspension"),
        NONE
    );
}
