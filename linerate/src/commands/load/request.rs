//! From arguments to the request that is sent: method, headers, body.

use anyhow::{Context as _, ensure};
use sys::address::Address;
use traffic::load::http::HttpProtocol;
use traffic::load::http2::Http2Protocol;
use traffic::load::mix::{Content, has_template};
use traffic::load::{LoadError, LoadOutcome, LoadPlan, Observer, Probe, ProbeError};
use wire::url::{HttpUrl, Scheme};

use super::Arguments;

/// A request in the version of HTTP that was asked for.
pub(super) enum Prepared {
    Http1(HttpProtocol),
    Http2(Box<Http2Protocol>),
}

impl Prepared {
    /// Puts the request together as the arguments say.
    pub(super) fn new(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<Self> {
        if arguments.http2 {
            prepare_http2(arguments, url).map(|protocol| Self::Http2(Box::new(protocol)))
        } else {
            prepare(arguments, url).map(Self::Http1)
        }
    }

    /// Without the comparison of bodies.
    pub(super) fn without_comparing_bodies(self) -> Self {
        match self {
            Self::Http1(protocol) => Self::Http1(protocol.without_comparing_bodies()),
            Self::Http2(protocol) => Self::Http2(Box::new(protocol.without_comparing_bodies())),
        }
    }

    /// Sends it once, on a connection of its own.
    pub(super) fn ask(&self, address: &Address, plan: &LoadPlan) -> Result<Asked, ProbeError> {
        let (tls, timeout_ns) = (plan.tls.as_ref(), plan.timeout_ns);
        match self {
            Self::Http1(protocol) => Asked::once(address, protocol, plan),
            Self::Http2(protocol) => {
                let found = traffic::load::probe_http2(address.clone(), tls, protocol, timeout_ns)?;
                Ok(Asked {
                    answer: found.answer,
                    streams_at_once: Some(found.streams_at_once),
                })
            }
        }
    }

    /// Puts one block of it on.
    pub(super) fn load(
        &self,
        plan: &LoadPlan,
        observer: &mut dyn Observer,
    ) -> Result<LoadOutcome, LoadError> {
        match self {
            Self::Http1(protocol) => traffic::load::run(plan, protocol, observer),
            Self::Http2(protocol) => traffic::load::run_http2(plan, protocol, observer),
        }
    }
}

/// What a target said to one request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) answer: Probe,
    /// Streams of a connection that it takes at once; `None` for HTTP/1.1, which has none.
    streams_at_once: Option<usize>,
}

impl Asked {
    /// By HTTP/1.1.
    pub(super) fn once(
        address: &Address,
        protocol: &HttpProtocol,
        plan: &LoadPlan,
    ) -> Result<Self, ProbeError> {
        let tls = plan.tls.as_ref();
        let answer = traffic::load::probe(address.clone(), tls, protocol, plan.timeout_ns)?;
        Ok(Self {
            answer,
            streams_at_once: None,
        })
    }

    /// Whether it takes as many streams as are asked for; how long a pipeline may be no server says.
    pub(super) fn check_streams(&self, wanted: u32) -> anyhow::Result<()> {
        let most = self.streams_at_once.unwrap_or(usize::MAX);
        ensure!(
            wanted as usize <= most,
            "--streams {wanted}: the server takes {most} streams of a connection at once; ask for \
             as many at most, and for more connections (-c)"
        );
        Ok(())
    }
}

/// Puts the request together as the arguments say, for HTTP/1.1.
pub(super) fn prepare(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<HttpProtocol> {
    let body = body(arguments)?.into_bytes();
    let request = HttpProtocol::new(
        &method(arguments),
        &url.host_header(),
        &url.target,
        &arguments.headers,
        &body,
    );
    request.context("the request cannot be sent")
}

fn prepare_http2(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<Http2Protocol> {
    let (method, body) = (method(arguments), body(arguments)?.into_bytes());
    let scheme = match url.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    let (host, path) = (url.host_header(), &url.target);
    let request = Http2Protocol::new(scheme, &method, (&host, path), &arguments.headers, &body);
    request.context("the request cannot be sent")
}

/// Whether a number is to be drawn for each request.
pub(super) fn has_templates(arguments: &Arguments, urls: &[HttpUrl]) -> bool {
    let paths = urls.iter().map(|url| url.target.as_str());
    let values = arguments.headers.iter().map(|(_, value)| value.as_str());
    let body = arguments.body.as_deref();
    let body = body.filter(|text| !text.starts_with('@'));
    paths.chain(values).chain(body).any(has_template)
}

pub(super) fn method(arguments: &Arguments) -> String {
    let default = match arguments.body {
        Some(_) => "POST",
        None => "GET",
    };
    let method = arguments.method.as_deref().unwrap_or(default);
    method.to_ascii_uppercase()
}

pub(super) fn body(arguments: &Arguments) -> anyhow::Result<Content> {
    let text = arguments.body.as_deref().unwrap_or_default();
    match text.strip_prefix('@') {
        None => Ok(Content::Text(text.to_owned())),
        Some(file) => {
            let bytes = std::fs::read(file);
            let bytes = bytes.with_context(|| format!("reading the body from `{file}`"))?;
            Ok(Content::Bytes(bytes))
        }
    }
}
