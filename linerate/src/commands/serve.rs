//! `linerate serve`: the built-in HTTP server.

use std::process::ExitCode;

use traffic::server::{Http, Options};

use crate::console::Console;
use crate::serving::{MEASURED, Serving};

/// Serve two small HTTP answers, as fast as this machine can
///
/// GET /json answers {"message":"Hello, World!"}, made by a serialiser for each request;
/// GET /plaintext the message alone. HTTP/1.0 and 1.1, keep-alive and pipelining.
///
/// It prints one line, `listening on ADDR:PORT`, when it is ready, and serves until SIGTERM,
/// SIGINT or SIGHUP; then it finishes the answers under way and exits with 0. With --json the line
/// is one JSON value.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  The server on one CPU and the load on another:
    linerate serve --cpus 1 --listen 8080 &
    linerate load http://127.0.0.1:8080/json --cpus 0
  Any free port, for a script:
    linerate serve --listen 0 --json
  For other machines to reach:
    linerate serve --listen 0.0.0.0:8080")]
pub(crate) struct Arguments {
    #[command(flatten)]
    serving: Serving,

    /// What both answers say
    #[arg(long, value_name = "TEXT", default_value = "Hello, World!")]
    message: String,

    /// Send the head and the body of each answer by themselves
    ///
    /// Many servers do. It costs a system call and a segment per answer, and gains nothing. It
    /// is here to be measured.
    #[arg(long, help_heading = MEASURED)]
    split_send: bool,

    /// Compute so many nanoseconds for each request
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    busy_work_ns: u64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let options = Options {
        message: arguments.message.clone(),
        split_send: arguments.split_send,
        busy_work_ns: arguments.busy_work_ns,
    };
    arguments.serving.run(console, || Http::new(options))
}
