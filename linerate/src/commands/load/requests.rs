//! What is sent: one request again and again, or several kinds of request, mixed.

use agent::request::{Asked, Prepared};
use anyhow::{Context as _, ensure};
use model::request::{MixSpec, RequestSpec};
use sys::address::Address;
use traffic::load::{LoadError, LoadOutcome, LoadPlan, Observer, ProbeError};
use wire::url::HttpUrl;

use super::Arguments;
use super::two_answers::TwoAnswers;

pub(super) struct Requests {
    prepared: Prepared,
    spec: RequestSpec,
}

impl Requests {
    /// Puts together what the arguments ask for.
    pub(super) fn prepare(arguments: &Arguments, urls: &[HttpUrl]) -> anyhow::Result<Self> {
        let request = &arguments.request;
        let spec = request.spec(urls, &arguments.urls[0], None, arguments.seed())?;
        ensure!(
            arguments.seed.is_none() || spec.mix.is_some() || arguments.is_searched_or_open(),
            "--seed has nothing to decide where one and the same request follows upon the answer to \
             the last: it is for --rate, --slo and --sweep, and for requests that are mixed (--mix, \
             several URLs) or hold a number to draw ({{id:1..1000}})"
        );
        Ok(Self {
            prepared: request.prepare(&urls[0], &spec)?,
            spec,
        })
    }

    /// Sends that of one kind once, on a connection of its own.
    pub(super) fn ask(
        &self,
        kind: usize,
        address: &Address,
        plan: &LoadPlan,
    ) -> Result<Asked, ProbeError> {
        let tls = plan.tls.as_ref();
        self.prepared.ask(kind, address, tls, plan.timeout_ns)
    }

    /// Makes the best of a first look, takes one at each other kind of request, and says what a
    /// reader should know of them. Where a body differs from the next, those of that kind are not
    /// compared.
    pub(super) fn look(
        mut self,
        address: &Address,
        first: &TwoAnswers,
        plan: &LoadPlan,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let mut notes = Vec::new();
        for kind in 0..self.prepared.kinds() {
            let who = self.name(kind);
            let mut look = match kind {
                0 => first.clone(),
                _ => self
                    .ask_twice(kind, address, plan)
                    .with_context(|| format!("{who} is not answered"))?,
            };
            // Bodies of other numbers may well be others.
            look.body_is_steady |= self.prepared.draws_numbers(kind);
            if !look.body_is_steady {
                self.prepared.compare_no_bodies(kind);
            }
            notes.extend(look.notes(&who));
        }
        Ok((self, notes))
    }

    fn ask_twice(
        &self,
        kind: usize,
        address: &Address,
        plan: &LoadPlan,
    ) -> Result<TwoAnswers, ProbeError> {
        let once = || self.ask(kind, address, plan);
        Ok(TwoAnswers::of(once()?, &once()?))
    }

    /// What a reader knows a kind by.
    fn name(&self, kind: usize) -> String {
        match self.mix() {
            None => "the target".to_owned(),
            Some(mix) => format!("`{}`", mix.kinds[kind].name),
        }
    }

    /// Puts one block of load on.
    pub(super) fn put_on(
        &self,
        plan: &LoadPlan,
        observer: &mut dyn Observer,
    ) -> Result<LoadOutcome, LoadError> {
        self.prepared.load(plan, observer)
    }

    /// What they are drawn from; `None` of one and the same.
    pub(super) fn mix(&self) -> Option<&MixSpec> {
        self.spec.mix.as_ref()
    }

    /// By which they are told from others in a folder that does not keep them: two bytes of their hash.
    /// Whose certificates vouch for the server is left out, as a system renews its own.
    pub(super) fn mark(&self, plan: &LoadPlan) -> String {
        let mut spec = self.spec.clone();
        spec.tls.roots = spec.tls.roots.map(|_| String::new());
        let asked = (spec, plan.engine.name(), &plan.cpus);
        let asked = serde_json::to_string(&asked).unwrap_or_default();
        let mut hash = foreign::sha256::of(&asked);
        hash.truncate(4);
        hash
    }

    /// The URL without its query, or the server alone and how many kinds of request.
    pub(super) fn shown(&self, url: &HttpUrl) -> String {
        let Some(mix) = self.mix() else {
            return url.without_query();
        };
        let server = HttpUrl {
            target: "/".to_owned(),
            ..url.clone()
        };
        let (count, plural) = match mix.kinds.len() {
            1 => (1, ""),
            several => (several, "s"),
        };
        format!(
            "{}, {count} kind{plural} of request",
            server.without_query()
        )
    }
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
