//! The studies that are there: those compiled in, and files on disk, which win.

use std::borrow::Cow;
use std::path::Path;

use model::Study;
use model::lever::LeverShape;

use crate::spec::nearest::did_you_mean;
use crate::spec::{self, SpecError};

/// Studies compiled into the program: file name and text.
const BUILT_IN: &[(&str, &str)] = &[(
    "http-json.toml",
    include_str!("../../../studies/http-json.toml"),
)];

/// Why a study could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("there is no study `{name}`; `linerate study list` shows those there are{meant}")]
    Unknown { name: String, meant: String },
    #[error("{path} cannot be read: {source}; expected the file of a study or its name")]
    Unreadable {
        path: String,
        source: std::io::Error,
    },
    #[error(transparent)]
    Wrong(#[from] SpecError),
}

/// A study and where it came from.
#[derive(Debug)]
pub struct Found {
    pub study: Study,
    /// The path of its file; of a study compiled in, the name that its file had.
    pub file: String,
    /// As its author wrote it.
    pub text: Cow<'static, str>,
}

impl Found {
    fn read(text: impl Into<Cow<'static, str>>, file: String) -> Result<Self, SpecError> {
        let text = text.into();
        let study = spec::parse(&text, &file)?;
        Ok(Self { study, file, text })
    }

    /// Whether every lever that the study puts on is one of `known` and takes its value.
    ///
    /// # Errors
    /// The first that is not, and where it stands in the file.
    pub fn check_levers(&self, known: &[LeverShape]) -> Result<(), SpecError> {
        spec::check_levers(&self.study, &self.text, &self.file, known)
    }
}

/// Finds a study by the path of its file, or by name: `studies/NAME.toml` below the current
/// folder wins over the study compiled in.
///
/// # Errors
/// When there is none, or its file cannot be read or is wrong.
pub fn find(name: &str) -> Result<Found, CatalogueError> {
    let on_disk = if name.ends_with(".toml") {
        name.to_owned()
    } else {
        format!("studies/{name}.toml")
    };
    if Path::new(&on_disk).exists() || name.ends_with(".toml") {
        return from_disk(on_disk);
    }
    let file = format!("{name}.toml");
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == file);
    let (_, text) = built_in.ok_or_else(|| unknown(name))?;
    Ok(Found::read(*text, file)?)
}

fn from_disk(path: String) -> Result<Found, CatalogueError> {
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Found::read(text, path)?),
        Err(source) => Err(CatalogueError::Unreadable { path, source }),
    }
}

fn unknown(name: &str) -> CatalogueError {
    let known = BUILT_IN
        .iter()
        .filter_map(|(file, _)| file.strip_suffix(".toml"));
    CatalogueError::Unknown {
        name: name.to_owned(),
        meant: did_you_mean(name, known),
    }
}

/// Every study compiled in.
///
/// # Errors
/// Never for a released program: a test reads them all.
pub fn built_in() -> Result<Vec<Study>, SpecError> {
    BUILT_IN
        .iter()
        .map(|(file, text)| spec::parse(text, file))
        .collect()
}
