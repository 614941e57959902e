//! A server that is already running, and the user's own request with which it is loaded.

use machine::cpus::CpuSplit;
use model::Doubt;
use model::failure::Failure;
use model::message::ServerAnswer;
use model::request::RequestSpec;
use sys::address::{Address, SocketPath};
use wire::url::HttpUrl;

use crate::request::{self, AskedFor, Prepared};
use crate::speaks::Speaks;
use crate::target::{PROBE_TIMEOUT_NS, Plan, Target, resolve};

/// Makes a target of a server that is already running, once it has answered.
pub(crate) fn running(
    name: &str,
    request: &RequestSpec,
    plan: Plan,
    cpus: &CpuSplit,
) -> Result<(Target, Vec<Doubt>), Failure> {
    let url = HttpUrl::parse(&request.url).map_err(|error| Failure::plain(error.to_string()))?;
    let address = match &request.unix_socket {
        Some(path) => SocketPath::new(path.clone())
            .map(Address::Unix)
            .map_err(Failure::plain)?,
        None => resolve(&url)?.into(),
    };
    let (asked, answers) = look(&address, &url, request)?;
    let (pids, doubts) = match pids(&address) {
        Ok(pids) => {
            let doubts = machine::cpus::sharing(&pids, &cpus.client);
            (pids, doubts.into_iter().collect())
        }
        Err(reason) => {
            let target = name.to_owned();
            (Vec::new(), vec![Doubt::TargetCpuHidden { target, reason }])
        }
    };
    let speaks = Speaks::Asked(Box::new(asked));
    let mut target = Target::met(address, speaks, plan.into_live());
    target.answers = answers;
    target.pids = pids;
    Ok((target, doubts))
}

/// The processes that listen on an address, or why they are hidden.
fn pids(address: &Address) -> Result<Vec<u32>, String> {
    match address {
        Address::Tcp(address) => {
            machine::targets::listening_on(*address).map_err(|error| error.to_string())
        }
        Address::Unix(socket) => match machine::targets::listening_at(socket.path()) {
            none if none.is_empty() => Err("no process is seen to listen on its socket".to_owned()),
            pids => Ok(pids),
        },
    }
}

/// Sends each kind of request twice, to check that it is answered and whether bodies can be
/// compared.
pub(crate) fn look(
    address: &Address,
    url: &HttpUrl,
    request: &RequestSpec,
) -> Result<(AskedFor, Vec<ServerAnswer>), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::plain(error.to_string());
    let tls = request::client(url, &request.tls, request.streams.is_some());
    let mut asked = AskedFor {
        prepared: Prepared::new(url, request).map_err(|error| wrong(&error))?,
        tls: tls.map_err(|error| wrong(&error))?,
        streams: request.streams,
        pipeline: request.pipeline,
    };
    let names = request.mix.iter().flat_map(|mix| &mix.kinds);
    let names: Vec<&str> = names.map(|kind| &kind.name[..]).collect();
    let mut answers = Vec::new();
    for kind in 0..asked.prepared.kinds() {
        let answer =
            answered(address, &asked, kind).map_err(|failure| of_kind(&names, kind, failure))?;
        if answer.status >= 400 {
            let words = format!("{} {}", request.method, url.without_query());
            return Err(Failure {
                what: format!(
                    "{address} answers `{}` with status {}",
                    names.get(kind).copied().unwrap_or(&words),
                    answer.status
                ),
                advice: "give a request that the server answers".to_owned(),
            });
        }
        if answer.body_hash.is_none() {
            asked.prepared.compare_no_bodies(kind);
        }
        answers.push(ServerAnswer {
            request: names.get(kind).map(|name| (*name).to_owned()),
            ..answer
        });
    }
    Ok((asked, answers))
}

/// A failure with the name of the kind of request that it is about, where there are several.
fn of_kind(names: &[&str], kind: usize, failure: Failure) -> Failure {
    match names.get(kind) {
        None => failure,
        Some(name) => Failure {
            what: format!("`{name}`: {}", failure.what),
            ..failure
        },
    }
}

/// The most letters of a content type that are kept: none in use is longer.
const MOST_LETTERS: usize = 200;

/// Sends one kind of request twice, and returns what both answers have in common.
fn answered(address: &Address, asked: &AskedFor, kind: usize) -> Result<ServerAnswer, Failure> {
    let once = || {
        let tls = asked.tls.as_ref();
        asked.prepared.ask(kind, address, tls, PROBE_TIMEOUT_NS)
    };
    let first = once().map_err(|error| Failure {
        what: error.to_string(),
        advice: request::advice(&error).unwrap_or_default().to_owned(),
    })?;
    first.check_streams(asked.streams.unwrap_or(1))?;
    let (first, second) = (
        first.answer,
        once()
            .map_err(|error| Failure::plain(error.to_string()))?
            .answer,
    );
    let has_one_length = first.body.bytes == second.body.bytes;
    let has_one_body = first.body == second.body;
    Ok(ServerAnswer {
        request: None,
        status: first.status,
        content_type: first
            .content_type
            .map(|of| foreign::clipped(&of, MOST_LETTERS).into_owned()),
        body_bytes: has_one_length.then_some(first.body.bytes),
        body_hash: has_one_body.then(|| format!("{:016x}", first.body.hash)),
    })
}
