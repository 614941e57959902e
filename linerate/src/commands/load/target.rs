//! What is loaded: the address pinned, and a first look.

use std::net::SocketAddr;

use anyhow::Context as _;
use traffic::load::http::HttpProtocol;
use traffic::load::{LoadPlan, Probe, ProbeError, probe};
use wire::url::HttpUrl;

use super::tls;
use crate::ownership;

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
        url: &HttpUrl,
        mine: &[String],
        request: &HttpProtocol,
        plan: &LoadPlan,
    ) -> anyhow::Result<Self> {
        let addresses = ownership::addresses(url, mine)?;
        let (address, first) = first_answer(&addresses, |address| ask(address, request, plan))
            .with_context(|| format!("{} does not answer", url.without_query()))?;
        let second = ask(address, request, plan)
            .map_err(tls::advised)
            .with_context(|| format!("{} answered once and no more", url.without_query()))?;
        Ok(Self {
            shown: url.without_query(),
            address,
            body_is_steady: first.body == second.body,
            first,
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

/// The first address that can be connected to, and what it answers.
pub(super) fn first_answer<Answer>(
    addresses: &[SocketAddr],
    ask: impl Fn(SocketAddr) -> Result<Answer, ProbeError>,
) -> anyhow::Result<(SocketAddr, Answer)> {
    let mut refusal = None;
    for address in addresses {
        match ask(*address) {
            Ok(answer) => return Ok((*address, answer)),
            Err(error @ ProbeError::Connect { .. }) => refusal = Some(error),
            Err(error) => return Err(tls::advised(error)),
        }
    }
    Err(refusal.map_or_else(|| anyhow::anyhow!("the host has no address"), Into::into))
}

fn ask(address: SocketAddr, request: &HttpProtocol, plan: &LoadPlan) -> Result<Probe, ProbeError> {
    probe(address, plan.tls.as_ref(), request, plan.timeout_ns)
}
