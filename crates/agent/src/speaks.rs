//! What a target speaks, and a first request to check that it answers as it should.

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
    /// The user's own request, to a target that is the user's own too.
    Asked(Box<AskedFor>),
    /// No protocol: the target is a command, which is run to its end.
    Runs(Box<Runs>),
    /// Any protocol: others load the target.
    Watched(WatchedServer),
}

impl Speaks {
    /// HTTP, with bodies that are compared unless they may differ.
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

/// Checks that a service answers as it should. Returns how it is loaded, and whether its bodies may
/// differ from one another.
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
        "answers `GET {path}` with a different body than `serves` in its description: {bytes} \
         bytes where it has {wanted}"
    ))
}

/// Sends one request, to check that the target answers it and to learn the sizes of both.
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
