//! Links that are impossible, and are refused.

use crate::common::{Folder, assert_says, errors, linerate, refusal_of, words};

#[test]
fn a_link_that_cannot_be_is_refused_by_what_is_wrong_with_it() {
    let folder = Folder::new("link-refused");
    for (flags, reason) in [
        (&["--rate", "0bit/s"][..], "lets nothing through"),
        (&["--rate", "fast"], "no rate such as"),
        (&["--loss", "150%"], "from 0% to 100%, not 150%"),
        (&["--loss", "-1%"], "not -1%"),
        (&["--loss", "0.1"], "no share such as 0.1%"),
        (&["--delay", "-5ms"], "no time such as"),
        (&["--delay", "2h"], "more than the 600 s"),
        (&["--reorder", "1%"], "overtake one another only where"),
        (
            &["--delay", "5s", "--rate", "10Gbit/s"],
            "a link holds at most 288 MiB",
        ),
        (
            &["--queue", "10GB", "--rate", "1Gbit/s"],
            "a link holds at most 288 MiB",
        ),
        (
            &["--credit", "burst=1Gbit/s,bucket=1GB,base=2Gbit/s"],
            "is not more than",
        ),
        (&["--credit", "burst=1Gbit/s"], "no credit such as"),
        (&["--up", "jitter=1ms"], "`jitter` is none of"),
        (&["--queue", "10"], "a queue holds what waits for a rate"),
        (
            &["--up", "queue=10", "--down", "rate=1Mbit/s"],
            "a queue holds what waits for a rate",
        ),
        (&["--via", "tbf", "--delay", "5ms"], "tbf has no delay"),
        (&["--via", "tbf", "--loss", "1%"], "tbf has no loss"),
        (&["--via", "tbf"], "nothing for tbf to do"),
        (
            &["--via", "netem", "--delay", "5ms", "--seed", "3"],
            "netem has no seed",
        ),
        (
            &words("--via tbf --credit burst=1Gbit/s,bucket=1GB,base=9Mbit/s"),
            "tbf reports none that takes longer",
        ),
        (&["--via", "tc"], "[possible values: userspace, tbf, netem]"),
    ] {
        let words = [&["link"], flags, &["--", "echo", "started"]].concat();
        let output = linerate(&folder, &words).output().unwrap();
        let words = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {words}");
        assert!(words.contains(reason), "{flags:?}: {words}");
        assert!(output.stdout.is_empty(), "{flags:?}");
    }
}

#[test]
fn a_link_without_a_command_asks_for_one() {
    let folder = Folder::new("link-nothing");
    let words = refusal_of(&mut linerate(&folder, &["link", "--delay", "5ms"]));
    assert_says(&words, "<COMMAND>");
    assert_says(&words, "--help");
}
