//! The functions by which two servers differ: `versus --stacks`.

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::planted::Planted;
use crate::common::{Folder, answer, assert_says, linerate, studies};

#[test]
fn a_function_that_one_of_two_servers_calls_more_is_named_and_marked_and_is_there_for_other_tools()
{
    let folder = Folder::new("difference");
    let (plain, planted) = (Planted::new("none"), Planted::new("checksum"));
    let words = [
        "versus",
        &plain.url,
        &planted.url,
        "--stacks",
        "--smoke",
        "--yes",
        "-c",
        "8",
        "--out",
        "run",
    ];
    let said = answer(&mut linerate(&folder, &words));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = said
        .split("B against A. By functions' own time, per request: more in ")
        .nth(1);
    let first = rest.and_then(|rest| rest.split(' ').next());
    assert!(first.is_some_and(|name| name.contains("crc32")), "{said}");
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    let marks = page
        .split("<g class=\"frame\"")
        .filter(|mark| mark.contains("crc32"));
    assert!(marks.clone().count() > 0);
    assert!(
        marks.clone().any(|mark| mark.contains("var(--grew)")),
        "none of them is marked"
    );
    let stacks = std::fs::read_to_string(folder.path().join("run/baseline-b.folded")).unwrap();
    let line = stacks.lines().find(|line| line.contains("crc32")).unwrap();
    let times: Vec<&str> = line.rsplitn(3, ' ').collect();
    assert!(times[1] == "0" && times[0] != "0", "{line}");
}

#[test]
fn a_user_who_may_not_see_the_stacks_gets_the_comparison_and_the_reason() {
    let folder = Folder::new("difference-nobody");
    let (one, other) = (Planted::new("none"), Planted::new("none"));
    let words = [
        "versus", &one.url, &other.url, "--stacks", "--smoke", "--yes", "-c", "8", "--out", "run",
    ];
    let said = answer(&mut linerate_as_nobody(&folder, &words));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&said, "It was not seen which functions take the time. A: ");
    assert_says(&said, "its files are hidden from us");
}

#[test]
fn a_study_may_ask_for_the_stacks_of_its_arms() {
    let folder = Folder::new("difference-study");
    let study = studies::ladder("stacks = true", 2);
    std::fs::write(folder.path().join("short.toml"), study).unwrap();
    let words = ["study", "run", "short.toml", "--yes", "--out", "run"];
    let said = answer(&mut linerate(&folder, &words));
    assert_says(&said, "one send against two sends.");
    assert_says(&folder.text("run/baseline-one.folded"), "sendto_[k]");
}
