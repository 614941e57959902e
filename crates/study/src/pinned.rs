//! One of several versions of a service: `nginx@1.24`, or one program:
//! `nginx@/opt/nginx/sbin/nginx`.

use model::Service;
use model::service::is_name;

/// Longest name of a target, bytes: the name of its service becomes part of a file's name.
const LONGEST: usize = 200;

/// The forms of a target, for a message.
pub(crate) const TARGET: &str =
    "\"serve\", the name of a service, its NAME@VERSION or NAME@/PATH/OF/PROGRAM";

/// Whether a text can name a target.
pub(crate) fn is_target(text: &str) -> bool {
    let (name, pin) = parts(text);
    text.len() <= LONGEST && is_name(name) && pin.is_none_or(|pin| is_path(pin) || is_version(pin))
}

/// Splits a target into the name of a service, and the version or program that it asks for, if any.
pub(crate) fn parts(target: &str) -> (&str, Option<&str>) {
    match target.split_once('@') {
        Some((name, pin)) => (name, Some(pin)),
        None => (target, None),
    }
}

/// Whether a text can be the beginning of a version.
pub(crate) fn is_version(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._".contains(&byte);
    text.len() <= LONGEST
        && text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(plain)
}

/// Whether a text can be the path of a program, and not of a service's file.
pub(crate) fn is_path(text: &str) -> bool {
    let is_shown = |byte: u8| byte.is_ascii_graphic();
    let is_file = text.ends_with(".toml");
    text.len() <= LONGEST && text.starts_with('/') && !is_file && text.bytes().all(is_shown)
}

/// Returns the name of the service that a target means. It becomes part of paths, and tells two
/// versions apart.
pub fn name_of(target: &str) -> String {
    let (name, pin) = parts(target);
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '-',
    };
    match pin {
        None => name.to_owned(),
        Some(pin) => format!(
            "{name}-{}",
            pin.trim_start_matches('/')
                .chars()
                .map(plain)
                .collect::<String>()
        ),
    }
}

/// Returns the service restricted to this version, or to this program.
pub(crate) fn pinned(mut service: Service, pin: &str) -> Service {
    service.name = name_of(&format!("{}@{pin}", service.name));
    service.title = format!("{}@{pin}", service.title);
    match is_path(pin) {
        true => service.find.path = Some(pin.to_owned()),
        false => service.find.version = Some(pin.to_owned()),
    }
    service
}
