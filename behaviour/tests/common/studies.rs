//! Short studies for tests that need one.

/// A ladder of a baseline, its control and one step; `rig` may be a line for the top of the file,
/// such as its rig.
pub(crate) fn ladder(rig: &str, rounds: u32) -> String {
    const STUDY: &str = r#"
format = 1
name = "short"
title = "A short study"
question = "Is one send better than two?"
method = "Few and short blocks."
RIG

[design]
kind = "ladder"
rounds = ROUNDS
settle_ms = 20
score_ms = 60
smallest_effect = 0.5

[workload]
path = "/json"
connections = 8

[baseline]
title = "two sends"
levers = ["split-send"]

[[step]]
name = "one"
title = "one send"
take_away = ["split-send"]
"#;
    STUDY
        .replace("RIG", rig)
        .replace("ROUNDS", &rounds.to_string())
}

/// A comparison that sets a sysctl of the machine, with blocks long enough for a test to interfere.
pub(crate) const OF_THE_MACHINE: &str = r#"
format = 1
name = "host"
title = "Host"
question = "What does it cost?"
method = "Pairs."

[design]
kind = "compare"
rounds = 8
settle_ms = 50
score_ms = 1500
smallest_effect = 0.02

[workload]
path = "/json"
connections = 4
threads = 1

[baseline]
title = "as it is"

[[step]]
name = "swappiness"
title = "swappiness"
add = ["swappiness=10"]
"#;

/// A study that measures a command in two ways. `run` is a TOML list, in which `{way}` stands for
/// the way.
pub(crate) fn of_command(run: &str) -> String {
    const STUDY: &str = r#"
format = 1
name = "small"
title = "A small study"
question = "Does it work?"
method = "It is run."

[design]
kind = "factorial"
compare = "way"
rounds = 2
smallest_effect = 0.05

[workload]
kind = "command"
run = RUN
timeout_s = 60

[[factor]]
name = "way"
title = "Way"
level = [{ name = "one", title = "one way" }, { name = "other", title = "the other way" }]

[[metric]]
name = "wall_ns"
title = "wall time"
unit = "ns"
better = "lower"
from = "wall"
"#;
    STUDY.replace("RUN", run)
}
