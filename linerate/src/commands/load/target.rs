//! The target of a load: its address, looked up once, and its first answers.

use anyhow::Context as _;
use sys::address::Address;
use traffic::load::{LoadPlan, ProbeError};
use wire::url::HttpUrl;

use super::requests::Requests;
use super::two_answers::TwoAnswers;
use super::{Arguments, unix_socket};
use crate::failure::words;
use crate::ownership;
use crate::request::tls;

/// A target that answers. Its address is looked up only once.
#[derive(Debug)]
pub(super) struct Target {
    /// The URL without its query, or the server alone where requests are mixed.
    pub(super) shown: String,
    pub(super) address: Address,
    pub(super) look: TwoAnswers,
}

impl Target {
    /// Looks the host up, checks that it may be loaded, and chooses the first address that answers.
    pub(super) fn find(
        url: &HttpUrl,
        arguments: &Arguments,
        requests: &Requests,
        plan: &LoadPlan,
    ) -> anyhow::Result<Self> {
        let addresses = addresses(url, arguments)?;
        let (address, first) =
            first_answer(&addresses, |address| requests.ask(0, address, plan))
                .with_context(|| format!("{} does not answer", url.without_query()))?;
        first.check_streams(plan.streams()).map_err(words)?;
        let second = requests
            .ask(0, &address, plan)
            .map_err(tls::advised)
            .with_context(|| format!("{} answered once and no more", url.without_query()))?;
        Ok(Self {
            shown: requests.shown(url),
            address,
            look: TwoAnswers::of(first, &second),
        })
    }
}

/// The first address that can be connected to, and what it answers.
pub(super) fn first_answer<Place: Clone, Answer>(
    addresses: &[Place],
    ask: impl Fn(&Place) -> Result<Answer, ProbeError>,
) -> anyhow::Result<(Place, Answer)> {
    let mut refusal = None;
    for address in addresses {
        match ask(address) {
            Ok(answer) => return Ok((address.clone(), answer)),
            Err(error @ ProbeError::Connect { .. }) => refusal = Some(error),
            Err(error) => return Err(tls::advised(error)),
        }
    }
    let none = || anyhow::anyhow!("the host has no address");
    Err(refusal.map_or_else(none, unix_socket::advised))
}

/// Possible addresses of the target: those of its host, or the socket that was given, which is on
/// this machine whatever the host is.
fn addresses(url: &HttpUrl, arguments: &Arguments) -> anyhow::Result<Vec<Address>> {
    if let Some(socket) = &arguments.unix_socket {
        unix_socket::check(socket)?;
        return Ok(vec![Address::Unix(socket.clone())]);
    }
    let found = ownership::addresses(url, &arguments.mine)?;
    Ok(found.into_iter().map(Address::from).collect())
}

/// The processes of the server, where they can be seen.
pub(super) fn pids(address: &Address) -> Vec<u32> {
    match address {
        Address::Tcp(address) => machine::targets::listening_on(*address).unwrap_or_default(),
        Address::Unix(socket) => machine::targets::listening_at(socket.path()),
    }
}
