//! A server that runs already, and the request of somebody's own that it is loaded with.

use machine::cpus::CpuSplit;
use model::Doubt;
use model::failure::Failure;
use model::message::ServerAnswer;
use model::request::RequestSpec;
use sys::address::{Address, SocketPath};
use wire::url::HttpUrl;

use crate::request::{self, AskedFor, Prepared};
use crate::speaks::Speaks;
use crate::target::{PROBE_TIMEOUT_NS, Plan, Target, failure, resolve};

/// Takes up with a server that runs already.
pub(crate) fn running(
    name: &str,
    request: &RequestSpec,
    plan: Plan,
    cpus: &CpuSplit,
) -> Result<(Target, Vec<Doubt>), Failure> {
    let url = HttpUrl::parse(&request.url).map_err(|error| failure(&error.to_string()))?;
    let address = match &request.unix_socket {
        Some(path) => SocketPath::new(path.clone())
            .map(Address::Unix)
            .map_err(|error| failure(&error.to_string()))?,
        None => resolve(&url)?.into(),
    };
    let (asked, answer) = look(&address, &url, request)?;
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
    target.answer = Some(answer);
    target.pids = pids;
    Ok((target, doubts))
}

/// The processes that listen there, or why they are hidden.
fn pids(address: &Address) -> Result<Vec<u32>, String> {
    match address {
        Address::Tcp(address) => {
            machine::targets::listening_on(*address).map_err(|error| error.to_string())
        }
        Address::Unix(socket) => match machine::targets::listening_at(socket.path()) {
            none if none.is_empty() => Err("nobody is seen to listen on its socket".to_owned()),
            pids => Ok(pids),
        },
    }
}

/// Sends the request twice, to see that it is answered rightly and whether bodies can be compared.
pub(crate) fn look(
    address: &Address,
    url: &HttpUrl,
    request: &RequestSpec,
) -> Result<(AskedFor, ServerAnswer), Failure> {
    let wrong = |error: &dyn std::fmt::Display| failure(&error.to_string());
    let tls = request::client(url, &request.tls, request.streams.is_some());
    let asked = AskedFor {
        prepared: Prepared::new(url, request).map_err(|error| wrong(&error))?,
        tls: tls.map_err(|error| wrong(&error))?,
        streams: request.streams,
        pipeline: request.pipeline,
    };
    let once = || {
        asked
            .prepared
            .ask(address, asked.tls.as_ref(), PROBE_TIMEOUT_NS)
    };
    let first = once().map_err(|error| Failure {
        what: error.to_string(),
        advice: request::advice(&error).unwrap_or_default().to_owned(),
    })?;
    first.check_streams(request.streams.unwrap_or(1))?;
    let second = once().map_err(|error| wrong(&error))?;
    let seen = &first.answer;
    if seen.status >= 400 {
        return Err(Failure {
            what: format!(
                "{address} answers `{} {}` with status {}",
                request.method,
                url.without_query(),
                seen.status
            ),
            advice: "give a request that the server answers".to_owned(),
        });
    }
    let is_steady = seen.body == second.answer.body;
    let has_one_length = seen.body.bytes == second.answer.body.bytes;
    let answer = ServerAnswer {
        status: seen.status,
        content_type: seen.content_type.clone(),
        body_bytes: has_one_length.then_some(seen.body.bytes),
        body_hash: is_steady.then(|| format!("{:016x}", seen.body.hash)),
    };
    let prepared = match is_steady {
        true => asked.prepared,
        false => asked.prepared.without_comparing_bodies(),
    };
    Ok((AskedFor { prepared, ..asked }, answer))
}
