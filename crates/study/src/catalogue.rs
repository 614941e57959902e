//! The studies that are available: those compiled in, and files on disk, which take precedence.

use std::borrow::Cow;
use std::path::Path;

use model::CommandStudy;
use model::lever::LeverShape;
use model::study::StudyFile;

use crate::refusal::Refusal;
use crate::shipped::{MOST_BYTES, on_disk, shipped};
use crate::spec::nearest::did_you_mean;
use crate::spec::{self, SpecError};

/// Studies compiled into the program: name and text.
pub(crate) const BUILT_IN: &[(&str, &str)] = shipped!("studies":
    "http-json" "firewall" "http-frameworks" "strength-reduction" "rsqrt" "git-status" "python"
    "page-size" "https-download" "video" "udp-batches" "net-credit" "flows" "router" "vpn"
);

/// Folder of the user's own studies, below the current one.
const FOLDER: &str = "studies";

/// A study and where it came from.
#[derive(Debug)]
pub struct Found {
    pub study: StudyFile,
    /// The path of its file; for a study compiled in, the name that its file had.
    pub file: String,
    /// The text as its author wrote it.
    pub text: Cow<'static, str>,
}

impl Found {
    fn read(text: impl Into<Cow<'static, str>>, file: String) -> Result<Self, SpecError> {
        let text = text.into();
        let study = spec::parse(&text, &file)?;
        Ok(Self { study, file, text })
    }

    /// Checks that every lever that the study sets is one of `known` and accepts its value.
    ///
    /// # Errors
    /// The first lever that does not pass, and its place in the file.
    pub fn check_levers(&self, known: &[LeverShape]) -> Result<(), SpecError> {
        match &self.study {
            StudyFile::Load(study) => spec::check_levers(study, &self.text, &self.file, known),
            StudyFile::Commands(_) => Ok(()),
        }
    }
}

/// Finds a study by the path of its file, or by name. `studies/NAME.toml` below the current folder
/// takes precedence over the study compiled in.
///
/// # Errors
/// If there is none, or its file cannot be read or is wrong.
pub fn find(name: &str) -> Result<Found, Refusal> {
    let on_disk = if name.ends_with(".toml") {
        name.to_owned()
    } else {
        path_on_disk(name)
    };
    if Path::new(&on_disk).exists() || name.ends_with(".toml") {
        return from_disk(on_disk);
    }
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let (_, text) = built_in.ok_or_else(|| unknown(name))?;
    Ok(Found::read(*text, format!("{name}.toml"))?)
}

fn from_disk(path: String) -> Result<Found, Refusal> {
    match foreign::file::follow_text(Path::new(&path), MOST_BYTES) {
        Ok(text) => Ok(Found::read(text, path)?),
        Err(error) => Err(Refusal(format!(
            "{path} cannot be read: {error}; expected the file of a study or its name"
        ))),
    }
}

fn unknown(name: &str) -> Refusal {
    if name.contains('/') || Path::new(name).is_file() {
        return Refusal(format!(
            "`{name}` is not the name of a study, and the path of a study file ends in `.toml`"
        ));
    }
    let mut known = on_disk(FOLDER);
    known.extend(built_in_names().map(str::to_owned));
    let meant = did_you_mean(name, known.iter().map(String::as_str));
    Refusal(format!(
        "there is no study `{name}`; `linerate study list` shows those there are{meant}"
    ))
}

/// Whether the commands of a study are those of one that is compiled in, with any number of rounds,
/// in full or in its smoke form. The authors of this program have read what such a study runs.
pub fn is_our_own(study: &CommandStudy) -> bool {
    let rounds = study.design.rounds;
    let ours = BUILT_IN
        .iter()
        .filter_map(|(name, text)| spec::parse(text, name).ok());
    ours.filter_map(StudyFile::commands).any(|mut ours| {
        ours.design.rounds = rounds;
        let in_full = ours == *study;
        ours.shorten_for_smoke(rounds);
        in_full || ours == *study
    })
}

fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

fn path_on_disk(name: &str) -> String {
    format!("{FOLDER}/{name}.toml")
}

/// A study under the name by which [`find`] finds it.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    /// The path of its file; `None` for a study compiled in.
    pub file: Option<String>,
    pub study: Result<StudyFile, Refusal>,
}

/// Returns every study that can be found by its name: those compiled in, in their order, each
/// replaced by the file of that name below the current folder if there is one; then the other
/// files, by name. A file that is wrong is listed with its error.
pub fn all() -> Vec<Listed> {
    let mut others = on_disk(FOLDER);
    let mut names: Vec<String> = built_in_names().map(str::to_owned).collect();
    others.retain(|name| !names.contains(name));
    others.sort_unstable();
    names.append(&mut others);
    names.into_iter().map(listed).collect()
}

fn listed(name: String) -> Listed {
    let path = path_on_disk(&name);
    Listed {
        study: find(&name).map(|found| found.study),
        file: Path::new(&path).exists().then_some(path),
        name,
    }
}
