//! Levers that no test machine has, on planted files: read, set, verified, put back.

use super::*;
use crate::levers::{TestBench, all};

const CPUS: &str = "sys/devices/system/cpu/";

/// The files of a lever below [`CPUS`], each with what it holds, and the value to set. Old and new
/// values are of equal length, since a planted file keeps the bytes that are not written over.
fn planted(lever: &str) -> (&'static [(&'static str, &'static str)], &'static str) {
    match lever {
        "energy-preference" => (
            &[
                (
                    "cpu0/cpufreq/energy_performance_preference",
                    "balance_performance",
                ),
                (
                    "cpu1/cpufreq/energy_performance_preference",
                    "balance_performance",
                ),
                (
                    "cpu0/cpufreq/energy_performance_available_preferences",
                    "balance_performance performance_balance",
                ),
            ],
            "performance_balance",
        ),
        "frequency-governor" => (
            &[
                ("cpu0/cpufreq/scaling_governor", "powersave"),
                ("cpu1/cpufreq/scaling_governor", "schedutil"),
                (
                    "cpu0/cpufreq/scaling_available_governors",
                    "powersave schedutil ondemand",
                ),
            ],
            "schedutil",
        ),
        "transmit-byte-limit" => (
            &[
                (
                    "../../../class/net/eth0/queues/tx-0/byte_queue_limits/limit_max",
                    "1879048192",
                ),
                (
                    "../../../class/net/eth0/queues/tx-1/byte_queue_limits/limit_max",
                    "1000000000",
                ),
            ],
            "1500000000",
        ),
        "nmi-watchdog" => (&[("../../../../proc/sys/kernel/nmi_watchdog", "1")], "0"),
        other => panic!("nothing is planted for {other}"),
    }
}

#[test]
fn every_lever_that_only_other_machines_have_is_set_held_and_put_back() {
    let planted_alone = all().filter(|lever| lever.tested_in == [TestBench::Planted]);
    for lever in planted_alone.map(|lever| lever.name.as_str()) {
        let bench = Bench::new(&format!("planted-{lever}"));
        let (files, value) = planted(lever);
        let plant = |file: &str, text: &str| {
            let path = bench.machine.tree.path(&format!("{CPUS}{file}"));
            fs::create_dir_all(bench.machine.tree.path(CPUS)).unwrap();
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        plant("online", "0-1");
        for (file, text) in files {
            plant(file, text);
        }
        let texts = || {
            let texts = files
                .iter()
                .map(|(file, _)| bench.holds(&format!("{CPUS}{file}")));
            texts.collect::<Vec<_>>()
        };
        let before = texts();
        let set = bench.apply(lever, value).unwrap();
        assert_ne!(texts(), before, "{lever}");
        let held = find(lever).unwrap().read(&bench.site()).unwrap();
        assert_eq!(held.now, value, "{lever}");
        assert!(set.steps.iter().all(|step| step.old != step.new));
        bench.undo();
        assert_eq!(texts(), before, "{lever}");
        assert_eq!(bench.journal().entries(), []);
    }
}
