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
            "--seed has no effect where the same request is sent again after the answer to the \
             last: it is for --rate, --slo and --sweep, and for requests that are mixed (--mix, \
             several URLs) or hold a number to draw ({{id:1..1000}})"
        );
        Ok(Self {
            prepared: request.prepare(&urls[0], &spec)?,
            spec,
        })
    }

    /// Sends the request of one kind once, on a connection of its own.
    pub(super) fn ask(
        &self,
        kind: usize,
        address: &Address,
        plan: &LoadPlan,
    ) -> Result<Asked, ProbeError> {
        let tls = plan.tls.as_ref();
        self.prepared.ask(kind, address, tls, plan.timeout_ns)
    }

    /// Evaluates two answers of each kind of request, of which those of the first kind are given,
    /// and returns remarks for the reader. Where the two bodies of a kind differ, bodies of that
    /// kind are not compared.
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
            // Requests with different numbers may well have different bodies.
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

    /// Name of a kind for readers.
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

    /// The mix that requests are drawn from; `None` for one and the same request.
    pub(super) fn mix(&self) -> Option<&MixSpec> {
        self.spec.mix.as_ref()
    }

    /// Mark that distinguishes these requests from others in a folder that does not save them: two
    /// bytes of their hash. The root certificates are left out, because a system renews its own.
    pub(super) fn mark(&self, plan: &LoadPlan) -> String {
        let mut spec = self.spec.clone();
        spec.tls.roots = spec.tls.roots.map(|_| String::new());
        let asked = (spec, plan.engine.name(), &plan.cpus);
        let asked = serde_json::to_string(&asked).unwrap_or_default();
        let mut hash = foreign::sha256::of(&asked);
        hash.truncate(4);
        hash
    }

    /// The URL without its query, or only the server and the number of kinds of request.
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

/// Parses the URLs, which must all be of one server.
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
