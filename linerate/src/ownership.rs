//! Which hosts may be loaded: this machine's loopback and, from within a rig, its hosts; any other
//! host only if its owner says so on the command line.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail};
use wire::url::HttpUrl;

use crate::rig_flags::HostsFlag;

/// Looks the host of a URL up and returns its addresses, if it may be loaded: if every one of
/// them is loopback, the host was typed out after `--mine`, or we are in a rig, which nothing leaves.
pub(crate) fn addresses(url: &HttpUrl, mine: &[String]) -> anyhow::Result<Vec<SocketAddr>> {
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let addresses: Vec<SocketAddr> = found
        .with_context(|| format!("looking up the host `{}`", url.host))?
        .collect();
    check_host(&url.host, mine, &addresses)?;
    Ok(addresses)
}

/// Looks up `HOST` or `HOST:PORT` and returns its addresses, if it may be loaded: the machines of
/// the user's hosts file may be loaded too.
pub(crate) fn machine(
    host: &str,
    usual_port: u16,
    hosts: &HostsFlag,
    mine: &[String],
) -> anyhow::Result<Vec<SocketAddr>> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            let port = port
                .parse()
                .with_context(|| format!("`{port}` is no port"))?;
            (name, port)
        }
        _ => (host, usual_port),
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let found = (name, port).to_socket_addrs();
    let found: Vec<SocketAddr> = found
        .with_context(|| format!("looking up the host `{name}`"))?
        .collect();
    let mut mine = mine.to_vec();
    if let Ok(named) = hosts.find_quietly() {
        let server = named.host.server.address;
        if found.iter().all(|address| address.ip() == server) {
            mine.push(name.to_owned());
        }
    } else if hosts.hosts.is_some() {
        hosts.find_quietly()?;
    }
    check_host(name, &mine, &found)?;
    Ok(found)
}

/// Checks that a host whose addresses are known may be loaded.
pub(crate) fn check_host(
    host: &str,
    mine: &[String],
    addresses: &[SocketAddr],
) -> anyhow::Result<()> {
    match machine::rig::is_inside() {
        true => Ok(()),
        false => check(host, mine, addresses),
    }
}

fn check(host: &str, mine: &[String], addresses: &[SocketAddr]) -> anyhow::Result<()> {
    let is_loopback = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
    let is_named = mine.iter().any(|named| named.eq_ignore_ascii_case(host));
    // Every address must be ours, since any of them may be used.
    if is_named || addresses.iter().all(is_loopback) {
        return Ok(());
    }
    bail!(
        "`{host}` is not this machine's loopback. Load can put a server out of service, so it goes \
         only where you say it may: if `{host}` is yours, add --mine {host}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_loopback_the_host_must_be_typed_out() {
        let far = [SocketAddr::from(([10, 0, 0, 7], 80))];
        let near = [
            SocketAddr::from(([127, 0, 0, 2], 80)),
            "[::1]:80".parse().unwrap(),
        ];
        let both = [near[0], far[0]];
        let typed = |host: &str| vec![host.to_owned()];
        assert!(check("a", &[], &near).is_ok());
        assert!(check("a", &[], &far).is_err());
        assert!(check("a", &[], &both).is_err());
        assert!(check("a", &typed("b"), &far).is_err());
        assert!(check("a", &typed("A"), &far).is_ok());
    }
}
