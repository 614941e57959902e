//! The files to write results to: opened before anything is measured, so that no measurement is in
//! vain.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use model::bench::BenchRecord;
use report::bench::exports::{self, Form, Markup};

use super::hyperfine::HyperfineFlags;
use crate::console::Console;

/// Turns a record into the text of a file.
type Render = fn(&BenchRecord, &Form) -> String;

/// The files that the user asked for.
pub(super) struct Exports {
    files: Vec<Export>,
    form: Form,
}

struct Export {
    path: PathBuf,
    file: File,
    render: Render,
    /// We created it and it is still empty: it is removed again if nothing is written.
    is_new: bool,
}

impl Exports {
    /// Opens each file for writing and changes none.
    pub(super) fn open(flags: &HyperfineFlags, form: Form) -> anyhow::Result<Self> {
        let wanted: [(&Option<PathBuf>, Render); 5] = [
            (&flags.export_json, exports::json),
            (&flags.export_csv, exports::csv),
            (&flags.export_markdown, |record, form| {
                exports::table(record, form, Markup::Markdown)
            }),
            (&flags.export_asciidoc, |record, form| {
                exports::table(record, form, Markup::AsciiDoc)
            }),
            (&flags.export_orgmode, |record, form| {
                exports::table(record, form, Markup::OrgMode)
            }),
        ];
        let named = wanted
            .into_iter()
            .filter_map(|(path, render)| Some((path.as_ref()?, render)));
        let opened = named.map(|(path, render)| Export::open(path, render));
        let files = opened.collect::<anyhow::Result<_>>()?;
        Ok(Self { files, form })
    }

    /// Writes all files. One that cannot be written harms neither the figures nor the other files,
    /// and is reported at the end.
    pub(super) fn write(mut self, record: &BenchRecord, console: &Console) {
        for export in &mut self.files {
            if let Err(error) = export.write(record, &self.form) {
                console.could_not_write(error);
            }
        }
    }
}

impl Export {
    fn open(path: &Path, render: Render) -> anyhow::Result<Self> {
        let is_new = !path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| {
                format!(
                    "{} cannot be written, so nothing was measured; give another file",
                    path.display()
                )
            })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            render,
            is_new,
        })
    }

    fn write(&mut self, record: &BenchRecord, form: &Form) -> io::Result<()> {
        let text = (self.render)(record, form);
        // A pipe or a device cannot be truncated.
        let is_regular = self.file.metadata().is_ok_and(|about| about.is_file());
        let cut = if is_regular {
            self.file.set_len(0)
        } else {
            Ok(())
        };
        let written = cut.and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| {
            let path = self.path.display();
            io::Error::other(format!(
                "{path}: {error}; make room there, or give another file, and measure again"
            ))
        })?;
        self.is_new = false;
        Ok(())
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        if self.is_new {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
