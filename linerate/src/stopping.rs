//! How a command reports that a signal stopped it.

use std::process::ExitCode;

/// Returns the name of a signal that commands listen for.
pub(crate) fn name(signal: i32) -> &'static str {
    match signal {
        1 => "SIGHUP: its terminal is gone",
        2 => "Ctrl-C (SIGINT)",
        _ => "SIGTERM",
    }
}

/// Returns 128 plus the signal's number, as shells do for a program that a signal ended: 130 after
/// Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
pub(crate) fn exit_code(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
