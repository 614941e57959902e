//! The hosts file, which names the client's and the server's host.
//!
//! Its owner says by it that the machines it names may be loaded.

use std::io;
use std::net::IpAddr;
use std::path::Path;

use serde::Deserialize;

use crate::refusal::Refusal;
use crate::spec::sense::{Sense, must, place};
use crate::spec::{SpecError, error_about, error_at};

/// An example of a hosts file, for users who have none yet.
pub const EXAMPLE: &str = "\
[host.client]
ssh = \"NAME\"           # as you type it after `ssh`
[host.server]
ssh = \"NAME\"
address = \"10.0.0.2\"   # of the server, as the client reaches it";

/// The machines of a study.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    pub host: Roles,
}

impl Hosts {
    /// Returns the name of a machine for `ssh`, given its role in the file or that name itself.
    ///
    /// # Errors
    /// If the file has no such machine.
    pub fn named(&self, name: &str) -> Result<&str, Refusal> {
        let Roles { client, server } = &self.host;
        let all = [("client", &client.ssh), ("server", &server.ssh)];
        let found = all.iter().find(|(role, ssh)| *role == name || *ssh == name);
        let found = found.map(|(_, ssh)| ssh.as_str());
        found.ok_or_else(|| {
            let known = all.map(|(role, ssh)| format!("{ssh} ({role})"));
            let known = known.join(" and ");
            Refusal(format!(
                "`{name}` is no machine of the hosts file, which names {known}"
            ))
        })
    }
}

/// The role of each machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    pub client: LoadHost,
    pub server: TargetHost,
}

/// The host that the load comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadHost {
    /// Name of the host after `ssh` on a command line.
    pub ssh: String,
}

/// The host of the targets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetHost {
    /// Name of the host after `ssh` on a command line.
    pub ssh: String,
    /// Address at which the client reaches it. Targets listen there and nowhere else.
    pub address: IpAddr,
}

/// Reads the hosts file given, or else the user's own.
///
/// # Errors
/// If there is none, or it is wrong.
pub fn find(given: Option<&Path>, own: Option<&Path>) -> Result<Hosts, Refusal> {
    let path = given.or(own).ok_or_else(|| {
        let nowhere = "neither XDG_CONFIG_HOME nor HOME says where your hosts file is; give one with \
                       --hosts FILE";
        Refusal(nowhere.to_owned())
    })?;
    let file = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(parse(&text, &file)?),
        Err(error) if given.is_none() && error.kind() == io::ErrorKind::NotFound => {
            Err(Refusal(format!(
                "there is no hosts file: {file} does not exist; write one, such as\n{EXAMPLE}\nor give \
                 another with --hosts FILE"
            )))
        }
        Err(error) => Err(Refusal(format!(
            "{file} cannot be read: {error}; expected a hosts file, such as\n{EXAMPLE}"
        ))),
    }
}

/// Reads hosts from text; `file` is the name that errors show.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str, file: &str) -> Result<Hosts, SpecError> {
    let hosts: Hosts = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        error_at(text, file, at, error.message())
    })?;
    let Roles { client, server } = &hosts.host;
    let checked = check_name("client", &client.ssh)
        .and_then(|()| check_name("server", &server.ssh))
        .and_then(|()| check_address(server.address));
    checked.map_err(|wrong| error_about(text, file, wrong))?;
    Ok(hosts)
}

/// Characters that versions of `ssh` before 9.6 pass unchanged to the shell of a `ProxyCommand`
/// (CVE-2023-51385).
const FOR_A_SHELL: &[u8] = b"'`\"$\\;&<>|(){}*?!#";

/// Checks the name of a host. A name that begins with a hyphen would be an option of `ssh`.
fn check_name(role: &str, name: &str) -> Sense {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !FOR_A_SHELL.contains(&byte);
    let is_name = !name.is_empty() && !name.starts_with('-') && name.bytes().all(is_plain);
    must(is_name, place!["host", role, "ssh"], || {
        "expected what you type after `ssh`: a name without spaces that does not begin \
         with `-` and has nothing that a shell acts on"
            .to_owned()
    })
}

fn check_address(address: IpAddr) -> Sense {
    let address = address.to_canonical();
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    let is_none = address.is_unspecified() || address.is_multicast() || is_broadcast;
    let is_right = !is_none && !address.is_loopback();
    must(is_right, place!["host", "server", "address"], || {
        "expected the address by which the client's host reaches the server's: not \
         loopback, and of one host"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(from: &str, to: &str) -> String {
        assert!(EXAMPLE.contains(from), "{from}");
        parse(&EXAMPLE.replacen(from, to, 1), "h.toml")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_example_is_right() {
        let hosts = parse(EXAMPLE, "h.toml").unwrap();
        assert_eq!(hosts.host.server.address.to_string(), "10.0.0.2");
    }

    #[test]
    fn a_machine_is_found_by_its_role_and_by_its_name_and_others_are_not() {
        let hosts = parse(&EXAMPLE.replacen("NAME", "db1", 1), "h.toml").unwrap();
        for (name, ssh) in [("client", "db1"), ("db1", "db1"), ("server", "NAME")] {
            assert_eq!(hosts.named(name).unwrap(), ssh);
        }
        let said = hosts.named("http://db1/").unwrap_err().to_string();
        assert!(
            said.contains("names db1 (client) and NAME (server)"),
            "{said}"
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (from, to, words) in [
            (
                "\"NAME\"",
                "\"-oProxyCommand=x\"",
                "h.toml:2:7: `host.client.ssh`",
            ),
            ("\"NAME\"", "\"two words\"", "without spaces"),
            ("\"NAME\"", "\"a;id\"", "a shell acts on"),
            ("\"NAME\"", "\"a$(id)\"", "a shell acts on"),
            ("\"NAME\"", "7", "h.toml:2:7"),
            (
                "10.0.0.2",
                "127.0.0.1",
                "h.toml:5:11: `host.server.address`",
            ),
            ("10.0.0.2", "::ffff:127.0.0.1", "not loopback"),
            ("10.0.0.2", "224.0.0.1", "of one host"),
            ("10.0.0.2", "server.example", "h.toml:5:11"),
            ("[host.server]", "[host.sever]", "h.toml:3:"),
            ("ssh =", "shh =", "h.toml:2:1"),
        ] {
            let said = complaint(from, to);
            assert!(said.contains(words), "{from} as {to}: {said}");
        }
    }
}
