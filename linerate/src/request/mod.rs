//! The flags of `load` and `versus` that say which request is sent, and how.

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

pub(crate) const WHERE: &str = "Where and how";
/// Replaces what may be secret in a command that repeats a run.
pub(crate) const KEPT_BACK: &str = "…";
pub(crate) const REQUEST: &str = "Request";

/// Which request is sent.
#[derive(clap::Args)]
pub(crate) struct RequestFlags {
    /// Speak HTTP/2, with --streams N requests at once on each connection
    ///
    /// With TLS the server must agree to it (ALPN h2); without TLS the server is assumed to speak
    /// it (h2c with prior knowledge). A thread sends and receives in batches, so a request may
    /// leave some µs later than its time says. If a server ends a connection in good order, as
    /// nginx does after 1000 requests, those that it did not begin are sent again on a new one.
    #[arg(long)]
    pub(crate) http2: bool,
    /// With --http2: requests under way at once on each connection [default: 1]
    #[arg(long, value_name = "N", value_parser = values::parse_count, requires = "http2", hide_short_help = true)]
    pub(crate) streams: Option<u32>,
    /// Requests under way at once on each HTTP/1.1 connection, answered in their order (pipelining)
    ///
    /// A request waits for the answers before its own. In closed loop, requests that become due
    /// while the answers of a connection are read leave together, some µs later than their time
    /// says. Requests behind an answer with `Connection: close` were not begun and are sent again
    /// on a new connection; behind any other failure they are lost, and counted as `closed`.
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = values::parse_count, conflicts_with = "http2", hide_short_help = true)]
    pub(crate) pipeline: u32,
    /// Requests of several kinds, with weights: a TOML file (docs/mixes.md)
    ///
    /// Each request is a table `[[request]]` with its path and, as needed, weight, method, headers,
    /// body or body_file. The URL names only the server. A header of -H is added to all requests,
    /// in place of any header of its name.
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
    /// Returns the request to a URL, with its query and its headers, or to several URLs of one
    /// server. The seed repeats what is drawn.
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

    /// Returns the request as it is sent.
    pub(crate) fn prepare(&self, url: &HttpUrl, spec: &RequestSpec) -> anyhow::Result<Prepared> {
        Prepared::new(url, spec).with_context(|| match &self.mix {
            Some(file) => format!("--mix {}", file.display()),
            None => "the request cannot be sent".to_owned(),
        })
    }

    /// Returns the kinds of request, if there are several or some have a number to draw.
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
            "with --mix the paths are in the file, and the URL names only the server, such as \
             http://127.0.0.1:8080"
        );
        mix::read(file, &self.headers).map(Some)
    }

    /// Returns one kind for each URL; one that is given twice is requested twice as often.
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

    /// Refuses flags that exclude one another.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let closes = |(name, _): &(String, String)| name.eq_ignore_ascii_case("connection");
        ensure!(
            self.pipeline == 1 || !self.headers.iter().any(closes),
            "--pipeline {} and a header `Connection` exclude one another: the header ends the connection \
             after the first answer, or keeps it open, which is the default; leave one of them out",
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

    /// Returns the streams of a connection; `None` for HTTP/1.1.
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

    /// Returns the body that was typed, unless it names a file.
    fn typed_body(&self) -> Option<&str> {
        self.body.as_deref().filter(|text| !text.starts_with('@'))
    }

    /// Whether a number is to be drawn for each request.
    fn has_templates(&self) -> bool {
        let values = self.headers.iter().map(|(_, value)| value.as_str());
        values.chain(self.typed_body()).any(has_template)
    }

    /// Describes the request in one sentence, without what may be secret.
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
