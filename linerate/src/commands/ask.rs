//! `linerate ask`: the floor under every load generator.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use traffic::floor::ask::{Asking, LONGEST_ANSWER_BYTES};
use wire::url::{HttpUrl, UrlError};

use crate::console::Console;
use crate::values;

/// Ask for the same bytes over and over: the floor under every load generator
///
/// On each connection it sends a GET, counts the bytes of the answer, and sends the same again. It
/// examines no answer and times none. No client on this kernel that sends its requests one by one
/// can spend less on a request than is spent here.
///
/// It prints one line, `N answers in S s`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Connections, each with one request under way
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65535))]
    connections: u32,

    /// How long to ask
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = values::parse_duration)]
    duration: Duration,

    /// Bytes of a whole answer, head included
    #[arg(long, value_name = "N", value_parser = parse_answer_bytes)]
    answer_bytes: NonZeroUsize,

    /// What to ask for: an http:// URL with a loopback address
    #[arg(value_name = "URL", value_parser = in_the_clear)]
    url: HttpUrl,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let Arguments { url, .. } = arguments;
    let asking = Asking {
        address: address(url)?,
        request: request(url),
        answer_bytes: arguments.answer_bytes,
        connections: arguments.connections,
    };
    let begun = sys::clock::now();
    let answers = asking
        .run(arguments.duration)
        .with_context(|| format!("asking {}", asking.address))?;
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = arguments.answer_bytes;
    ensure!(
        answers > 0,
        "no whole answer came in {seconds:.3} s; does an answer have {bytes} bytes?"
    );
    console.say(&format!("{answers} answers in {seconds:.3} s"));
    Ok(ExitCode::SUCCESS)
}

fn parse_answer_bytes(text: &str) -> Result<NonZeroUsize, String> {
    let bytes: Option<NonZeroUsize> = text.parse().ok();
    let bytes = bytes.filter(|bytes| bytes.get() <= LONGEST_ANSWER_BYTES);
    bytes.ok_or_else(|| format!("expected a number from 1 to {LONGEST_ANSWER_BYTES}"))
}

fn in_the_clear(text: &str) -> Result<HttpUrl, UrlError> {
    HttpUrl::parse(text)?.in_the_clear()
}

fn address(url: &HttpUrl) -> anyhow::Result<SocketAddr> {
    let address: Option<IpAddr> = url.host.parse().ok();
    let address = address.filter(IpAddr::is_loopback);
    let address = address.context("only a loopback address can be asked, such as 127.0.0.1")?;
    Ok((address, url.port).into())
}

/// The request as wrk sends it for a URL with a port, byte for byte.
fn request(url: &HttpUrl) -> Vec<u8> {
    let HttpUrl {
        host, port, target, ..
    } = url;
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.clone(),
    };
    format!("GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n").into_bytes()
}
