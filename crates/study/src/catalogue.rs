//! The studies that are there: those compiled in, and files on disk, which win.

use std::path::Path;

use model::Study;

use crate::spec::{self, SpecError};

/// Studies compiled into the program: file name and text.
const BUILT_IN: &[(&str, &str)] = &[(
    "http-json.toml",
    include_str!("../../../studies/http-json.toml"),
)];

/// Why a study could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("there is no study `{name}`; `linerate study list` shows those there are")]
    Unknown { name: String },
    #[error("{path} cannot be read: {source}")]
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
    /// `None` for a study compiled in.
    pub file: Option<String>,
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
    let text = BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == file)
        .map(|(_, text)| *text);
    let text = text.ok_or_else(|| CatalogueError::Unknown {
        name: name.to_owned(),
    })?;
    Ok(Found {
        study: spec::parse(text, &file)?,
        file: None,
    })
}

fn from_disk(path: String) -> Result<Found, CatalogueError> {
    let text = std::fs::read_to_string(&path).map_err(|source| CatalogueError::Unreadable {
        path: path.clone(),
        source,
    })?;
    Ok(Found {
        study: spec::parse(&text, &path)?,
        file: Some(path),
    })
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

/// The file of a study compiled in, as its author wrote it.
#[must_use]
pub fn built_in_text(name: &str) -> Option<&'static str> {
    let file = format!("{name}.toml");
    BUILT_IN
        .iter()
        .find(|(built_in, _)| *built_in == file)
        .map(|(_, text)| *text)
}
