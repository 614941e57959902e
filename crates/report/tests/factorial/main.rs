//! The pages of factorial runs: what they say, and that they can be looked at.

#[path = "../../../judge/tests/built_commands/mod.rs"]
mod built_commands;
mod made_up;

use std::path::Path;

#[test]
fn the_pages_are_there_to_look_at() {
    for (name, made) in [
        ("strength", made_up::strength()),
        ("settings", made_up::settings([30.0, 29.8, 35.0, 0.6])),
        ("benchmarks", made_up::benchmarks()),
        ("sizes", made_up::sizes()),
    ] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(folder.join(format!("factorial-{name}.html")), made.page()).unwrap();
        let text = made.text(100);
        std::fs::write(folder.join(format!("factorial-{name}.txt")), &text).unwrap();
        println!("{text}\n=====\n");
    }
}
