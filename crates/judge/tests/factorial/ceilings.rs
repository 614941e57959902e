//! The highest rate that each resource allows.

use judge::judge_commands;
use model::command_study::CeilingSpec;

use crate::blocks;
use crate::built_commands::{Questions, run};

#[test]
fn the_nearest_ceiling_of_a_rate_is_by_the_share_of_each_resource_that_is_in_use() {
    let mut run = run(
        &[("version", &["a", "b"])],
        Questions::comparing("version"),
        16,
    );
    let ceiling = |name: &str, used: &[&str], probe: Option<&str>| CeilingSpec {
        name: name.to_owned(),
        title: name.to_owned(),
        of: "count".to_owned(),
        used: used.iter().map(|metric| (*metric).to_owned()).collect(),
        times: probe.map(|_| 10.0),
        unit: "bytes/s".to_owned(),
        most: probe.is_none().then_some(14.0),
        probe: probe.map(str::to_owned),
    };
    run.study.ceilings = vec![
        ceiling("memory", &["count", "count"], Some("read")),
        ceiling("cpus", &["count"], None),
        ceiling("unseen", &["count", "absent"], None),
        ceiling("unprobed", &["count"], Some("store")),
    ];
    run.probed = [("read".to_owned(), vec![2_450.0; 3])].into();
    let ceilings = judge_commands(&run, &blocks(&run, |_| 20.0)).ceilings;
    // Each count is 7: of the CPUs 7 of 14 are in use, of the memory 10 · 7 · 7 = 490 of 2,450.
    assert_eq!(ceilings.len(), 2, "the control is left out");
    let told = ceilings[0].bounds.iter().map(|it| {
        let rate_unit = it.rate_unit.clone().unwrap();
        (
            it.name.as_str(),
            it.demand,
            it.most_rps,
            it.reached,
            rate_unit,
        )
    });
    let unit = "times".to_owned();
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("cpus", 1.0, 14.0, 0.5, unit.clone()),
            ("memory", 70.0, 35.0, 0.2, unit)
        ]
    );
}
