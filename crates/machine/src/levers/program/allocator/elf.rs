//! What a program or a shared library says of itself in its headers, as elf(5) has them.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// An ELF file for a 64-bit little-endian machine.
pub(super) struct Elf<'a> {
    file: &'a File,
    header: Vec<u8>,
}

/// A table of headers that all have the same size.
struct Table {
    bytes: Vec<u8>,
    entry_bytes: usize,
}

/// Class and byte order that follow the magic number: 64 bits, the lowest byte first.
const WIDE_AND_LITTLE: &[u8] = b"\x7fELF\x02\x01";
const HEADER_BYTES: u64 = 64;
const SYMBOL_BYTES: usize = 24;
/// The header of a program that names its loader.
const PT_INTERP: u64 = 3;
/// The section that holds the symbols which a loader looks at.
const SHT_DYNSYM: u64 = 11;
/// More than a program or an allocator has of headers, symbols or names.
const MOST_BYTES: u64 = 8 << 20;

impl<'a> Elf<'a> {
    /// # Errors
    /// That it is none, or of another kind.
    pub(super) fn of(file: &'a File) -> io::Result<Self> {
        let header = read(file, 0, HEADER_BYTES).map_err(|_| no_program())?;
        match header.starts_with(WIDE_AND_LITTLE) {
            true => Ok(Self { file, header }),
            false => Err(no_program()),
        }
    }

    /// The loader that a program names; `None` where it is linked statically.
    ///
    /// # Errors
    /// Where the file ends in the midst of its headers.
    pub(super) fn loader(&self) -> io::Result<Option<PathBuf>> {
        let table = self.table(0x20, 0x36)?;
        let mut entries = table.entries();
        let Some(entry) = entries.find(|entry| field::<4>(entry, 0) == PT_INTERP) else {
            return Ok(None);
        };
        let mut path = read(self.file, field::<8>(entry, 8), field::<8>(entry, 0x20))?;
        path.retain(|byte| *byte != 0);
        Ok(Some(std::ffi::OsString::from_vec(path).into()))
    }

    /// Whether it has that symbol for others to use, by the sections that strip(1) leaves.
    ///
    /// # Errors
    /// Where the file ends in the midst of its sections.
    pub(super) fn defines(&self, symbol: &str) -> io::Result<bool> {
        let sections = self.table(0x28, 0x3a)?;
        let mut dynamic = sections
            .entries()
            .filter(|section| field::<4>(section, 4) == SHT_DYNSYM);
        let Some(section) = dynamic.next() else {
            return Ok(false);
        };
        let link = usize::try_from(field::<4>(section, 0x28)).map_err(io::Error::other)?;
        let names = sections.entries().nth(link).ok_or_else(cut_short)?;
        let (symbols, names) = (self.section(section)?, self.section(names)?);
        let wanted = [symbol.as_bytes(), b"\0"].concat();
        Ok(symbols.chunks_exact(SYMBOL_BYTES).any(|entry| {
            let at = usize::try_from(field::<4>(entry, 0)).unwrap_or(usize::MAX);
            let is_defined = field::<2>(entry, 6) != 0;
            is_defined
                && names
                    .get(at..)
                    .is_some_and(|name| name.starts_with(&wanted))
        }))
    }

    /// The table whose place is at one offset of the header, with the size and number of its entries at another.
    fn table(&self, place: usize, shape: usize) -> io::Result<Table> {
        let entry_bytes = field::<2>(&self.header, shape);
        let entries = field::<2>(&self.header, shape + 2);
        let bytes = read(
            self.file,
            field::<8>(&self.header, place),
            entry_bytes * entries,
        )?;
        let entry_bytes = usize::try_from(entry_bytes).map_err(io::Error::other)?;
        Ok(Table { bytes, entry_bytes })
    }

    fn section(&self, header: &[u8]) -> io::Result<Vec<u8>> {
        read(
            self.file,
            field::<8>(header, 0x18),
            field::<8>(header, 0x20),
        )
    }
}

impl Table {
    fn entries(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.entry_bytes.max(1))
    }
}

fn read(file: &File, from: u64, bytes: u64) -> io::Result<Vec<u8>> {
    if bytes > MOST_BYTES {
        return Err(io::Error::other("has a table of more than 8 MiB"));
    }
    let mut read = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    file.read_exact_at(&mut read, from)
        .map_err(|_| cut_short())?;
    Ok(read)
}

/// A number of so many bytes; 0 beyond the end.
fn field<const BYTES: usize>(header: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    if let Some(bytes) = header.get(at..at + BYTES) {
        wide[..BYTES].copy_from_slice(bytes);
    }
    u64::from_le_bytes(wide)
}

fn no_program() -> io::Error {
    io::Error::other("is no program for a 64-bit little-endian machine")
}

fn cut_short() -> io::Error {
    io::Error::other("ends in the midst of its headers")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_this_test() -> File {
        File::open(std::env::current_exe().unwrap()).unwrap()
    }

    fn written(bytes: &[u8]) -> File {
        use std::io::Write as _;
        let name = format!("linerate-elf-{}-{}", std::process::id(), bytes.len());
        let path = std::env::temp_dir().join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(bytes).unwrap();
        let written = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        written
    }

    #[test]
    fn a_program_names_its_loader_which_is_linked_statically_itself() {
        let own = of_this_test();
        let loader = Elf::of(&own).unwrap().loader().unwrap().unwrap();
        let loader = File::open(loader).unwrap();
        assert_eq!(Elf::of(&loader).unwrap().loader().unwrap(), None);
    }

    #[test]
    fn what_a_program_only_uses_it_does_not_define() {
        let own = of_this_test();
        assert!(!Elf::of(&own).unwrap().defines("malloc").unwrap());
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let library = maps.lines().find_map(|line| {
            let path = &line[line.find('/')?..];
            path.contains("/libc.so").then_some(path)
        });
        let library = File::open(library.unwrap()).unwrap();
        let library = Elf::of(&library).unwrap();
        assert!(library.defines("malloc").unwrap());
        assert!(!library.defines("mallo").unwrap());
        assert!(!library.defines("malloc_of_nobody").unwrap());
    }

    #[test]
    fn a_file_that_is_no_program_or_is_cut_short_is_refused() {
        assert!(Elf::of(&written(b"#!/bin/sh\n")).is_err());
        let narrow = [b"\x7fELF\x01\x01".as_slice(), &[0; 80]].concat();
        assert!(Elf::of(&written(&narrow)).is_err());
        let own = of_this_test();
        let header = read(&own, 0, HEADER_BYTES).unwrap();
        let header = written(&header);
        let cut = Elf::of(&header).unwrap();
        assert!(cut.loader().is_err() && cut.defines("malloc").is_err());
    }
}
