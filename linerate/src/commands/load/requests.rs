//! What is sent: one request again and again, or several kinds of request, mixed.

use agent::request::{Asked, Prepared};
use anyhow::{Context as _, ensure};
use sys::address::Address;
use traffic::load::mix::has_template;
use traffic::load::{LoadError, LoadOutcome, LoadPlan, Loads as _, Observer, ProbeError};
use wire::url::HttpUrl;

use super::mix::Mixed;
use super::two_answers::TwoAnswers;
use super::{Arguments, mix};

pub(super) enum Requests {
    One(Prepared),
    Mix(Mixed),
}

impl Requests {
    /// Puts together what the arguments ask for.
    pub(super) fn prepare(arguments: &Arguments, urls: &[HttpUrl]) -> anyhow::Result<Self> {
        let is_mix = urls.len() > 1 || has_templates(arguments, urls);
        ensure!(
            !(arguments.request.http2 && is_mix),
            "--http2 sends one request again and again: give one URL, without a number to draw \
             ({{id:1..1000}}), or leave --http2 out"
        );
        if let Some(file) = &arguments.mix {
            return mix::from_file(file, arguments, urls).map(Self::Mix);
        }
        if is_mix {
            return mix::from_urls(arguments, urls).map(Self::Mix);
        }
        ensure!(
            arguments.seed.is_none() || arguments.is_searched_or_open(),
            "--seed has nothing to decide where one and the same request follows upon the answer to \
             the last: it is for --rate, --slo and --sweep, and for requests that are mixed (--mix, \
             several URLs) or hold a number to draw ({{id:1..1000}})"
        );
        prepare(arguments, &urls[0]).map(Self::One)
    }

    /// Sends the first of them once, on a connection of its own.
    pub(super) fn ask(&self, address: &Address, plan: &LoadPlan) -> Result<Asked, ProbeError> {
        match self {
            Self::One(request) => request.ask(address, plan.tls.as_ref(), plan.timeout_ns),
            Self::Mix(mixed) => {
                Asked::once(address, mixed.first(), plan.tls.as_ref(), plan.timeout_ns)
            }
        }
    }

    /// Makes the best of a first look, takes one at each other kind of request, and says what a
    /// reader should know of them.
    pub(super) fn look(
        self,
        address: &Address,
        look: &TwoAnswers,
        plan: &LoadPlan,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        match self {
            Self::One(request) => {
                let request = match look.body_is_steady {
                    true => request,
                    false => request.without_comparing_bodies(),
                };
                Ok((Self::One(request), look.notes("the target")))
            }
            Self::Mix(mut mixed) => {
                let notes = mixed.look(address, look, plan)?;
                Ok((Self::Mix(mixed), notes))
            }
        }
    }

    /// Puts one block of load on.
    pub(super) fn put_on(
        &self,
        plan: &LoadPlan,
        observer: &mut dyn Observer,
    ) -> Result<LoadOutcome, LoadError> {
        match self {
            Self::One(request) => request.load(plan, observer),
            Self::Mix(mixed) => mixed.protocol().load(plan, observer),
        }
    }

    pub(super) fn mixed(&self) -> Option<&Mixed> {
        match self {
            Self::One(_) => None,
            Self::Mix(mixed) => Some(mixed),
        }
    }
}

/// One request as the arguments say.
pub(super) fn prepare(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<Prepared> {
    let spec = arguments.request.spec(url, "", None)?;
    Prepared::new(url, &spec).context("the request cannot be sent")
}

/// Whether a number is to be drawn for each request.
fn has_templates(arguments: &Arguments, urls: &[HttpUrl]) -> bool {
    arguments.request.has_templates() || urls.iter().any(|url| has_template(&url.target))
}

/// The URLs in their parts; a load goes to one server.
pub(super) fn urls(arguments: &Arguments) -> anyhow::Result<Vec<HttpUrl>> {
    let parse = |(number, text): (usize, &String)| match arguments.urls.len() {
        1 => Ok(HttpUrl::parse(text)?),
        _ => HttpUrl::parse(text).with_context(|| format!("URL {number}")),
    };
    let urls: Vec<HttpUrl> = (1..)
        .zip(&arguments.urls)
        .map(parse)
        .collect::<anyhow::Result<_>>()?;
    let place = |url: &HttpUrl| (url.scheme, url.host.to_ascii_lowercase(), url.port);
    let other = urls.iter().position(|url| place(url) != place(&urls[0]));
    if let Some(other) = other {
        anyhow::bail!(
            "a load goes to one server, and URL {} is of another than URL 1: start one load for \
             each",
            other + 1
        );
    }
    Ok(urls)
}
