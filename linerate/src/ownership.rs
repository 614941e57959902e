//! Load goes freely to this machine; to any other only with the owner's word, typed out.

use std::net::{IpAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail};
use wire::url::HttpUrl;

/// Lets a URL through whose host is loopback or named by `--mine`.
///
/// # Errors
/// Says what to type, if the host is the caller's to load.
pub(crate) fn check(url: &str, mine: &[String]) -> anyhow::Result<()> {
    let url = HttpUrl::parse(url)?;
    if mine.contains(&url.host) {
        return Ok(());
    }
    let mut addresses = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .with_context(|| format!("{} cannot be found", url.host))?;
    // Every address that the name has must be ours, since any of them may be taken.
    if addresses.all(|address| is_loopback(address.ip())) {
        return Ok(());
    }
    bail!(
        "{host} is not this machine, and load can harm what it hits; if you may load it, say so: \
         --mine {host}",
        host = url.host
    )
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}
