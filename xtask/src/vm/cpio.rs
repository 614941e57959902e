//! The archive that a kernel unpacks as its first file system: cpio in the form `newc`, as
//! Documentation/driver-api/early-userspace/buffer-format.rst of the kernel has it.

use std::collections::BTreeSet;

use anyhow::Context as _;

const FOLDER: u32 = 0o040_755;
const LINK: u32 = 0o120_777;
const FILE: u32 = 0o100_000;
/// The name of the entry that ends an archive.
const END: &str = "TRAILER!!!";

/// An archive in the making. Everything in it belongs to root.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    /// A file with permissions such as 0o755; the folders above it come before it.
    pub(super) fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> anyhow::Result<()> {
        self.folders_above(path)?;
        self.entry(path, FILE | mode, content)
    }

    /// A symbolic link.
    pub(super) fn link(&mut self, path: &str, target: &str) -> anyhow::Result<()> {
        self.folders_above(path)?;
        self.entry(path, LINK, target.as_bytes())
    }

    /// A folder, unless it is there.
    pub(super) fn folder(&mut self, path: &str) -> anyhow::Result<()> {
        self.folders_above(path)?;
        if self.folders.insert(name(path).to_owned()) {
            self.entry(path, FOLDER, &[])?;
        }
        Ok(())
    }

    /// The archive as bytes.
    pub(super) fn finish(mut self) -> anyhow::Result<Vec<u8>> {
        self.entry(END, 0, &[])?;
        Ok(self.bytes)
    }

    fn folders_above(&mut self, path: &str) -> anyhow::Result<()> {
        match name(path).rsplit_once('/') {
            Some((above, _)) => self.folder(above),
            None => Ok(()),
        }
    }

    /// Magic number, thirteen numbers of eight hexadecimal digits, name and content; the last two
    /// are each filled up to a multiple of four bytes.
    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) -> anyhow::Result<()> {
        let name = name(path);
        let size = u32::try_from(content.len()).with_context(|| format!("{path} is too large"))?;
        let name_size = u32::try_from(name.len() + 1)?;
        self.entries += 1;
        let (number, links) = (self.entries, 1);
        let numbers = [number, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        for number in numbers {
            self.bytes.extend(format!("{number:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.fill_up();
        self.bytes.extend(content);
        self.fill_up();
        Ok(())
    }

    fn fill_up(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Names in the archive are relative to its top.
fn name(path: &str) -> &str {
    path.trim_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in an archive with the sizes of what they hold.
    fn listed(archive: &[u8]) -> Vec<(String, usize)> {
        let number = |at: usize| {
            let digits = std::str::from_utf8(&archive[at..at + 8]).unwrap();
            usize::from_str_radix(digits, 16).unwrap()
        };
        let (mut at, mut found) = (0, Vec::new());
        while at < archive.len() {
            assert_eq!(&archive[at..at + 6], b"070701");
            let (size, name_size) = (number(at + 54), number(at + 94));
            let name = &archive[at + 110..at + 110 + name_size - 1];
            found.push((String::from_utf8(name.to_vec()).unwrap(), size));
            at = (at + 110 + name_size).next_multiple_of(4) + size.next_multiple_of(4);
        }
        found
    }

    #[test]
    fn an_archive_holds_each_folder_once_and_before_what_is_in_it() {
        let mut archive = Archive::default();
        archive.file("/bin/tool", 0o755, b"#!").unwrap();
        archive.link("/bin/other", "tool").unwrap();
        archive.folder("/bin/more/").unwrap();
        let names = listed(&archive.finish().unwrap());
        let wanted = [
            ("bin", 0),
            ("bin/tool", 2),
            ("bin/other", 4),
            ("bin/more", 0),
            (END, 0),
        ];
        assert_eq!(names, wanted.map(|(name, size)| (name.to_owned(), size)));
    }
}
