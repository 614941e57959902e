//! Errors of the kernel in words.

use std::io;

/// Describes a file's error as evidence, with the name of its errno.
pub(crate) fn denied(file: &str, error: &io::Error) -> String {
    format!("{file}: {}", errno(error))
}

/// Describes an errno in its own words, such as `Operation not permitted (EPERM)`.
pub(crate) fn errno(error: &io::Error) -> String {
    let name = match error.raw_os_error() {
        Some(1) => "EPERM",
        Some(2) => "ENOENT",
        Some(6) => "ENXIO",
        Some(13) => "EACCES",
        Some(16) => "EBUSY",
        Some(17) => "EEXIST",
        Some(19) => "ENODEV",
        Some(22) => "EINVAL",
        Some(28) => "ENOSPC",
        Some(100) => "ENETDOWN",
        Some(30) => "EROFS",
        Some(93) => "EPROTONOSUPPORT",
        Some(95) => "EOPNOTSUPP",
        Some(97) => "EAFNOSUPPORT",
        Some(111) => "ECONNREFUSED",
        // Known to the kernel alone (linux/errno.h), so libc has no words for it.
        Some(524) => return "not supported on this machine (ENOTSUPP)".to_owned(),
        _ => return error.to_string(),
    };
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    format!("{words} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_is_named() {
        assert_eq!(
            errno(&io::Error::from_raw_os_error(1)),
            "Operation not permitted (EPERM)"
        );
    }
}
