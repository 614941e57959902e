//! `linerate echo`: the floor under every server.

use std::num::NonZeroUsize;
use std::process::ExitCode;

use traffic::floor::echo::Echo;

use crate::console::Console;
use crate::serving::{Descriptors, Serving};

/// Answer bytes with bytes, without a protocol: the floor under every server
///
/// For every --request-bytes received it sends --answer-bytes, over the same sockets and the
/// same loop as `linerate serve`. What a request costs here, no server on this kernel can save.
///
/// It prints one line, `listening on ADDR:PORT`, when it is ready.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Three requests at once:
    linerate echo --listen 7000 --request-bytes 5 --answer-bytes 3 &
    printf 'helloworldagain' | nc -N 127.0.0.1 7000        # prints xxxxxxxxx")]
pub(crate) struct Arguments {
    #[command(flatten)]
    serving: Serving,

    /// Bytes that make one request, whatever they are
    #[arg(long, value_name = "N")]
    request_bytes: NonZeroUsize,

    /// Bytes of the answer
    #[arg(long, value_name = "N", value_parser = parse_answer_bytes)]
    answer_bytes: NonZeroUsize,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let echo = || Echo::new(arguments.request_bytes, arguments.answer_bytes);
    arguments.serving.run(console, None, Descriptors::One, echo)
}

/// An answer is one piece of memory per worker, and its copy per connection.
fn parse_answer_bytes(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse() {
        Ok(bytes @ 1..=1_048_576) => NonZeroUsize::new(bytes),
        _ => None,
    }
    .ok_or_else(|| "expected a number from 1 to 1048576".to_owned())
}
