//! The CPU quota of a control group.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use model::as_text;
use serde::{Deserialize, Serialize};

use crate::levers::value::Form;

/// The folder where control groups are mounted, without the leading slash.
const MOUNTED: &str = "sys/fs/cgroup";

/// A control group by its folder below the mount point, such as `cpu/jobs` or
/// `system.slice/a.service`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct GroupFolder(String);

/// The file of a group that holds its quota, by the version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuotaFile {
    #[serde(rename = "cpu.cfs_quota_us")]
    One,
    #[serde(rename = "cpu.max")]
    Two,
}

impl GroupFolder {
    /// The group of a folder as this process sees it.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let below = folder.strip_prefix("/").ok()?.strip_prefix(MOUNTED).ok()?;
        below.to_str()?.parse().ok()
    }

    pub(super) fn file(&self, file: QuotaFile) -> String {
        let name = match file {
            QuotaFile::One => "cpu.cfs_quota_us",
            QuotaFile::Two => "cpu.max",
        };
        format!("{MOUNTED}/{}/{name}", self.0)
    }
}

impl QuotaFile {
    pub(super) fn form(self) -> Form {
        match self {
            Self::One => Form::Number,
            Self::Two => Form::Numbers,
        }
    }
}

impl FromStr for GroupFolder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_part = |part: &str| !["", ".", ".."].contains(&part) && !part.contains('\0');
        match text.split('/').all(is_part) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("`{text}` is no control group")),
        }
    }
}

impl fmt::Display for GroupFolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

as_text!(GroupFolder);
