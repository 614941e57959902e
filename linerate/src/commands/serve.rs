//! `linerate serve`: the built-in HTTP server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use sys::root_folder::NoRoot;
use traffic::engine::FileWay;
use traffic::server::{Files, Http, Options, PlantedCost, PlantedNs};

use crate::console::Console;
use crate::serving::{MEASURED, Needs, Service, Serving};
use crate::tls_flags::TlsFlags;
use crate::values;

const NO_LOOKUP: &str = "files are looked up by openat2(2), which needs Linux 5.6 and may be forbidden \
    in a container (seccomp)";

/// Serve two small HTTP answers, and files, as fast as this machine can
///
/// GET /json answers {"message":"Hello, World!"}, made by a serialiser for each request;
/// GET /plaintext the message alone. HTTP/1.0 and 1.1, keep-alive and pipelining.
///
/// With --root every other path is a file, sent from the page cache. The server is made for
/// measurements; docs/serve.md says what it offers if you leave it running.
///
/// It prints one line, `listening on ADDR:PORT` or `listening on unix:PATH`, when it is ready, and
/// serves until SIGTERM, SIGINT or SIGHUP; then it finishes the answers under way and exits with 0.
/// With --tls-cert, SIGHUP makes it read the certificates again instead. On SIGUSR1 it prints what
/// became of its connections. With --json each line is one JSON value.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  The server on one CPU and the load on another:
    linerate serve --cpus 1 --listen 8080 &
    linerate load http://127.0.0.1:8080/json --cpus 0
  Any free port, for a script:
    linerate serve --listen 0 --json
  Files of a folder, and a part of one:
    linerate serve --root /srv/www &
    curl -r 0-99 http://127.0.0.1:8080/big.bin
  Over TLS, with a self-signed certificate:
    linerate serve --listen 8443 --tls-self-signed &
    curl --insecure https://localhost:8443/json
  On a Unix socket, such as behind a proxy:
    linerate serve --listen unix:/tmp/linerate.sock &
    curl --unix-socket /tmp/linerate.sock http://localhost/json
  Reachable from other machines:
    linerate serve --listen 0.0.0.0:8080
  Left running, as another user and with limited memory:
    linerate serve --listen 0.0.0.0:80 --root /srv/www --user www-data --memory 256MB")]
pub(crate) struct Arguments {
    #[command(flatten)]
    serving: Serving,

    /// Message of both answers
    #[arg(long, value_name = "TEXT", default_value = "Hello, World!")]
    message: String,

    /// Serve the files below this folder on all other paths
    ///
    /// They are sent by sendfile(2), with ranges and conditional requests; over TLS they are read
    /// and encrypted here unless the kernel does it (--kernel-tls). For a folder, `/a/`, its
    /// `index.html` is sent, or 403: nothing is listed. No path and no symbolic link leads out of
    /// the folder; a link to an absolute path is answered with 403 wherever it leads.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// How files are sent without TLS: sendfile or copy [default: sendfile]
    ///
    /// With sendfile, by sendfile(2) from the page cache; with copy, they are mapped, a quarter of
    /// a megabyte at a time, and copied from that memory. The flag exists for measurements.
    #[arg(long, value_name = "HOW", value_parser = values::one_of::<FileWay>(FileWay::ALL.map(FileWay::name)), requires = "root", hide_possible_values = true, hide_short_help = true, help_heading = MEASURED)]
    files_by: Option<FileWay>,

    #[command(flatten)]
    tls: TlsFlags,

    /// Send the head and the body of each small answer separately
    ///
    /// Many servers do. It costs a system call and a segment per answer, and gains nothing. The
    /// flag exists for measurements.
    #[arg(long, help_heading = MEASURED)]
    split_send: bool,

    /// Run a loop this many times for each request, and report its cost at the end
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    busy_work_rounds: u64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let serving = &arguments.serving;
    let speaking = arguments.tls.speaking(serving.without_kernel_tls())?;
    let files_by = arguments.files_by.unwrap_or_default();
    ensure!(
        files_by == FileWay::Sendfile || speaking.is_none(),
        "--files-by {files_by}: over TLS files are read and encrypted, here or by the kernel (--kernel-tls); leave it out"
    );
    let files = match &arguments.root {
        Some(root) => Some(files(root)?.by(files_by)),
        None => None,
    };
    let root = files.as_ref().map(|files| files.root().try_clone());
    let root = root.transpose().context("--root")?;
    let planted_cost = PlantedCost::default();
    let options = Options {
        message: arguments.message.clone(),
        files,
        split_send: arguments.split_send,
        busy_work_rounds: arguments.busy_work_rounds,
        planted_cost: planted_cost.clone(),
    };
    let reload = || arguments.tls.speaking(serving.without_kernel_tls());
    let needs = Needs {
        tls: speaking.as_ref(),
        per_connection: 1 + u64::from(arguments.root.is_some()),
        root: root.as_ref(),
        reload: match arguments.tls.has_files() {
            true => Some(&reload),
            false => None,
        },
    };
    let http: Service<'_> =
        Box::new(|engine, place, tls, manner| Http::new(options).serve(engine, place, tls, manner));
    let code = serving.run(console, needs, http)?;
    if let Some(ns) = planted_cost.per_request() {
        let PlantedNs { added, all } = ns;
        console.note(&format!(
            "planted: {added:.1} ns of {all:.1} ns of CPU time a request"
        ));
    }
    Ok(code)
}

fn files(root: &Path) -> anyhow::Result<Files> {
    Files::below(root, content_type).map_err(|why| {
        let (error, advice) = match why {
            NoRoot::Folder(error) => (error, "it must be a folder that this user may open"),
            NoRoot::Lookup(error) => (error, NO_LOOKUP),
        };
        let shown = root.display();
        anyhow::Error::new(error).context(format!("cannot serve files from {shown}: {advice}"))
    })
}

fn content_type(extension: &str) -> Option<&'static str> {
    mime_guess::from_ext(extension).first_raw()
}
