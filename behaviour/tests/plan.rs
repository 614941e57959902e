//! `linerate plan`: what to rent.

use serde_json::Value;

use crate::common::{Folder, answer, assert_says, linerate, refusal_of, words};

fn planned(folder: &Folder, flags: &str) -> Value {
    let line = format!("plan network --json {flags}");
    let flags = words(&line);
    serde_json::from_str(&answer(&mut linerate(folder, &flags))).unwrap()
}

#[test]
fn the_cheapest_machine_is_named_with_every_line_of_the_arithmetic() {
    let folder = Folder::new("plan");
    let flags = "--need 550Mbit/s --over openvpn,ssh,mine=10%";
    let plan = planned(&folder, flags);
    assert_eq!(plan["cheapest"], "c6g.large");
    let wire = plan["on_the_wire_bits_per_second"].as_f64().unwrap();
    assert!((wire - 550e6 * 1.05 * 1.06 * 1.10).abs() < 1.0, "{wire}");
    let line = format!("plan network {flags}");
    let flags = words(&line);
    let said = answer(&mut linerate(&folder, &flags));
    for part in [
        "c6g.large is the cheapest machine that carries 550 Mbit/s",
        "+ 5.0 % = 578 Mbit/s (the article's own figure",
        "= 673 Mbit/s (as given)",
        "ap-southeast-1, 2022",
        "prices age",
    ] {
        assert_says(&said, part);
    }
}

#[test]
fn where_no_machine_carries_it_the_answer_is_no() {
    let folder = Folder::new("plan-none");
    let flags = words("plan network --need 2Gbit/s");
    let output = linerate(&folder, &flags).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_says(&said, "None of these machines carries 2,000 Mbit/s");
}

#[test]
fn measured_rates_and_other_prices_replace_those_of_the_article() {
    const LIST: &str = "source = \"us\"\nregion = \"here\"\ndate = \"today\"\n
        [[machine]]\nname = \"small\"\nusd_per_hour = 0.1\nbaseline_mbit = 1\n
        [[machine]]\nname = \"large\"\nusd_per_hour = 1\nbaseline_mbit = 100\n";
    let folder = Folder::new("plan-measured");
    std::fs::write(folder.path().join("mine.toml"), LIST).unwrap();
    let flags = "--need 20Mbit/s --prices mine.toml";
    assert_eq!(planned(&folder, flags)["cheapest"], "large");
    let test = words("stream -q --for 300ms --interval 100ms --rate 50M --out run");
    answer(&mut linerate(&folder, &test));
    let plan = planned(&folder, &format!("{flags} --measured small=run"));
    assert_eq!(plan["cheapest"], "small", "{plan:#}");
    assert_eq!(plan["machines"][0]["measured"], "run");
    assert_says(plan["notes"][0].as_str().unwrap(), "no credit was spent in");
}

/// A study with those ways and links of the study `vpn` that the price list names, and with known
/// figures.
const TUNNELS: &str = r#"
format = 1
name = "tunnels"
title = "Tunnels of known overheads"
question = "What do they take?"
method = "It is told."
[design]
kind = "factorial"
compare = "way"
rounds = 10
smallest_effect = 0.05
[workload]
kind = "command"
# Braces are of variables, so those of JSON are written as printf has them.
run = ["printf", '\173"cpu": 1, "overhead_percent": {way}, "link": "{link}"\175']
timeout_s = 10
[[factor]]
name = "way"
title = "Way"
[[factor.level]]
name = "bare"
title = "no tunnel"
value = "0"
[[factor.level]]
name = "openvpn"
title = "OpenVPN"
value = "20"
[[factor]]
name = "link"
title = "Link"
[[factor.level]]
name = "free"
title = "nothing holds it"
[[factor.level]]
name = "lossy"
title = "0.1 % lost"
[[metric]]
name = "cpu"
title = "CPU time"
unit = "s"
better = "lower"
from = { json = "/cpu" }
[[metric]]
name = "overhead_percent"
title = "bytes beyond"
unit = "%"
better = "lower"
from = { json = "/overhead_percent" }
"#;

#[test]
fn overheads_of_a_run_replace_those_of_the_article_and_the_run_is_named() {
    let folder = Folder::new("plan-overheads");
    std::fs::write(folder.path().join("tunnels.toml"), TUNNELS).unwrap();
    let run = words("study run tunnels.toml --trust --smoke --yes --quiet --out vpn-run");
    answer(&mut linerate(&folder, &run));
    let flags = "--need 500Mbit/s --over openvpn,ssh --overheads vpn-run";
    let plan = planned(&folder, flags);
    let wire = plan["on_the_wire_bits_per_second"].as_f64().unwrap();
    assert!((wire - 500e6 * 1.20 * 1.06).abs() < 1.0, "{wire}");
    let source = |at: usize| plan["overheads"][at]["source"].as_str().unwrap();
    assert_says(source(0), "vpn-run, OpenVPN, nothing holds it");
    assert_says(source(1), "the article's own figure");
    let notes = plan["notes"].to_string();
    assert_says(&notes, "ssh: vpn-run has no figure for it");
    assert_says(&notes, "vpn-run: doubts: ");
    let line = format!("plan network {flags}");
    let said = answer(&mut linerate(&folder, &words(&line)));
    assert_says(&said, "+ 20 % = 600 Mbit/s (vpn-run, OpenVPN");
}

#[test]
fn what_cannot_be_planned_with_is_named() {
    let folder = Folder::new("plan-refused");
    std::fs::write(folder.path().join("bad.toml"), "source = 5").unwrap();
    for (flags, expected) in [
        ("--need 0", "--need 0 needs no machine"),
        ("--need 5 --over ipsec", "no such [[overhead]], but openvpn"),
        ("--need 5 --over mine=x", "--over mine=x: "),
        ("--need 5 --over mine=-50%", "--over mine=-50%: an overhead"),
        ("--need 5 --over mine=nan%", "0 % to 1000 %"),
        ("--need 5 --over mine=inf%", "0 % to 1000 %"),
        ("--need 5 --prices bad.toml", "bad.toml"),
        ("--need 5 --prices nowhere", "reading nowhere"),
        ("--need 5 --over ssh --overheads .", "is no run folder"),
        ("--need 5 --overheads .", "--over"),
        (
            "--need 5 --over mine=5% --overheads .",
            "names none of these",
        ),
        ("--need 5 --measured x=y", "no machine of this name"),
        ("--need 5 --measured t4g.small=.", "is no run folder"),
        ("--need 5 --measured t4g.small", "is not MACHINE=FOLDER"),
    ] {
        let line = format!("plan network {flags}");
        let flags = words(&line);
        assert_says(&refusal_of(&mut linerate(&folder, &flags)), expected);
    }
}
