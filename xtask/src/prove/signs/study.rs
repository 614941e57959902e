//! A family of signs as the text of a study.

use std::fmt::Write as _;

use super::{Change, Family};

const SETTLE_MS: u32 = 50;

pub(super) fn text(family: &Family, rounds: u32) -> String {
    let Family {
        name,
        claim,
        rig,
        score_ms,
        path,
        connections,
        baseline,
        ..
    } = family;
    let mut text = format!(
        "format = 1
name = \"{name}\"
title = \"Known signs\"
question = \"Is it so: {claim}?\"
method = \"Each arm against the same baseline.\"
rig = \"{rig}\"

[design]
kind = \"compare\"
rounds = {rounds}
settle_ms = {SETTLE_MS}
score_ms = {score_ms}
smallest_effect = 0.02

[workload]
path = \"{path}\"
connections = {connections}

[baseline]
title = \"baseline\"
levers = {baseline:?}
"
    );
    for sign in family.signs {
        let (field, lever) = match sign.change {
            Change::Adds(lever) => ("add", lever),
            Change::TakesAway(lever) => ("take_away", lever),
        };
        let arm = sign.change.arm();
        let _ = write!(
            text,
            "\n[[step]]\nname = \"{arm}\"\ntitle = \"{arm}\"\n{field} = [\"{lever}\"]\n"
        );
    }
    text
}
