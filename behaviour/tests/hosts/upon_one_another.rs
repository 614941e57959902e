//! Levers that need other levers, in arms that are compared with one baseline.

use std::collections::BTreeMap;

use crate::common::{Folder, answer, linerate};
use crate::hosts::{blocks, record};

/// The driver of a veth pair polls nothing unless packets are merged, so without merging it can
/// have no threads that poll: the one lever stands upon the other.
const STUDY: &str = r#"
format = 1
name = "upon"
title = "Levers that stand upon one another"
question = "Are they put on and taken off in their order?"
method = "Few and short blocks."
rig = "netns"

[design]
kind = "compare"
rounds = 2
settle_ms = 20
score_ms = 200
smallest_effect = 0.5

[workload]
path = "/plaintext"
connections = 4

[baseline]
title = "packets are merged"
levers = ["receive-offload=on", "message-bytes=3000"]

[[step]]
name = "threads"
title = "threads take packets"
add = ["threaded-napi=1"]

[[step]]
name = "unmerged"
title = "packets are not merged"
take_away = ["receive-offload=on"]

[[step]]
name = "taps"
title = "twenty taps"
add = ["packet-tap=20"]

[[step]]
name = "tap"
title = "one tap, which is no step from twenty"
add = ["packet-tap"]

[[step]]
name = "bucket"
title = "a token bucket"
add = ["token-bucket"]

[[step]]
name = "nothing"
title = "nothing is set"
add = ["nothing"]
"#;
/// With this seed the arm `unmerged` comes straight after `threads`.
const SEED: &str = "10";

#[test]
fn levers_that_stand_upon_one_another_are_put_on_and_taken_off_in_their_order() {
    crate::common::needs_root!();
    let folder = Folder::new("hosts-upon");
    std::fs::write(folder.path().join("upon.toml"), STUDY).unwrap();
    let run = [
        "study",
        "run",
        "upon.toml",
        "--yes",
        "--seed",
        SEED,
        "--out",
        "run",
    ];
    answer(&mut linerate(&folder, &run));
    let record = record(&folder, "run");
    assert_eq!(record.left_out, []);
    let levers: BTreeMap<&str, String> = record
        .arms
        .iter()
        .map(|arm| {
            let levers: Vec<String> = arm.levers.iter().map(ToString::to_string).collect();
            (arm.name.as_str(), levers.join(" "))
        })
        .collect();
    let merged = "receive-offload=on message-bytes=3000";
    let expected = [
        ("baseline", merged.to_owned()),
        ("bucket", format!("{merged} token-bucket")),
        ("control", merged.to_owned()),
        ("nothing", format!("{merged} nothing")),
        ("tap", format!("{merged} packet-tap")),
        ("taps", format!("{merged} packet-tap=20")),
        ("threads", format!("{merged} threaded-napi=1")),
        ("unmerged", "message-bytes=3000".to_owned()),
    ];
    assert_eq!(levers, BTreeMap::from(expected));
    let blocks = blocks(&folder, "run");
    // A block this short may fall into a pause of the machine.
    for arm in levers.keys() {
        let mut of_arm = blocks.iter().filter(|block| block.arm == *arm);
        assert!(of_arm.any(|block| block.reading.answered > 0), "{arm}");
    }
    let order: Vec<&str> = blocks.iter().map(|block| block.arm.as_str()).collect();
    let both_go = order.windows(2).any(|pair| pair == ["threads", "unmerged"]);
    assert!(both_go, "another seed is wanted: {order:?}");
}
