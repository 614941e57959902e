//! Versions, compilers and optimisation levels, with the instructions that explain them.

use crate::built_in_studies::Smoke;

#[test]
fn every_version_fills_the_same_table_and_only_optimised_code_multiplies_two_at_once() {
    let study = Smoke::of("strength-reduction");
    assert_eq!(study.levels("version"), ["multiply", "add", "add-eight"]);
    let compilers = study.levels("compiler");
    assert_eq!(compilers[0], "gcc");
    assert_eq!(study.blocks.len(), 3 * 5 * compilers.len() + 1);
    let sums = study.blocks.iter().map(|block| {
        let sum = block.reading.agreed.as_deref().unwrap();
        sum.parse::<f64>().unwrap()
    });
    let (least, largest) = sums.fold((f64::INFINITY, 0.0_f64), |(least, largest), sum| {
        (least.min(sum), largest.max(sum))
    });
    // The largest terms are 1.1 × i², for a million numbers i.
    assert!((least / 3.67e17 - 1.0).abs() < 0.01, "{least}");
    assert!(largest / least < 1.0 + 1e-6, "{least} to {largest}");
    let vectors = |title: &str| study.piece(title).counts["mulpd"];
    assert!(vectors("The loop of A from GCC at -O3") > 0);
    assert_eq!(vectors("The loop of A from GCC at -O1"), 0);
    assert!(study.piece("The loop of A from GCC at -O1").counts["mulsd"] > 0);
}
