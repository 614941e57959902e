//! `versus` on Debian's nginx, in a network namespace of our own: against itself, and against one
//! whose packets cross 200 linear nft rules.

use std::fmt::Write as _;
use std::process::Command;

use model::{Judgement, Verdict};

use crate::bench::servers::nginx_configuration;

use super::{Lab, Proof, claims_a_difference, read_judgement, verdict};

const PLAIN_PORT: u16 = 18_090;
const RULED_PORT: u16 = 18_091;
pub(super) const RULES: usize = 200;

pub(crate) fn two_hundred_rules_are_found(lab: &Lab) -> anyhow::Result<Proof> {
    let (verdict, seen) = verdict(&versus(lab, "rules", RULES)?)?;
    let claim = format!("nginx behind {RULES} nft rules is called worse than nginx");
    Ok(Proof {
        claim,
        seen,
        held: verdict == Verdict::Worse,
    })
}

pub(crate) fn nginx_is_not_called_different_from_itself(lab: &Lab) -> anyhow::Result<Proof> {
    let (verdict, seen) = verdict(&versus(lab, "itself", 0)?)?;
    let claim = "nginx is not called different from itself, by a run that is not void".to_owned();
    Ok(Proof {
        claim,
        seen,
        held: !claims_a_difference(verdict) && !verdict.is_void(),
    })
}

/// Compares two nginx inside one namespace, which takes servers and rules with it when it ends.
pub(super) fn versus(lab: &Lab, name: &str, rules: usize) -> anyhow::Result<Judgement> {
    let folder = lab.folder().join(name);
    std::fs::create_dir_all(&folder)?;
    for port in [PLAIN_PORT, RULED_PORT] {
        std::fs::create_dir_all(folder.join(port.to_string()))?;
        let file = folder.join(port.to_string()).join("nginx.conf");
        let configuration = nginx_configuration(&format!("127.0.0.1:{port}"));
        std::fs::write(file, configuration.replace("{root}", "."))?;
    }
    std::fs::write(folder.join("rules.nft"), ruleset(rules))?;
    let script = format!(
        "ip link set lo up && nft -f rules.nft || exit 3
         nginx -p {PLAIN_PORT} -c nginx.conf -e error.log & one=$!
         nginx -p {RULED_PORT} -c nginx.conf -e error.log & other=$!
         for try in 1 2 3 4 5 6 7 8 9 10; do
             curl -sf http://127.0.0.1:{PLAIN_PORT}/json http://127.0.0.1:{RULED_PORT}/json >/dev/null && break
             sleep 0.2
         done
         '{}' versus http://127.0.0.1:{PLAIN_PORT}/json http://127.0.0.1:{RULED_PORT}/json --yes --json --out run
         code=$?; kill $one $other; wait; exit $code",
        lab.linerate.display()
    );
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-c", &script])
        .current_dir(&folder);
    read_judgement(&mut command)
}

/// Rules that never match, in the way of the one port only.
fn ruleset(rules: usize) -> String {
    let mut text = String::from("table inet proof {\n");
    for (hook, side) in [("input", "dport"), ("output", "sport")] {
        let _ = writeln!(text, "chain {hook} {{ type filter hook {hook} priority 0;");
        let _ = writeln!(text, "tcp {side} != {RULED_PORT} accept");
        for rule in 0..rules {
            let _ = writeln!(text, "ip saddr 203.0.113.{} drop", rule % 256);
        }
        text.push_str("}\n");
    }
    text + "}\n"
}
