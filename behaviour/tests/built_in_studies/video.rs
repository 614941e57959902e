//! Chunks of a file pulled over many connections, by the paths that its bytes may take.

use crate::built_in_studies::Smoke;

#[test]
fn every_path_sends_to_many_connections_and_ours_say_how_often_a_byte_crosses_memory() {
    let study = Smoke::of("video");
    let paths = study.levels("path");
    for path in ["tls", "tls-4096", "clear", "copy", "nginx-tls"] {
        assert!(paths.contains(&path), "{paths:?}");
    }
    assert_eq!(study.levels("connections"), ["some", "many"]);
    for block in &study.blocks {
        let value = |metric: &str| block.reading.values[metric];
        assert!(value("gbit_per_cpu_percent") > 0.0, "{}", block.arm);
        assert!(value("throughput_gbit_per_s") > 0.0, "{}", block.arm);
    }
    // The ceiling of memory is computed for each path of our own server, and not guessed for
    // another's.
    let mut ours_by_memory = 0;
    for arm in &study.judgement.ceilings {
        let names: Vec<&str> = arm.bounds.iter().map(|it| it.name.as_str()).collect();
        for name in ["server-cpus", "client-cpus"] {
            assert!(names.contains(&name), "{}: {names:?}", arm.arm);
        }
        let is_ours = !arm.arm.starts_with("nginx");
        assert!(is_ours || !names.contains(&"memory"), "{}", arm.arm);
        ours_by_memory += u32::from(names.contains(&"memory"));
    }
    // A bound that was passed is no ceiling: beside other work the probe may find too low a
    // bandwidth.
    assert!(ours_by_memory > 0);
    assert_eq!(study.judgement.ceilings.len(), study.run.arms.len() - 1);
    let ledger = &study.piece("How often a byte crosses").output;
    for words in [
        "11 crossings per byte, 3 of them to memory where buffers stay in caches; computed from the path (read, records made by the server):",
        "2 encrypted in place",
        "1 crossing per byte, 1 of them to memory where buffers stay in caches; computed from the path (sendfile):",
        "3 crossings per byte, 3 of them to memory where buffers stay in caches; computed from the path (from memory, copied):",
    ] {
        assert!(ledger.contains(words), "{words} is not in\n{ledger}");
    }
}
