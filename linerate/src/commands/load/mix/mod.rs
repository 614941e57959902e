//! Requests of several kinds: from a file, or from several URLs.

mod file;
mod report;

use std::path::Path;

use anyhow::{Context as _, ensure};
use sys::address::Address;
use traffic::load::LoadPlan;
use traffic::load::http::HttpProtocol;
use traffic::load::mix::{KindSpec, Mix};
use wire::url::HttpUrl;

use super::Arguments;
use super::two_answers::TwoAnswers;
pub(super) use report::{MixShape, shape};

/// A mix, and what a reader knows its kinds by.
pub(super) struct Mixed {
    mix: Mix,
    kinds: Vec<Named>,
    seed: u64,
    /// The server, and how many kinds.
    shown: String,
}

/// One kind of request as it was asked for.
struct Named {
    name: String,
    spec: KindSpec,
}

/// Those of a file; the URL says the server alone.
pub(super) fn from_file(
    file: &Path,
    arguments: &Arguments,
    urls: &[HttpUrl],
) -> anyhow::Result<Mixed> {
    ensure!(
        urls.len() == 1 && urls[0].target == "/",
        "with --mix the paths stand in the file, and the URL says the server alone, such as \
         http://127.0.0.1:8080"
    );
    let kinds = file::read(file, &arguments.request.headers)?;
    put_together(kinds, arguments, &urls[0]).with_context(|| format!("--mix {}", file.display()))
}

/// One kind for each URL; one that stands there twice comes twice as often.
pub(super) fn from_urls(arguments: &Arguments, urls: &[HttpUrl]) -> anyhow::Result<Mixed> {
    let mut kinds: Vec<Named> = Vec::new();
    for url in urls {
        let known = kinds.iter_mut().find(|kind| kind.spec.path == url.target);
        match known {
            Some(kind) => kind.spec.weight += 1,
            None => kinds.push(of_url(arguments, url)?),
        }
    }
    put_together(kinds, arguments, &urls[0])
}

fn of_url(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<Named> {
    let spec = KindSpec {
        weight: 1,
        method: arguments.request.method(),
        path: url.target.clone(),
        headers: arguments.request.headers.clone(),
        body: arguments.request.body()?,
    };
    Ok(Named {
        name: name(&spec),
        spec,
    })
}

/// What a kind is called that was given no name. A query may hold secrets.
fn name(spec: &KindSpec) -> String {
    let path = spec.path.split('?').next().unwrap_or_default();
    format!("{} {path}", spec.method)
}

fn put_together(kinds: Vec<Named>, arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<Mixed> {
    let specs: Vec<KindSpec> = kinds.iter().map(|kind| kind.spec.clone()).collect();
    let seed = arguments.seed();
    let mix = Mix::new(&url.host_header(), &specs, seed).map_err(|(index, error)| {
        let name = kinds.get(index).map_or("", |kind| &kind.name);
        anyhow::Error::new(error).context(format!("request {} (`{name}`)", index + 1))
    })?;
    let server = HttpUrl {
        target: "/".to_owned(),
        ..url.clone()
    };
    let (count, plural) = (kinds.len(), if kinds.len() == 1 { "" } else { "s" });
    Ok(Mixed {
        mix,
        seed,
        shown: format!(
            "{}, {count} kind{plural} of request",
            server.without_query()
        ),
        kinds,
    })
}

impl Mixed {
    pub(super) fn protocol(&self) -> &Mix {
        &self.mix
    }

    /// The server, and how many kinds.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// A request of the first kind.
    pub(super) fn first(&self) -> &HttpProtocol {
        let first = self.mix.samples().next();
        first.expect("a mix has at least one kind, or it is refused")
    }

    /// Looks at every kind; where a body differs from the next, those of that kind are not compared.
    pub(super) fn look(
        &mut self,
        address: &Address,
        look: &TwoAnswers,
        plan: &LoadPlan,
    ) -> anyhow::Result<Vec<String>> {
        let others = self.mix.samples().skip(1);
        let others = others.zip(&self.kinds[1..]).map(|(request, kind)| {
            TwoAnswers::take(address, request, plan)
                .with_context(|| format!("`{}` is not answered", kind.name))
        });
        let first = std::iter::once(Ok(look.clone()));
        let looks: Vec<TwoAnswers> = first.chain(others).collect::<anyhow::Result<_>>()?;
        let mut notes = Vec::new();
        for (index, mut look) in looks.into_iter().enumerate() {
            // Bodies of other numbers may well be others.
            look.body_is_steady |= !self.mix.is_constant(index);
            if !look.body_is_steady {
                self.mix.compare_no_bodies(index);
            }
            notes.extend(look.notes(&format!("`{}`", self.kinds[index].name)));
        }
        Ok(notes)
    }
}
