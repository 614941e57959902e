//! What is loaded: the URL taken apart, the address pinned, the right to load it, a first look.

use std::net::{SocketAddr, ToSocketAddrs as _};

use anyhow::{Context as _, bail, ensure};
use traffic::load::http::HttpProtocol;
use traffic::load::{Probe, ProbeError, probe};

/// The parts of an `http://` URL that a request is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// Name or address, without brackets.
    host: String,
    port: u16,
    /// For the `Host` header: host, and port unless it is 80.
    pub(super) authority: String,
    /// Path and query, from `/` on.
    pub(super) path: String,
}

impl Url {
    /// Takes `http://[user@]host[:port][/path][?query][#fragment]` apart. Credentials are refused
    /// rather than dropped without a word, and no part that may hold a secret is in an error.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let Some((scheme, rest)) = text.split_once("://") else {
            bail!("a URL begins with http://, such as http://127.0.0.1:8080/");
        };
        ensure!(
            !scheme.eq_ignore_ascii_case("https"),
            "https is not spoken: load the server's plain http port"
        );
        ensure!(
            scheme.eq_ignore_ascii_case("http"),
            "only http:// URLs can be loaded"
        );
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        ensure!(
            !authority.contains('@'),
            "credentials in a URL are not sent: use -H 'Authorization: …'"
        );
        let (host, port) = split_port(authority)?;
        ensure!(!host.is_empty(), "the URL names no host");
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self {
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            port,
            authority: if port == 80 {
                host.to_owned()
            } else {
                format!("{host}:{port}")
            },
            path: format!("{slash}{path}"),
        })
    }

    /// The URL without its query, which may hold secrets.
    fn shown(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        format!("http://{}{path}", self.authority)
    }
}

/// Host (an IPv6 address in its brackets) and port, which is 80 unless stated.
fn split_port(authority: &str) -> anyhow::Result<(&str, u16)> {
    let after_address = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_address..].find(':') {
        None => Ok((authority, 80)),
        Some(colon) => {
            let (host, port) = authority.split_at(after_address + colon);
            let port = port[1..].parse().ok().filter(|port| *port > 0);
            Ok((
                host,
                port.context("the port of the URL is no number from 1 to 65535")?,
            ))
        }
    }
}

/// A target that answers: its address is looked up once and kept.
#[derive(Debug)]
pub(super) struct Target {
    /// The URL without its query.
    pub(super) shown: String,
    pub(super) address: SocketAddr,
    pub(super) first: Probe,
    /// Two answers had the same body.
    pub(super) body_is_steady: bool,
}

impl Target {
    /// Looks the host up, sees that it may be loaded, and takes the first address that answers.
    pub(super) fn find(
        url: Url,
        mine: Option<&str>,
        request: &HttpProtocol,
        timeout_ns: u64,
    ) -> anyhow::Result<Self> {
        let looked_up = (url.host.as_str(), url.port).to_socket_addrs();
        let addresses: Vec<SocketAddr> = looked_up
            .with_context(|| format!("looking up the host `{}`", url.host))?
            .collect();
        check_right(&url.host, mine, &addresses)?;
        let (address, first) = first_answer(&addresses, request, timeout_ns)
            .with_context(|| format!("{} does not answer", url.shown()))?;
        let second = probe(address, request, timeout_ns)
            .with_context(|| format!("{} answered once and no more", url.shown()))?;
        Ok(Self {
            shown: url.shown(),
            address,
            first,
            body_is_steady: first.body == second.body,
        })
    }

    /// What a reader should know about how this target is taken.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let status = self.first.status;
        if (300..400).contains(&status) {
            notes.push(format!(
                "the target answers {status}; a redirect is an answer here and is not followed"
            ));
        }
        if status >= 400 {
            notes.push(format!(
                "the target answers {status}, which counts as a failure"
            ));
        }
        if !self.body_is_steady {
            notes.push("two answers had different bodies, so bodies are not compared".to_owned());
        }
        notes
    }
}

/// Load goes freely to loopback; for anything else somebody has to say "it is mine".
fn check_right(host: &str, mine: Option<&str>, addresses: &[SocketAddr]) -> anyhow::Result<()> {
    let is_loopback = addresses
        .iter()
        .all(|address| address.ip().to_canonical().is_loopback());
    match mine {
        _ if is_loopback => Ok(()),
        Some(named) if named.eq_ignore_ascii_case(host) => Ok(()),
        Some(named) => {
            bail!("--mine says `{named}`, but the URL says `{host}`: they must be the same")
        }
        None => bail!(
            "`{host}` is not this machine's loopback. Load can put a server out of service, so it \
             goes only where you say it may: if `{host}` is yours, add --mine {host}"
        ),
    }
}

fn first_answer(
    addresses: &[SocketAddr],
    request: &HttpProtocol,
    timeout_ns: u64,
) -> anyhow::Result<(SocketAddr, Probe)> {
    let mut refusal = None;
    for address in addresses {
        match probe(*address, request, timeout_ns) {
            Ok(answer) => return Ok((*address, answer)),
            Err(error @ ProbeError::Connect { .. }) => refusal = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(refusal.map_or_else(|| anyhow::anyhow!("the host has no address"), Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = |text| Url::parse(text).unwrap();
        let whole = url("http://a.test:8080/b/c?d=e#f");
        assert_eq!((whole.host.as_str(), whole.port), ("a.test", 8080));
        assert_eq!(
            (whole.authority.as_str(), whole.path.as_str()),
            ("a.test:8080", "/b/c?d=e")
        );
        let bare = url("HTTP://a.test");
        assert_eq!(
            (bare.authority.as_str(), bare.path.as_str(), bare.port),
            ("a.test", "/", 80)
        );
        let v6 = url("http://[::1]:81?q");
        assert_eq!(
            (v6.host.as_str(), v6.authority.as_str(), v6.path.as_str()),
            ("::1", "[::1]:81", "/?q")
        );
    }

    #[test]
    fn what_cannot_be_loaded_is_refused() {
        for text in [
            "a",
            "https://a/",
            "ftp://a/",
            "http://",
            "http://:80/",
            "http://a:0/",
            "http://a:x/",
            "http://a:70000/",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_of_a_url_are_neither_shown_nor_in_errors() {
        assert_eq!(
            Url::parse("http://a/b?token=secret").unwrap().shown(),
            "http://a/b"
        );
        let error = Url::parse("http://user:secret@a/").unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn beyond_loopback_the_host_must_be_typed_out() {
        let far = [SocketAddr::from(([10, 0, 0, 7], 80))];
        let near = [
            SocketAddr::from(([127, 0, 0, 2], 80)),
            "[::1]:80".parse().unwrap(),
        ];
        let both = [near[0], far[0]];
        assert!(check_right("a", None, &near).is_ok());
        assert!(check_right("a", None, &far).is_err());
        assert!(check_right("a", None, &both).is_err());
        assert!(check_right("a", Some("b"), &far).is_err());
        assert!(check_right("a", Some("A"), &far).is_ok());
    }
}
