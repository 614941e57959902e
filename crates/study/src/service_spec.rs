//! Service files: turns text into a [`Service`], with errors that name file, line, column and what
//! was expected.

use model::Service;
use model::braces::words_in_braces;
use model::expected::Expected;
use model::service::{Find, PASSWORD, Protocol, Readiness, SERVICE_FORMAT, VARIABLES, is_name};

use crate::likeness_spec;
use crate::pinned;
use crate::spec::{SpecError, error_about, error_at};

/// A path to a field, and what is wrong with it.
type Complaint = (Vec<String>, String);

/// Longest time that a service may take to start or to stop, ms.
const LONGEST_MS: u32 = 600_000;
/// Longest time for all its preparations and its start together, ms: a build, and a slow start.
pub(crate) const LONGEST_START_MS: u64 = 1_200_000;

/// Reads a service from its text; `file` is the name that errors show.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str, file: &str) -> Result<Service, SpecError> {
    let service: Service = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        error_at(text, file, at, error.message())
    })?;
    match complaint(&service) {
        None => Ok(service),
        Some(complaint) => Err(error_about(text, file, complaint)),
    }
}

/// Returns what makes no sense in a service that does not come from its file, if anything.
pub(crate) fn nonsense(service: &Service) -> Option<String> {
    let (place, what) = complaint(service)?;
    Some(format!("of a service, `{}`: {what}", place.join(".")))
}

/// Returns the first value that has the right type but makes no sense.
fn complaint(service: &Service) -> Option<Complaint> {
    identity_complaint(service)
        .or_else(|| find_complaint(&service.find))
        .or_else(|| serves_complaint(service))
        .or_else(|| command_complaint(service))
        .or_else(|| folder_complaint(service))
        .or_else(|| time_complaint(service))
        .or_else(|| variable_complaint(service))
        .or_else(|| socket_complaint(service))
        .or_else(|| password_complaint(service))
}

fn identity_complaint(service: &Service) -> Option<Complaint> {
    if service.format != SERVICE_FORMAT {
        let what = format!("expected format = {SERVICE_FORMAT}");
        return Some((field(&["format"]), what));
    }
    if !is_name(&service.name) {
        let what = "expected lower-case letters, digits and hyphens";
        return Some((field(&["name"]), what.to_owned()));
    }
    let untitled = service.title.trim().is_empty();
    untitled.then(|| {
        (
            field(&["title"]),
            "expected the name that readers know it by".to_owned(),
        )
    })
}

/// Returns what makes no sense in how a program is found; the field is given from the table `find`
/// on.
pub(crate) fn find_complaint(find: &Find) -> Option<Complaint> {
    let wrong = |program: &String| program.is_empty() || program.contains('/');
    if find.programs.is_empty() || find.programs.iter().any(wrong) {
        let what = "expected the names under which the program is found on the PATH, without `/`";
        return Some((field(&["find", "programs"]), what.to_owned()));
    }
    if let Some(at) = find.places.iter().position(|place| !is_place(place)) {
        let what = "expected the path of a folder, with at most one `*` in each of its names";
        let keys = ["find", "places", &at.to_string()];
        return Some((field(&keys), what.to_owned()));
    }
    if find
        .version
        .as_deref()
        .is_some_and(|version| !pinned::is_version(version))
    {
        let what = "expected a version or how it begins, as `3.12`";
        return Some((field(&["find", "version"]), what.to_owned()));
    }
    if find
        .path
        .as_deref()
        .is_some_and(|path| !pinned::is_path(path))
    {
        let what = "expected the path of a program, from `/` on and without spaces";
        return Some((field(&["find", "path"]), what.to_owned()));
    }
    let versions = find.version_pattern.matches("{version}").count();
    (versions != 1).then(|| {
        let what = "expected `{version}` once, where the version stands, as in `nginx/{version}`";
        (field(&["find", "version_pattern"]), what.to_owned())
    })
}

fn is_place(place: &str) -> bool {
    let one_star = |name: &str| name.matches('*').count() <= 1;
    place.starts_with('/') && place.split('/').all(one_star)
}

fn serves_complaint(service: &Service) -> Option<Complaint> {
    let is_path = |path: &str| path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic());
    let is_http = service.protocol == Protocol::Http;
    if is_http == service.serves.is_empty() {
        let what = match is_http {
            true => "expected at least one path with the body of its answer".to_owned(),
            false => format!(
                "paths are of HTTP, and this service speaks {}",
                service.protocol
            ),
        };
        return Some((field(&["serves"]), what));
    }
    if let Some(path) = service.serves.keys().find(|path| !is_path(path)) {
        let what = format!("`{path}` is no path: it starts with `/` and holds no spaces");
        return Some((field(&["serves", path]), what));
    }
    if let Some(complaint) = service.serves.iter().find_map(expected_complaint) {
        return Some(complaint);
    }
    match &service.ready.when {
        Readiness::Http(path) if !is_path(path) => {
            let what = "expected a path that starts with `/` and holds no spaces";
            Some((field(&["ready", "when", "http"]), what.to_owned()))
        }
        Readiness::Line(text) if text.trim().is_empty() => {
            let what = "expected a piece of a line that it logs when it is ready";
            Some((field(&["ready", "when", "line"]), what.to_owned()))
        }
        _ => None,
    }
}

fn expected_complaint((path, expected): (&String, &Expected)) -> Option<Complaint> {
    let Expected::Like(likeness) = expected else {
        return None;
    };
    let (below, what) = likeness_spec::complaint(likeness)?;
    Some((field(&[&["serves", path], &below[..]].concat()), what))
}

fn command_complaint(service: &Service) -> Option<Complaint> {
    let what = || "expected a program and its arguments".to_owned();
    let is_none = |words: &[String]| words.first().is_none_or(String::is_empty);
    let mut prepare = service.prepare.iter();
    if let Some(at) = prepare.position(|prepare| is_none(&prepare.command)) {
        let keys = ["prepare", &at.to_string(), "command"];
        return Some((field(&keys), what()));
    }
    match &service.ready.when {
        Readiness::Command(words) if is_none(words) => {
            Some((field(&["ready", "when", "command"]), what()))
        }
        _ => None,
    }
}

fn folder_complaint(service: &Service) -> Option<Complaint> {
    if let Some(file) = service.files.keys().find(|file| !stays_below(file)) {
        let what = format!("`{file}` leads out of the service's folder; expected a path below it");
        return Some((field(&["files", file]), what));
    }
    let logs = service.logs.files.iter();
    let astray = logs.enumerate().find(|(_, log)| !stays_below(log))?;
    let what = format!("`{}` leads out of the service's folder", astray.1);
    Some((field(&["logs", "files", &astray.0.to_string()]), what))
}

/// Whether a path names something below the folder that it is relative to.
pub(crate) fn stays_below(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn time_complaint(service: &Service) -> Option<Complaint> {
    let of_service = [
        (field(&["ready", "within_ms"]), service.ready.within_ms),
        (field(&["stop", "grace_ms"]), service.stop.grace_ms),
    ];
    let of_prepare = service.prepare.iter().enumerate().map(|(at, prepare)| {
        let keys = ["prepare", &at.to_string(), "within_ms"];
        (field(&keys), prepare.within_ms)
    });
    let mut all = of_service.into_iter().chain(of_prepare);
    if let Some((keys, _)) = all.find(|(_, ms)| !(1..=LONGEST_MS).contains(ms)) {
        return Some((keys, format!("expected 1 to {LONGEST_MS} ms")));
    }
    let prepare = service.prepare.iter();
    let prepare_ms: u64 = prepare.map(|prepare| u64::from(prepare.within_ms)).sum();
    let start_ms = prepare_ms + u64::from(service.ready.within_ms);
    (start_ms > LONGEST_START_MS).then(|| {
        let what = format!(
            "with all preparations that makes {start_ms} ms; expected {LONGEST_START_MS} ms at most"
        );
        (field(&["ready", "within_ms"]), what)
    })
}

/// Finds a word in braces that is no variable, because it is more likely a slip than intended.
fn variable_complaint(service: &Service) -> Option<Complaint> {
    service.texts().into_iter().find_map(|(place, text)| {
        let unknown = words_in_braces(&text).find(|word| !VARIABLES.contains(word))?;
        let known = VARIABLES.map(|word| format!("{{{word}}}")).join(", ");
        let what = format!(
            "`{{{unknown}}}` is none of {known}; for the word itself write `{{{{{unknown}}}}}`"
        );
        Some((place, what))
    })
}

fn socket_complaint(service: &Service) -> Option<Complaint> {
    service.start.on_socket.as_ref()?;
    let what = match (&service.socket, &service.ready.when) {
        (None, _) => "expected `socket` beside it, the path of the socket",
        (_, Readiness::Http(_)) => {
            "a service that is ready when it answers HTTP listens on an address"
        }
        _ => return None,
    };
    Some((field(&["start", "on_socket"]), what.to_owned()))
}

/// Finds a password in a place that others can read: every user of a machine sees arguments (`ps`),
/// and what is displayed is seen by anyone who looks.
fn password_complaint(service: &Service) -> Option<Complaint> {
    let is_private = |place: &[String]| match place.first().map(String::as_str) {
        Some("environment" | "files") => true,
        Some("ready") => place.get(2).is_some_and(|kind| kind == "exchange"),
        _ => false,
    };
    let mut texts = service.texts().into_iter();
    let (place, _) = texts.find(|(place, text)| {
        !is_private(place) && words_in_braces(text).any(|word| word == PASSWORD)
    })?;
    let what = "every user could read the password here; write `{password}` into a file of `files`, \
                or `{password_file}`";
    Some((place, what.to_owned()))
}

fn field(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NGINX: &str = include_str!("../../../services/nginx.toml");

    /// The error about a file in which one piece of text stands instead of another.
    fn error_about(from: &str, to: &str) -> String {
        assert!(NGINX.contains(from), "{from} is not in the file");
        parse(&NGINX.replacen(from, to, 1), "s.toml")
            .unwrap_err()
            .to_string()
    }

    fn line_of(text: &str) -> usize {
        NGINX
            .lines()
            .position(|line| line.starts_with(text))
            .unwrap()
            + 1
    }

    #[test]
    fn the_shipped_service_is_right() {
        assert_eq!(parse(NGINX, "nginx.toml").unwrap().name, "nginx");
    }

    #[test]
    fn each_wrong_value_is_named_with_its_line_and_what_was_expected() {
        for (from, to, line, expected) in [
            ("format = 1", "format = 2", "format", "format = 1"),
            ("name = \"nginx\"", "name = \"Nginx\"", "name", "lower-case"),
            ("title = \"nginx\"", "title = \" \"", "title", "know it by"),
            ("[\"nginx\"]", "[\"/usr/sbin/nginx\"]", "programs", "PATH"),
            ("[\"nginx\"]", "[]", "programs", "PATH"),
            ("nginx/{version}", "nginx/", "version_pattern", "{version}"),
            (
                "[\"nginx\"]",
                "[\"nginx\"]\nplaces = [\"/opt/*\", \"/opt/**\"]",
                "version_arguments",
                "one `*`",
            ),
            ("http = \"/json\"", "http = \"json\"", "when =", "`/`"),
            ("http = \"/json\"", "line = \" \"", "when =", "a line"),
            ("http = \"/json\"", "command = []", "when =", "a program"),
            ("\"http\"\n", "\"htpt\"\n", "protocol", "`redis`"),
            (
                "\"http\"\n",
                "\"redis\"\n",
                "[serves]",
                "speaks the Redis protocol",
            ),
            (
                "within_ms = 5000",
                "within_ms = 0",
                "within_ms",
                "600000 ms",
            ),
            (
                "grace_ms = 2000",
                "grace_ms = 900000",
                "grace_ms",
                "600000 ms",
            ),
            ("SIGTERM", "SIGKILL", "signal", "SIGTERM"),
            (
                "[\"error.log\"]",
                "[\"../error.log\"]",
                "files =",
                "leads out",
            ),
            (
                "\"-c\", \"{dir}",
                "\"-c\", \"{folder}",
                "arguments",
                "{folder}",
            ),
            (
                "\"/plaintext\" =",
                "\"plaintext\" =",
                "\"/plaintext\"",
                "no path",
            ),
            ("grace_ms = 2000", "grace = 2000", "grace_ms", "grace_ms"),
        ] {
            is_named(from, to, line, expected);
        }
    }

    #[test]
    fn what_answers_are_said_to_be_like_is_named_with_its_line_where_it_makes_no_sense() {
        for (like, expected) in [
            ("7", "the exact body, or a table of"),
            ("{}", "at least one of `status`"),
            ("{ bytes = 3 }", "unknown field `bytes`"),
            ("{ status = 404 }", "200 to 399"),
            (
                "{ length = [5, 1] }",
                "`serves./plaintext.length`: expected the least",
            ),
            ("{ regex = \"(\" }", "expected a regular expression"),
            (
                "{ regex = \"((a{99}){99}){99}\" }",
                "expected a regular expression",
            ),
            ("{ header = { \"a b\" = \"\" } }", "no name of a header"),
            ("{ header = { a = \"b\\r\\nc: d\" } }", "exact value"),
            ("{ json = { items = 1 } }", "no JSON pointer"),
            ("{ json = { \"/items\" = [1] } }", "a text, a number"),
        ] {
            let from = "= \"{message}\"";
            is_named(from, &format!("= {like}"), "\"/plaintext\" =", expected);
        }
    }

    #[test]
    fn preparations_that_take_too_long_together_are_named() {
        let from = "grace_ms = 2000";
        let prepare = "\n[[prepare]]\ncommand = [\"true\"]\nwithin_ms = 600000".repeat(2);
        is_named(from, &format!("{from}{prepare}"), "within_ms", "1205000 ms");
    }

    #[test]
    fn a_door_without_a_socket_and_a_password_that_others_see_are_named_with_their_line() {
        for (from, to, expected) in [
            (
                "[start]\n",
                "[start]\non_socket = []\n",
                "`socket` beside it",
            ),
            (
                "\"-c\", \"{dir}",
                "\"-c\", \"{password}{dir}",
                "`{password_file}`",
            ),
        ] {
            is_named(from, to, "arguments = [\"-p\"", expected);
        }
    }

    /// Says that what comes of a change is complained of in that line, and how.
    fn is_named(from: &str, to: &str, line: &str, expected: &str) {
        let error = error_about(from, to);
        let place = format!("s.toml:{}:", line_of(line));
        assert!(
            error.starts_with(&place) && error.contains(expected),
            "{to}: {error}, not at {place}"
        );
    }

    #[test]
    fn a_configuration_file_stays_in_its_folder() {
        for path in ["/etc/passwd", "../x", "a/../../x", "a//b", "", "./x"] {
            let error = error_about("\"nginx.conf\" =", &format!("\"{path}\" ="));
            assert!(error.contains("leads out"), "{path}: {error}");
        }
    }
}
