//! Requests of several kinds: from the file of `--mix`, or from URLs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use model::request::{Content, KindSpec};
use serde::Deserialize;

/// Largest file of a mix, bytes.
const MOST_MIX_BYTES: u64 = 1 << 20;
/// Largest file of a body, bytes.
pub(super) const MOST_BODY_BYTES: u64 = 64 << 20;

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
    /// Method; if absent, GET, or POST with a body.
    method: Option<String>,
    #[serde(default = "once")]
    weight: u32,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    /// Path of a file with the body, relative to the folder of the mix's file.
    body_file: Option<PathBuf>,
}

fn once() -> u32 {
    1
}

/// Reads the kinds of a file. Each has these headers besides its own, and in place of its own of
/// the same names.
pub(super) fn read(file: &Path, headers: &[(String, String)]) -> anyhow::Result<Vec<KindSpec>> {
    let shown = file.display();
    let text = foreign::file::read_any_text(file, MOST_MIX_BYTES);
    let text = text.with_context(|| format!("cannot read {shown}"))?;
    let read: File = toml::from_str(&text).with_context(|| {
        format!("{shown} is not a list of requests, each a table [[request]] with a path")
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
        let path = without_fragment(&self.path);
        Ok(KindSpec {
            name: self.name.unwrap_or_else(|| name(&method, path)),
            weight: self.weight,
            method,
            path: path.to_owned(),
            headers: together(self.headers, headers),
            body: content(self.body, self.body_file, folder)?,
        })
    }
}

/// Returns the name of a kind that was given none. The query is left out, since it may hold
/// secrets.
pub(super) fn name(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    format!("{method} {path}")
}

/// Removes the fragment, which is for the program that shows the answer and is never sent (RFC 9110
/// §7.1).
fn without_fragment(path: &str) -> &str {
    path.split('#').next().unwrap_or_default()
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
    let bytes = foreign::file::read_any(&file, MOST_BODY_BYTES);
    let bytes = bytes.with_context(|| format!("cannot read the body {}", file.display()))?;
    Ok(Content::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_neither_sent_nor_in_the_name() {
        let entry: MixEntry = toml::from_str(r#"path = "/a?b=1#part""#).unwrap();
        let kind = entry.kind(Path::new(""), &[]).unwrap();
        assert_eq!((&*kind.path, &*kind.name), ("/a?b=1", "GET /a"));
    }

    #[test]
    fn what_has_no_end_is_neither_a_mix_nor_a_body_and_is_told_by_its_name() {
        let zero = Path::new("/dev/zero");
        let mix = read(zero, &[]).unwrap_err();
        let body = content(None, Some(zero.to_owned()), Path::new("")).unwrap_err();
        for (error, what) in [(mix, "cannot read"), (body, "cannot read the body")] {
            let words = format!("{error:#}");
            assert!(
                words.starts_with(&format!("{what} /dev/zero: it has more than")),
                "{words}"
            );
        }
    }
}
