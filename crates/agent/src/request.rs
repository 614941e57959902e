//! Prepares the request that a user asks for, and sends it once to see the answer.

use model::failure::Failure;
use model::request::{MixSpec, RequestSpec, TlsSpec};
use sys::address::Address;
use traffic::load::http::{HttpProtocol, RequestError};
use traffic::load::http2::Http2Protocol;
use traffic::load::mix::{Mix, MixError};
use traffic::load::{
    ExchangeFailure, LoadError, LoadOutcome, LoadPlan, Loads as _, Observer, Probe, ProbeError,
    probe, probe_http2,
};
use traffic::tls::{CertificateProblem, Client, ClientError, ClientOptions, TlsFailure, Trust};
use wire::url::{HttpUrl, Scheme};

/// Advice where a server does not speak HTTP/2: most speak it only over TLS.
const NO_HTTP2: &str = "leave --http2 out, or give an https:// URL of it";

/// A request in the version of HTTP that was asked for, or several kinds of it.
pub enum Prepared {
    Http1(HttpProtocol),
    Http2(Box<Http2Protocol>),
    Mix(Mix),
}

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("request {number} (`{name}`): {error}")]
    Kind {
        /// Number of the kind of request, from 1 on.
        number: usize,
        name: String,
        error: MixError,
    },
}

impl Prepared {
    /// Builds the request, for the host and path of this URL.
    ///
    /// # Errors
    /// When a part of it would break its framing.
    pub fn new(url: &HttpUrl, spec: &RequestSpec) -> Result<Self, PrepareError> {
        if let Some(mix) = &spec.mix {
            return mixed(url, mix).map(Self::Mix);
        }
        if spec.streams.is_none() {
            return Ok(Self::Http1(http1(url, spec)?));
        }
        let (method, headers, body) = (&spec.method, &spec.headers, &spec.body);
        let (host, path) = (url.host_header(), &url.target);
        let scheme = url.scheme.name();
        let protocol = Http2Protocol::new(scheme, method, (&host, path), headers, body)?;
        Ok(Self::Http2(Box::new(protocol)))
    }

    /// How many kinds of request there are.
    pub fn kinds(&self) -> usize {
        match self {
            Self::Http1(_) | Self::Http2(_) => 1,
            Self::Mix(mix) => mix.samples().len(),
        }
    }

    /// Whether the requests of one kind differ by numbers that are drawn at random.
    pub fn draws_numbers(&self, kind: usize) -> bool {
        match self {
            Self::Http1(_) | Self::Http2(_) => false,
            Self::Mix(mix) => !mix.is_constant(kind),
        }
    }

    /// Switches the comparison of bodies off for one kind.
    pub fn compare_no_bodies(&mut self, kind: usize) {
        match self {
            Self::Http1(protocol) => protocol.compare_no_bodies(),
            Self::Http2(protocol) => protocol.compare_no_bodies(),
            Self::Mix(mix) => mix.compare_no_bodies(kind),
        }
    }

    /// Sends the request of one kind once, on a connection of its own.
    ///
    /// # Errors
    /// When no whole answer comes.
    pub fn ask(
        &self,
        kind: usize,
        address: &Address,
        tls: Option<&Client>,
        timeout_ns: u64,
    ) -> Result<Asked, ProbeError> {
        let address = address.clone();
        let answer = match self {
            Self::Http1(protocol) => probe(address, tls, protocol, timeout_ns),
            Self::Http2(protocol) => probe_http2(address, tls, protocol, timeout_ns),
            Self::Mix(mix) => probe(address, tls, mix.samples()[kind], timeout_ns),
        };
        answer.map(|answer| Asked { answer })
    }

    /// Loads a target with the request for one block.
    ///
    /// # Errors
    /// When the target could not be loaded at all.
    pub fn load(
        &self,
        plan: &LoadPlan,
        observer: &mut dyn Observer,
    ) -> Result<LoadOutcome, LoadError> {
        match self {
            Self::Http1(protocol) => protocol.load(plan, observer),
            Self::Http2(protocol) => protocol.load(plan, observer),
            Self::Mix(mix) => mix.load(plan, observer),
        }
    }
}

/// A user's own request, and how it is sent.
pub struct AskedFor {
    pub prepared: Prepared,
    pub tls: Option<Client>,
    pub streams: Option<u32>,
    pub pipeline: u32,
}

/// The answer of a target to one request.
#[derive(Debug)]
pub struct Asked {
    pub answer: Probe,
}

impl Asked {
    /// Checks that the server takes as many streams as are asked for. No server says how long a
    /// pipeline may be.
    ///
    /// # Errors
    /// When it takes fewer; says how many.
    pub fn check_streams(&self, wanted: u32) -> Result<(), Failure> {
        let most = self.answer.streams_at_once.unwrap_or(usize::MAX);
        if wanted as usize <= most {
            return Ok(());
        }
        Err(Failure {
            what: format!(
                "--streams {wanted}: the server takes {most} streams of a connection at once"
            ),
            advice: "ask for as many at most, and for more connections (-c)".to_owned(),
        })
    }
}

/// Builds a request of HTTP/1.1, for the host and path of this URL.
///
/// # Errors
/// When a part of it would break its framing.
pub fn http1(url: &HttpUrl, spec: &RequestSpec) -> Result<HttpProtocol, RequestError> {
    let host = url.host_header();
    HttpProtocol::new(&spec.method, &host, &url.target, &spec.headers, &spec.body)
}

fn mixed(url: &HttpUrl, mix: &MixSpec) -> Result<Mix, PrepareError> {
    Mix::new(&url.host_header(), mix).map_err(|(kind, error)| PrepareError::Kind {
        number: kind + 1,
        name: mix.kinds.get(kind).map_or("", |kind| &kind.name).to_owned(),
        error,
    })
}

/// The TLS client for the host of a URL; `None` for a URL without TLS.
///
/// # Errors
/// When no certificate can be for the host, or none of the root certificates can vouch for one.
pub fn client(url: &HttpUrl, tls: &TlsSpec, http2: bool) -> Result<Option<Client>, ClientError> {
    if url.scheme == Scheme::Http {
        return Ok(None);
    }
    let options = ClientOptions {
        trust: tls.roots.clone().map_or(Trust::Anybody, Trust::Roots),
        version: tls.version,
        resumption: tls.resumption,
        http2,
    };
    Client::new(&url.host, &options).map(Some)
}

/// Advice on a first request that failed, where TLS or the version of HTTP is the cause.
pub fn advice(error: &ProbeError) -> Option<&'static str> {
    match error {
        ProbeError::Tls { source, .. } => of_tls(source),
        ProbeError::Exchange {
            failure: ExchangeFailure::SpeaksHttp1 | ExchangeFailure::NoHttp2,
            ..
        } => Some(NO_HTTP2),
        _ => None,
    }
}

fn of_tls(failure: &TlsFailure) -> Option<&'static str> {
    Some(match failure {
        TlsFailure::Certificate(problem) => match problem {
            CertificateProblem::Unvouched => {
                "give the certificate of its CA, or its own, with --ca FILE, or turn the check off \
                 with --insecure"
            }
            CertificateProblem::OfCa => {
                "make one with CA:FALSE (openssl req -addext basicConstraints=CA:FALSE), or turn \
                 the check off with --insecure"
            }
            CertificateProblem::Expired(_) | CertificateProblem::NotYet(_) => {
                "renew it, look at this machine's clock, or turn the check off with --insecure"
            }
            CertificateProblem::OtherName { .. } => {
                "use that name in the URL, or turn the check off with --insecure"
            }
            CertificateProblem::Old => "make a new one: `openssl req -x509` makes version 3",
            CertificateProblem::Other(_) => "--insecure turns the check off",
        },
        TlsFailure::SpeaksHttp => "give an http:// URL",
        TlsFailure::SpeaksOther | TlsFailure::Closed => "is this the port that speaks TLS?",
        TlsFailure::Alert { .. } => {
            "Linerate speaks TLS 1.2 and 1.3, with HTTP/1.1 or, with --http2, HTTP/2; the server's \
             log may say what it wants"
        }
        TlsFailure::NoHttp2 => "leave --http2 out, or have the server offer h2 by ALPN",
        TlsFailure::Socket(_) | TlsFailure::Other(_) => return None,
    })
}
