//! What a target speaks, and one look whether it answers rightly.

use std::net::SocketAddr;

use model::expected::Expected;
use model::failure::Failure;
use traffic::floor::protocol::EchoProtocol;
use traffic::load::http::HttpProtocol;
use wire::response::BodyMark;

use crate::gate::Runs;
use crate::request::AskedFor;
use crate::service::likeness;
use crate::target::PROBE_TIMEOUT_NS;
use crate::watched::WatchedServer;

/// The protocol that a target speaks.
pub(crate) enum Speaks {
    Http(HttpProtocol, ExchangeBytes),
    Echo(EchoProtocol),
    /// As somebody asks for it who runs the target himself.
    Asked(Box<AskedFor>),
    /// None: it is run to its end.
    Runs(Box<Runs>),
    /// Whatever it does: others load it.
    Watched(WatchedServer),
}

impl Speaks {
    /// HTTP, with bodies that are compared unless they differ by right.
    pub(crate) fn http(protocol: HttpProtocol, sizes: ExchangeBytes, varies: bool) -> Self {
        let protocol = match varies {
            true => protocol.without_comparing_bodies(),
            false => protocol,
        };
        Self::Http(protocol, sizes)
    }
}

/// The sizes of one request and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeBytes {
    pub(crate) request: usize,
    pub(crate) answer: usize,
}

/// How a service is loaded that answers as it should, and whether its bodies may differ from one another.
pub(crate) fn as_expected(
    address: SocketAddr,
    path: &str,
    expected: &Expected,
) -> Result<(Speaks, bool), String> {
    let asked = speak_http(address, path);
    let (protocol, sizes, body) =
        asked.map_err(|failure| format!("is up, but {}", failure.what))?;
    let varies = match expected {
        Expected::Like(likeness) => {
            likeness::look(address, path, &protocol, likeness)?;
            true
        }
        Expected::Body(text) => {
            check_body(path, body, BodyMark::of(text.as_bytes()))?;
            false
        }
    };
    Ok((Speaks::http(protocol, sizes, varies), varies))
}

fn check_body(path: &str, body: BodyMark, wanted: BodyMark) -> Result<(), String> {
    if body == wanted {
        return Ok(());
    }
    let (bytes, wanted) = (body.bytes, wanted.bytes);
    Err(format!(
        "answers `GET {path}` with another body than `serves` of its description has: \
         {bytes} bytes where it has {wanted}"
    ))
}

/// Puts one request, to see that the target answers it rightly and how large both are.
pub(crate) fn speak_http(
    address: SocketAddr,
    path: &str,
) -> Result<(HttpProtocol, ExchangeBytes, BodyMark), Failure> {
    let protocol = HttpProtocol::new("GET", &address.to_string(), path, &[], &[])
        .map_err(|error| Failure::plain(error.to_string()))?;
    let seen = traffic::load::probe(address, None, &protocol, PROBE_TIMEOUT_NS)
        .map_err(|error| Failure::plain(error.to_string()))?;
    if seen.status >= 400 {
        return Err(Failure {
            what: format!("{address} answers `GET {path}` with status {}", seen.status),
            advice: "give a path that the server knows".to_owned(),
        });
    }
    let sizes = ExchangeBytes {
        request: seen.request_bytes,
        answer: usize::try_from(seen.response_bytes).unwrap_or(usize::MAX),
    };
    Ok((protocol, sizes, seen.body))
}
