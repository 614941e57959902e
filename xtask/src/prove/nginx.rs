//! `versus` on Debian's nginx, in a network namespace of our own: against one whose packets cross linear nft rules.

use std::process::Command;

use model::Judgement;

use crate::bench::servers::nginx_configuration;

use super::expected::Expected;
use super::{Lab, Proof, last_step, read_judgement};

const COMPARE: &str = include_str!("nginx.sh");
/// More than enough to be seen.
pub(super) const RULES: usize = 200;
/// Where the plain one and the other listen.
const PORTS: [u16; 2] = [18_090, 18_091];

/// Compares two nginx, of which the second has so many rules in its way that never match.
fn versus(lab: &Lab, rules: usize) -> anyhow::Result<Judgement> {
    let folder = lab.folder().join(format!("{rules}-rules"));
    std::fs::create_dir_all(&folder)?;
    for port in PORTS {
        let configuration = nginx_configuration(&format!("127.0.0.1:{port}"));
        std::fs::create_dir_all(folder.join(port.to_string()))?;
        let file = folder.join(port.to_string()).join("nginx.conf");
        std::fs::write(file, configuration.replace("{root}", "."))?;
    }
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-c", COMPARE, "sh"])
        .arg(&lab.linerate);
    command.args(PORTS.map(|port| port.to_string()));
    read_judgement(command.arg(rules.to_string()).current_dir(&folder))
}

/// The proof that nginx behind so many rules stands so to nginx.
pub(super) fn proof(lab: &Lab, rules: usize, expected: &Expected) -> anyhow::Result<Proof> {
    let judgement = versus(lab, rules)?;
    let what = format!("nginx behind {rules} nft rules");
    Ok(expected.proof(&what, last_step(&judgement)?))
}
