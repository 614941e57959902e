//! Finds a service's program and asks it for its version.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use model::Service;
use model::failure::Failure;
use model::service::{Find, FoundService};
use sys::descent::Descent;
use sys::group::Leader;

use super::places;
use crate::environment;

/// How long a program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that is read, bytes: more than any program says about its version, and less than a pipe
/// holds.
const MOST_SAID_BYTES: u64 = 16 << 10;

/// Finds the program of a service and its version.
///
/// # Errors
/// When it is absent, with the line that installs it; or when it does not tell its version.
pub fn find(service: &Service) -> Result<FoundService, Failure> {
    match service.find.version {
        None => found(&locate(service)?, &service.title, &service.find),
        Some(_) => find_program(&service.title, &service.find),
    }
}

/// Finds a program and its version. One that does not tell its version is passed over for the next
/// candidate: version managers put stand-ins on the PATH for versions that they were not told to
/// use.
///
/// # Errors
/// As for [`find`], for the first candidate.
pub fn find_program(title: &str, find: &Find) -> Result<FoundService, Failure> {
    let all = usable(title, find)?;
    let mut asked = all.iter().map(|program| found(program, title, find));
    let first = asked
        .next()
        .unwrap_or_else(|| Err(absent_by_name(title, find)));
    first.or_else(|failure| asked.find_map(Result::ok).ok_or(failure))
}

/// A program with the version that it tells.
fn found(program: &Path, title: &str, find: &Find) -> Result<FoundService, Failure> {
    let said = version_words(program, title, find)?;
    let version = version_in(&said, &find.version_pattern).ok_or_else(|| Failure {
        what: format!(
            "{title} was not found: {} says `{}`, which is not `{}`",
            program.display(),
            said.lines().next().unwrap_or_default().escape_debug(),
            find.version_pattern,
        ),
        advice: way_to_have(find),
    })?;
    if let Some(wanted) = &find.version
        && !is_of(&version, wanted)
    {
        return Err(Failure {
            what: format!("{title} was not found: {} is {version}", program.display()),
            advice: "put that version on the PATH, or give the path of its program".to_owned(),
        });
    }
    let sha256 = File::open(program).and_then(foreign::sha256::of_all).ok();
    Ok(FoundService {
        program: program.display().to_string(),
        version,
        sha256,
    })
}

/// Whether a version is the wanted one or begins with it as a whole part: 3.12 is not a 3.1.
fn is_of(version: &str, wanted: &str) -> bool {
    let rest = version.strip_prefix(wanted);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
}

/// Finds the program of a service without running anything. Where a version is wanted, this is the
/// first program that may have it, since none is asked.
///
/// # Errors
/// When it is absent, with the line that installs it, or only root may execute it.
pub fn locate(service: &Service) -> Result<PathBuf, Failure> {
    let (title, find) = (&service.title, &service.find);
    let first = usable(title, find)?.into_iter().next();
    first.ok_or_else(|| absent_by_name(title, find))
}

/// The program with which a service is started; where a version is wanted, one that tells that
/// version.
///
/// # Errors
/// As for [`find`].
pub(super) fn program_of(service: &Service) -> Result<PathBuf, Failure> {
    match service.find.version {
        None => locate(service),
        Some(_) => find(service).map(|found| found.program.into()),
    }
}

/// Every program of these names that the user of measured programs may execute; at least one.
fn usable(title: &str, find: &Find) -> Result<Vec<PathBuf>, Failure> {
    let folders = places::folders(&find.places);
    let names = names(find);
    // An absolute path stays the same when it is joined to a folder.
    let names = names.iter();
    let there = names.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let mut there: Vec<PathBuf> = there.filter(|path| places::is_program(path)).collect();
    there.dedup();
    let descent = Descent::from_here().unwrap_or_default();
    let first_found = there.first().cloned();
    let of_all = |path: &PathBuf| descent.may_run(path);
    let usable: Vec<PathBuf> = there.into_iter().filter(of_all).collect();
    match first_found {
        None => Err(absent_by_name(title, find)),
        Some(path) if usable.is_empty() => Err(out_of_reach(find, &path)),
        Some(_) => Ok(usable),
    }
}

/// The names under which a program is looked for, or its path. Distributions install several
/// versions side by side as `python3.12` and `gcc-12`.
pub fn names(find: &Find) -> Vec<String> {
    if let Some(path) = &find.path {
        return vec![path.clone()];
    }
    let of_version = |version: &String| {
        let name = |program: &String| {
            let plain = program.trim_end_matches(|last: char| last.is_ascii_digit());
            [format!("{plain}{version}"), format!("{program}-{version}")]
        };
        find.programs.iter().flat_map(name).collect()
    };
    let mut names = find.version.as_ref().map_or_else(Vec::new, of_version);
    names.extend(find.programs.iter().cloned());
    names
}

/// Finds a program that a service needs besides its own.
pub(super) fn locate_helper(
    service: &Service,
    program: &Path,
    name: &str,
) -> Result<PathBuf, Failure> {
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let beside = program.parent().map(Path::to_owned);
    let folders = beside
        .into_iter()
        .chain(places::folders(&service.find.places));
    let mut found = folders.map(|folder| folder.join(name));
    let found = found.find(|path| places::is_program(path));
    // What installs the service itself need not install this.
    found.ok_or_else(|| Failure {
        what: format!(
            "{} needs `{name}` to be prepared or to be seen ready, and there is none on the PATH or in {}",
            service.title,
            places::beside_path(&service.find.places)
        ),
        advice: "install it, or fix the service's file".to_owned(),
    })
}

fn out_of_reach(find: &Find, path: &Path) -> Failure {
    let path = path.display();
    Failure {
        what: format!("{path} is there, but the user `nobody` may not execute it"),
        advice: format!("what is measured never runs as root; {}", way_to_have(find)),
    }
}

fn absent(title: &str, find: &Find, programs: &str) -> Failure {
    Failure {
        what: format!(
            "{title} is not installed: no program `{programs}` is on the PATH or in {}",
            places::beside_path(&find.places)
        ),
        advice: way_to_have(find),
    }
}

fn absent_by_name(title: &str, find: &Find) -> Failure {
    match &find.path {
        Some(path) => Failure {
            what: format!("{title} was not found: there is no program {path}"),
            advice: "give the path of a program that is there".to_owned(),
        },
        None => absent(title, find, &find.programs.join("` or `")),
    }
}

/// Advice on a program that may be another than the one that is meant.
fn unless(title: &str, find: &Find) -> String {
    format!("unless it is {title}, {}", way_to_have(find))
}

fn way_to_have(find: &Find) -> String {
    let ids = machine::distribution::ids();
    let line = ids.iter().find_map(|id| find.install.get(id));
    match line {
        Some(line) => format!("install it with `{line}`"),
        None => format!("see {} for how to install it", find.home),
    }
}

/// What the program says on its standard output and error when asked for its version.
fn version_words(program: &Path, title: &str, find: &Find) -> Result<String, Failure> {
    let failed = |what: String| Failure {
        what: format!(
            "`{} {}` {what}",
            program.display(),
            find.version_arguments.join(" ")
        ),
        advice: unless(title, find),
    };
    let mut command = Command::new(program);
    environment::little(&mut command);
    command
        .args(&find.version_arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let setup = environment::ordinary(&[]).map_err(|failure| failed(failure.what))?;
    sys::process::prepare_child(&mut command, setup);
    let mut leader = Leader::start(&mut command)
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    let ended = sys::clock::wait_until(PATIENCE, || !matches!(leader.try_wait(), Ok(None)));
    // This also ends what it may have left behind, which would hold the pipes open.
    let _ = leader.end();
    if !ended {
        let seconds = PATIENCE.as_secs();
        return Err(failed(format!("did not end within {seconds} s")));
    }
    Ok(everything_said(&mut leader))
}

fn everything_said(leader: &mut Leader) -> String {
    let (output, errors) = leader.pipes();
    let mut said = Vec::new();
    if let Some(output) = output {
        let _ = output.take(MOST_SAID_BYTES).read_to_end(&mut said);
    }
    if let Some(errors) = errors {
        let _ = errors.take(MOST_SAID_BYTES).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// The version between the texts that the pattern has before and after it. It begins with a digit
/// and contains no white space.
fn version_in(said: &str, pattern: &str) -> Option<String> {
    let (before, after) = pattern.split_once("{version}")?;
    let starts = said
        .match_indices(before)
        .map(|(at, _)| &said[at + before.len()..]);
    let mut versions = starts.filter_map(|rest| {
        let word = rest.split_whitespace().next()?;
        let end = if after.is_empty() {
            word.len()
        } else {
            rest.find(after)?
        };
        word.get(..end)
            .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    });
    versions.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_where_the_pattern_has_it() {
        for (said, pattern, version) in [
            ("nginx version: nginx/1.22.1\n", "nginx/{version}", "1.22.1"),
            ("Redis server v=7.0.15 sha=0", "v={version}", "7.0.15"),
            ("go version go1.22.3 linux", "go{version} linux", "1.22.3"),
            ("postgres (PostgreSQL) 15.8 (D)", "QL) {version} (", "15.8"),
            ("v20.1.0", "v{version}", "20.1.0"),
        ] {
            assert_eq!(version_in(said, pattern).as_deref(), Some(version));
        }
        assert_eq!(version_in("Apache/2.4", "nginx/{version}"), None);
        assert_eq!(version_in("nginx/", "nginx/{version}"), None);
    }
}
