//! `linerate echo`: the floor under every server.

use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use traffic::floor::echo::Echo;

use crate::console::Console;
use crate::serving::{Needs, Service, Serving};

/// Longest answer, bytes: each worker holds one, and each connection a copy.
const LONGEST_ANSWER_BYTES: usize = 1 << 20;

/// Answer bytes with bytes, without a protocol: the floor under every server
///
/// For every --request-bytes received it sends the same answer, over the same sockets and the
/// same loop as `linerate serve`. No server on this kernel can answer a request for less.
///
/// It prints one line, `listening on ADDR:PORT` or `listening on unix:PATH`, when it is ready.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    serving: Serving,

    /// Bytes of one request, whatever their content
    #[arg(long, value_name = "N")]
    request_bytes: NonZeroUsize,

    /// Bytes of the answer, all of them `x`
    #[arg(long, value_name = "N", value_parser = parse_answer_bytes, required_unless_present = "answer_file")]
    answer_bytes: Option<usize>,

    /// File that holds the answer, such as one of HTTP, of at most 1 MiB
    #[arg(long, value_name = "FILE", conflicts_with = "answer_bytes")]
    answer_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let answer = match (&arguments.answer_file, arguments.answer_bytes) {
        (Some(file), _) => content(file)?,
        (None, bytes) => vec![b'x'; bytes.unwrap_or_default()],
    };
    let echo: Service<'_> = Box::new(|engine, place, _no_tls, manner| {
        Echo::new(arguments.request_bytes, answer).serve(engine, place, manner)
    });
    let needs = Needs {
        tls: None,
        per_connection: 1,
        root: None,
        reload: None,
    };
    arguments.serving.run(console, needs, echo)
}

fn content(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let mut answer = Vec::new();
    File::open(path)
        .and_then(|file| {
            file.take(LONGEST_ANSWER_BYTES as u64 + 1)
                .read_to_end(&mut answer)
        })
        .with_context(|| format!("cannot read {shown}"))?;
    ensure!(
        (1..=LONGEST_ANSWER_BYTES).contains(&answer.len()),
        "{shown} is no answer: it must have 1 to {LONGEST_ANSWER_BYTES} bytes"
    );
    Ok(answer)
}

fn parse_answer_bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes @ 1..=LONGEST_ANSWER_BYTES) => Ok(bytes),
        _ => Err(format!(
            "expected a number from 1 to {LONGEST_ANSWER_BYTES}"
        )),
    }
}
