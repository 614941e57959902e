//! The flags that say which request is sent, and how it gets there: those of `load` and of `versus`.

mod mix;
pub(crate) mod tls;

use std::path::{Path, PathBuf};

use agent::request::Prepared;
use anyhow::{Context as _, ensure};
use clap::ValueHint;
use model::request::{Content, KindSpec, MixSpec, RequestSpec};
use sys::address::SocketPath;
use traffic::load::mix::has_template;
use wire::url::HttpUrl;

use crate::values;
use tls::TlsFlags;

pub(crate) const WHERE: &str = "Where and by what";
/// What stands in a command that repeats a run in the place of what may be secret.
pub(crate) const KEPT_BACK: &str = "…";
pub(crate) const REQUEST: &str = "Request";

/// Which request is sent.
#[derive(clap::Args)]
pub(crate) struct RequestFlags {
    /// Speak HTTP/2, with --streams N so many requests at once on each connection
    ///
    /// By TLS the server must agree to it (ALPN h2); in the clear it is taken for granted that the
    /// server speaks it (h2c with prior knowledge). What one thread sends and receives at once goes
    /// together, so a request may leave some µs later than its time says. A server that ends a
    /// connection in good order, as nginx does after 1000 requests, is asked once more on a new one
    /// what it did not begin with.
    #[arg(long)]
    pub(crate) http2: bool,
    /// With --http2: requests under way at once on each connection [default: 1]
    #[arg(long, value_name = "N", value_parser = values::parse_count, requires = "http2", hide_short_help = true)]
    pub(crate) streams: Option<u32>,
    /// Requests under way at once on each connection of HTTP/1.1, answered in their order (pipelining)
    ///
    /// One waits for the answers before its own. In closed loop those that become due while the answers of a
    /// connection are taken leave together, so some µs later than their time says. What lies
    /// behind an answer with `Connection: close` was not begun with and is asked once more on a new
    /// connection; behind any other failure it is lost, and counted as `closed`.
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = values::parse_count, conflicts_with = "http2", hide_short_help = true)]
    pub(crate) pipeline: u32,
    /// Requests of several kinds, with weights: a TOML file (docs/mixes.md)
    ///
    /// A table `[[request]]` for each, with its path, and as it needs them weight, method, headers, body
    /// or body_file. The URL says the server alone. A header of -H is one of all, in place of any of
    /// its name.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["method", "body", "http2"], help_heading = REQUEST)]
    mix: Option<PathBuf>,
    /// HTTP method [default: GET, or POST with a body]
    #[arg(short = 'X', short_alias = 'm', long, help_heading = REQUEST)]
    method: Option<String>,
    /// Header to add, such as 'Accept: text/plain'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = values::parse_header, help_heading = REQUEST)]
    pub(crate) headers: Vec<(String, String)>,
    /// Body to send: a text, or @FILE for the content of a file
    #[arg(long, value_name = "TEXT|@FILE", help_heading = REQUEST)]
    body: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
}

impl RequestFlags {
    /// The request to a URL, with its query and its headers, or to several of one server; what is drawn
    /// is repeated by the seed.
    pub(crate) fn spec(
        &self,
        urls: &[HttpUrl],
        text: &str,
        socket: Option<&SocketPath>,
        seed: u64,
    ) -> anyhow::Result<RequestSpec> {
        let kinds = self.kinds(urls)?;
        Ok(RequestSpec {
            url: text.to_owned(),
            method: self.method(),
            headers: self.headers.clone(),
            body: self.body()?.bytes().to_vec(),
            streams: self.streams(),
            pipeline: self.pipeline,
            tls: self.tls.spec(&urls[0])?,
            unix_socket: socket.map(|socket| socket.path().to_owned()),
            mix: kinds.map(|kinds| MixSpec { seed, kinds }),
        })
    }

    /// The request as it is sent.
    pub(crate) fn prepare(&self, url: &HttpUrl, spec: &RequestSpec) -> anyhow::Result<Prepared> {
        Prepared::new(url, spec).with_context(|| match &self.mix {
            Some(file) => format!("--mix {}", file.display()),
            None => "the request cannot be sent".to_owned(),
        })
    }

    /// The kinds of request, where there are several or some have a number to draw.
    fn kinds(&self, urls: &[HttpUrl]) -> anyhow::Result<Option<Vec<KindSpec>>> {
        let has_templates =
            self.has_templates() || urls.iter().any(|url| has_template(&url.target));
        let is_mixed = urls.len() > 1 || has_templates;
        ensure!(
            !(self.http2 && is_mixed),
            "--http2 sends one request again and again: give one URL, without a number to draw \
             ({{id:1..1000}}), or leave --http2 out"
        );
        let Some(file) = &self.mix else {
            return is_mixed.then(|| self.kinds_of(urls)).transpose();
        };
        ensure!(
            urls.len() == 1 && urls[0].target == "/",
            "with --mix the paths stand in the file, and the URL says the server alone, such as \
             http://127.0.0.1:8080"
        );
        mix::read(file, &self.headers).map(Some)
    }

    /// One kind for each URL; one that stands there twice comes twice as often.
    fn kinds_of(&self, urls: &[HttpUrl]) -> anyhow::Result<Vec<KindSpec>> {
        let mut kinds: Vec<KindSpec> = Vec::new();
        for url in urls {
            if let Some(known) = kinds.iter_mut().find(|kind| kind.path == url.target) {
                known.weight += 1;
                continue;
            }
            kinds.push(KindSpec {
                name: mix::name(&self.method(), &url.target),
                weight: 1,
                method: self.method(),
                path: url.target.clone(),
                headers: self.headers.clone(),
                body: self.body()?,
            });
        }
        Ok(kinds)
    }

    /// Refuses what excludes one another.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let closes = |(name, _): &(String, String)| name.eq_ignore_ascii_case("connection");
        ensure!(
            self.pipeline == 1 || !self.headers.iter().any(closes),
            "--pipeline {} and a header `Connection` exclude one another: that ends the connection behind \
             the first answer, or keeps it as it is kept anyway",
            self.pipeline
        );
        for (flag, at_once) in [("streams", self.streams), ("pipeline", Some(self.pipeline))] {
            ensure!(
                at_once != Some(0),
                "--{flag} 0 carries nothing: 1 is the least"
            );
        }
        Ok(())
    }

    /// Streams of a connection; `None` of HTTP/1.1.
    pub(crate) fn streams(&self) -> Option<u32> {
        self.http2.then(|| self.streams.unwrap_or(1))
    }

    fn method(&self) -> String {
        let default = match self.body {
            Some(_) => "POST",
            None => "GET",
        };
        let method = self.method.as_deref().unwrap_or(default);
        method.to_ascii_uppercase()
    }

    fn body(&self) -> anyhow::Result<Content> {
        let text = self.body.as_deref().unwrap_or_default();
        match text.strip_prefix('@') {
            None => Ok(Content::Text(text.to_owned())),
            Some(file) => {
                let bytes = foreign::file::read_any(Path::new(file), mix::MOST_BODY_BYTES);
                let bytes = bytes.with_context(|| format!("reading the body from `{file}`"))?;
                Ok(Content::Bytes(bytes))
            }
        }
    }

    /// A body that was typed, and not named as a file.
    fn typed_body(&self) -> Option<&str> {
        self.body.as_deref().filter(|text| !text.starts_with('@'))
    }

    /// Whether a number is to be drawn for each request.
    fn has_templates(&self) -> bool {
        let values = self.headers.iter().map(|(_, value)| value.as_str());
        values.chain(self.typed_body()).any(has_template)
    }

    /// What is asked, in one sentence without what may be secret.
    pub(crate) fn sentence(&self) -> String {
        let headers = match self.headers.len() {
            0 => String::new(),
            1 => " with one header of its own".to_owned(),
            several => format!(" with {several} headers of its own"),
        };
        let body = if self.body.is_some() { ", a body" } else { "" };
        let over = match (self.streams(), self.pipeline) {
            (Some(streams), _) => format!(" by HTTP/2, {streams} at once on each connection"),
            (None, 1) => String::new(),
            (None, several) => format!(", {several} at once on each connection"),
        };
        if self.mix.is_some() {
            return format!(
                "Requests are of several kinds, drawn by their weights, in the same order on each connection of \
                 every block{headers}{over}."
            );
        }
        format!("Each request is a {}{headers}{body}{over}.", self.method())
    }
}
