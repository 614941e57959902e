//! The studies of servers that come with the program.

use crate::common::{Folder, answer, built_in, linerate};

#[test]
fn every_built_in_study_of_servers_runs_in_smoke_form() {
    let folder = Folder::new("smoke");
    for name in built_in::studies(&folder, false) {
        // On a busy machine a block as short as these may end before the first answer.
        let all_have_figures = |time: u8| {
            let out = format!("{name}-{time}");
            let words = ["study", "run", &name, "--smoke", "--rounds", "1"];
            let command = &mut linerate(&folder, &words);
            let json = answer(command.args(["--yes", "--json", "--out", &out]));
            let judgement: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(judgement["rounds_done"], 1, "{name}");
            let mut arms = judgement["arms"].as_array().unwrap().iter();
            arms.all(|arm| arm["server_cpu_us_per_request"].is_object())
        };
        assert!((0..3).any(all_have_figures), "{name}");
    }
}
