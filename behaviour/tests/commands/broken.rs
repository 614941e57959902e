//! Studies that cannot be run say why before anything is saved.

use crate::commands::lab::Lab;
use crate::common::assert_says;

#[test]
fn what_goes_wrong_is_named_with_the_command_its_last_words_and_what_to_do() {
    for (name, from, to, words) in [
        (
            "exit",
            "echo \"took 5 ms, sum 7\"",
            "echo no luck >&2; exit 3",
            &[
                "one way, small",
                "`sh work.sh one small one.small`",
                "exited with 3",
                "no luck",
            ][..],
        ),
        (
            "signal",
            "echo \"took 5 ms, sum 7\"",
            "kill -SEGV $$",
            &["was killed by signal 11"],
        ),
        (
            "metric",
            "echo \"took 5 ms, sum 7\"",
            "echo it took long",
            &[
                "`took_ms`",
                "holds nothing that `took (\\d+)` finds",
                "it took long",
            ],
        ),
        (
            "no-number",
            "'took (\\d+)'",
            "'took (.*),'",
            &["has `5 ms` where a number should be"],
        ),
        (
            "no-json",
            "{ regex = 'took (\\d+)' }",
            "{ json = \"/took\" }",
            &["is no JSON", "took 5 ms"],
        ),
        (
            "agreement",
            "'sum (\\d+)'",
            "'total (\\d+)'",
            &["what must agree", "total"],
        ),
        (
            "build",
            "echo built >> built.{size}",
            "echo cannot build >&2; exit 1",
            &["building with", "cannot build", "exited with 1"],
        ),
        (
            "program",
            "run = [\"sh\"",
            "run = [\"no-such-program\"",
            &["`no-such-program` could not be started", "check its name"],
        ),
    ] {
        let said = Lab::new(name, &[(from, to)]).refusal();
        for word in words {
            assert!(said.contains(word), "{name}: {word} is not in {said}");
        }
    }
}

#[test]
fn a_command_that_does_not_end_is_ended_with_its_children() {
    let changes = [
        ("timeout_s = 20", "timeout_s = 10"),
        (
            "echo \"took 5 ms, sum 7\"",
            "echo waiting >&2; sleep 600 & sleep 600",
        ),
    ];
    let said = Lab::new("timeout", &changes).refusal();
    for word in ["did not end in time", "waiting", "timeout_s"] {
        assert_says(&said, word);
    }
}

#[test]
fn a_study_with_nothing_left_to_compare_is_refused_by_name() {
    let need = "[[needs]]\nname = \"absent\"\ntitle = \"Absent\"\n[needs.find]\n\
                programs = [\"no-such-program\"]\nversion_arguments = []\n\
                version_pattern = \"v{version}\"\ninstall = {}\n\
                home = \"https://absent.example/\"\n\n[[factor]]";
    let other = "title = \"the other way\"";
    let of_level = [
        ("[[factor]]", need),
        (other, "title = \"the other way\", needs = [\"absent\"]"),
    ];
    let said = Lab::new("nothing", &of_level).refusal();
    assert_says(&said, "nothing is left to compare of Way");
    assert_says(&said, "https://absent.example/");
    // A program that no level asks for is needed by all.
    let said = Lab::new("all-need", &[("[[factor]]", need)]).refusal();
    assert_says(&said, "need a program that is not here");
}
