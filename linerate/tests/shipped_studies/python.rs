//! The Python interpreters of the machine that the tests run on.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use model::{CommandDoubt, Doubt};

use crate::common::Folder;
use crate::{Smoke, folder};

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

/// The search path behind a program that only says that it is none, as version managers put there.
fn path_with_stand_in(folder: &Folder, program: &str) -> String {
    let stand_ins = folder.path().join("stand-ins");
    std::fs::create_dir(&stand_ins).unwrap();
    let stand_in = stand_ins.join(program);
    std::fs::write(&stand_in, "#!/bin/sh\necho no such version >&2\nexit 127\n").unwrap();
    std::fs::set_permissions(&stand_in, Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", stand_ins.display(), std::env::var("PATH").unwrap())
}

/// How many interpreters are absent; each with what to do.
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
