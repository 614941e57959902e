//! A knob that is a file below `/proc` or `/sys`.

use std::fmt;
use std::io;

use super::place::Place;
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

/// A file, and the form in which it writes its value.
pub(super) struct KernelFile {
    /// The path without the leading slash.
    pub(super) file: String,
    pub(super) form: Form,
}

impl Place for KernelFile {
    fn form(&self) -> Form {
        self.form
    }

    /// Fails with `InvalidData` for a text that is not in the known form.
    fn read(&self, tree: &Tree) -> io::Result<Value> {
        let text = tree.try_text(&self.file)?;
        self.form.parse(&text).ok_or_else(|| {
            let text = text.trim();
            let words = format!("`{text}` is not what this file is known to hold");
            io::Error::new(io::ErrorKind::InvalidData, words)
        })
    }

    fn write(&self, tree: &Tree, value: &Value) -> io::Result<()> {
        // Kernel files are opened, never created: a missing one stays missing.
        let mut file = std::fs::File::options()
            .write(true)
            .open(tree.path(&self.file))?;
        io::Write::write_all(&mut file, self.form.print(value).as_bytes())
    }

    fn may_write(&self, tree: &Tree) -> io::Result<()> {
        let path = tree.path(&self.file);
        std::fs::File::options().write(true).open(path).map(drop)
    }

    fn command(&self, value: &Value) -> String {
        let text = self.form.print(value);
        let text = shell_words::quote(&text);
        match self.sysctl() {
            Some(name) => format!("sysctl -w {name}={text}"),
            None => format!("echo {text} > {}", shell_words::quote(&self.to_string())),
        }
    }
}

impl KernelFile {
    /// The name with dots, where the file is a sysctl.
    fn sysctl(&self) -> Option<String> {
        let name = self.file.strip_prefix("proc/sys/")?;
        Some(name.replace('/', "."))
    }
}

impl fmt::Display for KernelFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sysctl() {
            Some(name) => out.write_str(&name),
            None => write!(out, "/{}", self.file),
        }
    }
}
