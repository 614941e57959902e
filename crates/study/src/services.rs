//! The services that are available: those compiled in, and files on disk, which take precedence.

use std::path::Path;

use model::Service;
use model::service::{FoundService, Protocol, ServiceRecord};

use crate::pinned::{self, pinned};
use crate::refusal::Refusal;
use crate::service_spec;
use crate::shipped::{MOST_BYTES, on_disk, shipped};
use crate::spec::{SpecError, error_about};
use foreign::sha256;

/// Services compiled into the program: name and text.
pub(crate) const BUILT_IN: &[(&str, &str)] = shipped!("services":
    "caddy" "go-http" "h2o" "mariadb" "memcached" "nginx" "node-http" "postgresql" "python-http" "redis"
);

/// Folder of the user's own services, below the current folder.
const FOLDER: &str = "services";

/// A service and where it came from.
#[derive(Clone, Debug)]
pub struct KnownService {
    pub service: Service,
    /// Path of its file; `None` for a service compiled in.
    pub file: Option<String>,
    /// Text of the file, as its author wrote it.
    pub text: String,
}

impl KnownService {
    fn read(text: String, name: &str, file: Option<String>) -> Result<Self, SpecError> {
        let shown = file.clone().unwrap_or_else(|| format!("{name}.toml"));
        Ok(Self {
            service: service_spec::parse(&text, &shown)?,
            file,
            text,
        })
    }

    /// Returns the service if it has the name of its file. It is found by the name of the file, but
    /// started, stopped and recorded by its own.
    fn named_as_its_file(self) -> Result<Self, SpecError> {
        let path = self.file.as_deref().unwrap_or_default();
        let stem = Path::new(path).file_stem().unwrap_or_default();
        let name = &self.service.name;
        if stem == name.as_str() {
            return Ok(self);
        }
        let expected = format!(
            "expected `{}`, as the file is called; or call the file {name}.toml",
            stem.display()
        );
        let complaint = (vec!["name".to_owned()], expected);
        Err(error_about(&self.text, path, complaint))
    }

    /// SHA-256 of the file, in hexadecimal, as `sha256sum` prints it.
    pub fn sha256(&self) -> String {
        sha256::of(&self.text)
    }
}

/// Finds a service by the path of its file, or by name: `services/NAME.toml` below the current
/// folder takes precedence over the service compiled in. `NAME@VERSION` stands for that version of
/// it alone, and `NAME@/PATH/OF/PROGRAM` for that program.
///
/// # Errors
/// If there is none, or its file cannot be read or is wrong.
pub fn find(name: &str) -> Result<KnownService, Refusal> {
    let is_path = name.ends_with(".toml");
    if let (plain, Some(pin)) = pinned::parts(name)
        && !is_path
    {
        if !pinned::is_target(name) {
            let expected = pinned::TARGET;
            return Err(Refusal(format!(
                "`{name}` is no target; expected {expected}"
            )));
        }
        let known = find(plain)?;
        return Ok(KnownService {
            service: pinned(known.service, pin),
            ..known
        });
    }
    let on_disk = if is_path {
        name.to_owned()
    } else {
        path_of(name)
    };
    if is_path || Path::new(&on_disk).exists() {
        return from_disk(name, on_disk);
    }
    match BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
        Some((_, text)) => Ok(KnownService::read((*text).to_owned(), name, None)?),
        None => Err(Refusal(format!(
            "there is no service `{name}`; there are: {}",
            names().join(", ")
        ))),
    }
}

/// Returns the path that a service file of that name has, below the current folder.
pub fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}.toml")
}

fn from_disk(name: &str, path: String) -> Result<KnownService, Refusal> {
    match foreign::file::follow_text(Path::new(&path), MOST_BYTES) {
        Ok(text) => Ok(KnownService::read(text, name, Some(path))?.named_as_its_file()?),
        Err(error) => Err(Refusal(format!("{path} cannot be read: {error}"))),
    }
}

/// Returns the names of all services, compiled in and on disk, in order.
pub fn names() -> Vec<String> {
    let mut names = on_disk(FOLDER);
    names.extend(BUILT_IN.iter().map(|(name, _)| (*name).to_owned()));
    names.sort_unstable();
    names.dedup();
    names
}

/// Checks that a study that drives a protocol can drive a service.
///
/// # Errors
/// If the service speaks another; the error lists the services that speak this one.
pub fn check_speaks(service: &Service, driven: Protocol, study: &str) -> Result<(), Refusal> {
    if service.protocol == driven {
        return Ok(());
    }
    let speaks = |name: &String| find(name).is_ok_and(|known| known.service.protocol == driven);
    let others: Vec<String> = names().into_iter().filter(speaks).collect();
    Err(Refusal(format!(
        "{} speaks {}, and `{study}` drives {driven}; services that speak it: {}",
        service.title,
        service.protocol,
        others.join(", ")
    )))
}

/// Whether a service is, word for word, one that is compiled in, or a version of it: the authors of
/// this program have read what it runs. Any other service may run anything, and so may a program
/// given by its path.
pub fn is_our_own(service: &Service) -> bool {
    BUILT_IN.iter().any(|(name, text)| {
        service_spec::parse(text, name).is_ok_and(|built_in| match &service.find.version {
            Some(version) => pinned(built_in, version) == *service,
            None => built_in == *service,
        })
    })
}

/// Returns what is saved about a service and the version that was found.
pub fn record(known: &KnownService, found: FoundService) -> ServiceRecord {
    ServiceRecord {
        description: known.service.clone(),
        sha256: known.sha256(),
        version: found.version,
        program_sha256: found.sha256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_compiled_in_is_found_by_the_name_it_bears() {
        for (name, text) in BUILT_IN {
            let found = find(name).unwrap();
            assert_eq!((found.service.name.as_str(), found.file), (*name, None));
            assert_eq!(found.text, *text);
            assert!(is_our_own(&found.service));
        }
    }

    #[test]
    fn a_name_that_is_unknown_is_answered_with_those_that_are() {
        let error = find("ngnix").unwrap_err().to_string();
        assert!(error.starts_with("there is no service `ngnix`; there are: caddy, "));
        assert!(error.contains(", nginx, "), "{error}");
    }

    #[test]
    fn a_service_with_one_word_changed_is_not_our_own() {
        let mut service = find("nginx").unwrap().service;
        service.start.arguments.push("-q".to_owned());
        assert!(!is_our_own(&service));
    }

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        let mut known = find("nginx").unwrap();
        known.text = "abc".to_owned();
        let published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(known.sha256(), published);
    }
}
