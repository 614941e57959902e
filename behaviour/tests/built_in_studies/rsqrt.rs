//! The approximate instructions of the CPU that the tests run on.

use model::CommandBlock;

use crate::built_in_studies::{Smoke, changed, folder, smoke};
use crate::common;
use crate::common::assert_says;

#[test]
fn every_run_finds_the_same_approximations_and_names_whose_they_are() {
    let study = Smoke::of("rsqrt");
    let whose = &study.piece("Which CPUs give these answers").output;
    assert_eq!(study.levels("variant"), ["exact", "newton", "approximate"]);
    assert_eq!(study.blocks.len(), 7);
    for result in ["rsqrt", "rcp"] {
        let fingerprints = study.agreed("result", result);
        assert_eq!(fingerprints.len(), 1, "{fingerprints:?}");
        assert!(whose.contains(&fingerprints[0]));
    }
    let unseen = "lower 11 bits   change the answer to 0 of 1048576 inputs";
    assert_eq!(whose.matches(unseen).count(), 2, "{whose}");
    let exceptions = |block: &CommandBlock| block.reading.values["exceptions"];
    assert!(study.blocks.iter().all(|block| exceptions(block) == 0.0));
    assert_like_its_published_maker(whose);
    assert_errors_are_as_promised(&study);
}

/// Asserts that the CPU is called the same as a maker exactly if it has that maker's published
/// value at 256.0.
fn assert_like_its_published_maker(whose: &str) {
    let at_256 = whose
        .lines()
        .find_map(|line| line.trim().strip_prefix("at 256.0"));
    let value = at_256.unwrap().split_whitespace().next().unwrap();
    for (maker, published) in [("Intel Skylake", "3d7ff000"), ("AMD Rome", "3d7ff800")] {
        let line = whose.lines().find(|line| line.contains(maker)).unwrap();
        let is_the_same = line.trim().starts_with("the same as");
        assert_eq!(is_the_same, value == published, "{whose}");
    }
}

/// The manuals promise 1.5 × 2^-12, and an exact result is off by two roundings at most.
fn assert_errors_are_as_promised(study: &Smoke) {
    let roundings = 2.0 * 4096.0 / f64::from(1 << 24);
    for block in &study.blocks {
        let error = block.reading.values["largest_error"];
        let allowed = match study.levels_of(block)["variant"].as_str() {
            "exact" => 0.0..=roundings,
            "newton" => 0.0..=0.01,
            _ => 0.1..=1.5,
        };
        assert!(allowed.contains(&error), "{}: {error}", block.arm);
    }
}

#[test]
fn a_cpu_of_another_architecture_is_refused_by_name() {
    let folder = folder("rsqrt-elsewhere");
    let elsewhere = changed("rsqrt", "\"-O2\"", "\"-O2\", \"-U__x86_64__\"");
    std::fs::write(folder.path().join("elsewhere.toml"), elsewhere).unwrap();
    let output = smoke(&folder, "elsewhere.toml")
        .arg("--trust")
        .output()
        .unwrap();
    let said = common::errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_says(
        &said,
        "are instructions of x86-64, and this machine is of another",
    );
}
