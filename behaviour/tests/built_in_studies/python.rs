//! The Python interpreters of the machine that the tests run on.

use model::{CommandDoubt, Doubt};

use crate::built_in_studies::{Smoke, folder, path_with_stand_in};

#[test]
fn all_interpreters_come_to_the_same_results_and_the_absent_are_named_with_their_install_line() {
    let folder = folder("python");
    let path = path_with_stand_in(&folder, "python3.11");
    let study = Smoke::with(folder, "python", &[("PATH", path)]);
    let interpreters = study.levels("interpreter");
    for found in ["cpython-311", "pypy"] {
        assert!(interpreters.contains(&found), "{interpreters:?}");
    }
    let programs = study.levels("benchmark");
    assert_eq!(programs.len(), 10);
    for program in programs {
        let results = study.agreed("benchmark", program);
        assert_eq!(results.len(), 1, "{program}: {results:?}");
    }
    assert_eq!(study.judgement.means.len(), interpreters.len() - 1);
    assert_eq!(left_out(&study) + interpreters.len(), 11);
}

/// The number of absent interpreters; asserts that the report says how to install each.
fn left_out(study: &Smoke) -> usize {
    let reasons = study
        .judgement
        .doubts
        .iter()
        .filter_map(|doubt| match doubt {
            Doubt::Command(CommandDoubt::LevelLeftOut { level, reason, .. }) => {
                Some((level, reason))
            }
            _ => None,
        });
    reasons
        .inspect(|(level, reason)| {
            let helps = reason.contains("install");
            assert!(helps, "{level}: {reason}");
        })
        .count()
}
