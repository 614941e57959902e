//! Requests of several kinds: from the file of `--mix`, or from URLs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use model::request::{Content, KindSpec};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// A table `[[request]]` for each kind.
    #[serde(default)]
    request: Vec<MixEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MixEntry {
    path: String,
    name: Option<String>,
    /// GET, or POST with a body.
    method: Option<String>,
    #[serde(default = "once")]
    weight: u32,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    /// From the folder of the file on.
    body_file: Option<PathBuf>,
}

fn once() -> u32 {
    1
}

/// The kinds of a file, each with these headers besides its own, and in place of those of their names.
pub(super) fn read(file: &Path, headers: &[(String, String)]) -> anyhow::Result<Vec<KindSpec>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let read: File = toml::from_str(&text).with_context(|| {
        format!("{shown} is no list of requests, each a table [[request]] with a path")
    })?;
    ensure!(
        !read.request.is_empty(),
        "{shown} holds no request: each is a table [[request]] with a path"
    );
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let entries = (1..).zip(read.request);
    entries
        .map(|(number, entry)| {
            let kind = entry.kind(folder, headers);
            kind.with_context(|| format!("{shown}, request {number}"))
        })
        .collect()
}

impl MixEntry {
    fn kind(self, folder: &Path, headers: &[(String, String)]) -> anyhow::Result<KindSpec> {
        let shown = self.name.iter().chain([&self.path]);
        ensure!(
            !shown.flat_map(|text| text.chars()).any(char::is_control),
            "its name or its path holds a control character"
        );
        let has_body = self.body.is_some() || self.body_file.is_some();
        let method = self
            .method
            .unwrap_or_else(|| if has_body { "POST" } else { "GET" }.to_owned());
        let method = method.to_ascii_uppercase();
        Ok(KindSpec {
            name: self.name.unwrap_or_else(|| name(&method, &self.path)),
            weight: self.weight,
            method,
            path: self.path,
            headers: together(self.headers, headers),
            body: content(self.body, self.body_file, folder)?,
        })
    }
}

/// What a kind is called that was given no name. A query may hold secrets.
pub(super) fn name(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    format!("{method} {path}")
}

fn together(own: BTreeMap<String, String>, given: &[(String, String)]) -> Vec<(String, String)> {
    let is_given = |name: &String| given.iter().any(|given| given.0.eq_ignore_ascii_case(name));
    let own = own.into_iter().filter(|(name, _)| !is_given(name));
    own.chain(given.to_vec()).collect()
}

fn content(text: Option<String>, file: Option<PathBuf>, folder: &Path) -> anyhow::Result<Content> {
    ensure!(
        text.is_none() || file.is_none(),
        "it has both `body` and `body_file`, and a request has one body"
    );
    let Some(file) = file else {
        return Ok(Content::Text(text.unwrap_or_default()));
    };
    let file = folder.join(file);
    let bytes = std::fs::read(&file);
    let bytes = bytes.with_context(|| format!("cannot read the body {}", file.display()))?;
    Ok(Content::Bytes(bytes))
}
