//! A Unix socket as a target: checks that it exists, and advises where it accepts no connection.

use std::fs::FileType;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use sys::address::{self, Address, SocketPath};
use traffic::load::ProbeError;

/// Parser for the path of a socket on the command line.
pub(crate) fn parser() -> impl TypedValueParser<Value = SocketPath> {
    PathBufValueParser::new().try_map(|path: PathBuf| SocketPath::new(path))
}

/// Checks that there is a socket.
pub(crate) fn check(socket: &SocketPath) -> anyhow::Result<()> {
    let shown = socket.path().display();
    let found = std::fs::metadata(socket.path()).with_context(|| {
        format!("--unix-socket {shown}: is the server running, and is this where it listens?")
    })?;
    if found.file_type().is_socket() {
        return Ok(());
    }
    bail!(
        "--unix-socket {shown} is {}, not a socket: give the path that the server listens on, as \
         `ss -lx` shows it",
        kind(found.file_type())
    );
}

fn kind(found: FileType) -> &'static str {
    if found.is_dir() {
        "a folder"
    } else if found.is_file() {
        "a file"
    } else {
        "a device or a pipe"
    }
}

/// The error of a first request, with what to do.
pub(super) fn advised(error: ProbeError) -> anyhow::Error {
    let ProbeError::Connect {
        address: at @ Address::Unix(_),
        source,
    } = &error
    else {
        return error.into();
    };
    let advice = match source.kind() {
        ErrorKind::ConnectionRefused => {
            "nobody listens on it: the server that made it has ended; start it again"
        }
        ErrorKind::PermissionDenied => {
            "connecting needs the right to write to it: become its owner, or have the server make \
             it with another mode"
        }
        ErrorKind::WouldBlock => {
            "its queue of connections to be accepted was full all the time; is the server at work?"
        }
        _ if address::carries_no_stream(source) => {
            "it is a socket of datagrams or packets, and HTTP takes a stream; give another one"
        }
        _ => return error.into(),
    };
    anyhow!("{at} accepts no connection: {source}; {advice}")
}
