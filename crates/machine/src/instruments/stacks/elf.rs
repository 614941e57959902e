//! Reads a 64-bit ELF file (elf(5)): the names of its functions, and its tables for unwinding.
//!
//! The file is whatever a process has mapped, so nothing in it is trusted: every read is bounded,
//! and inconsistent data are treated as absent.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

/// A larger table is not read; the symbol table of a browser has some 30 MiB.
const MOST_TABLE_BYTES: u64 = 128 << 20;
const MOST_SECTIONS: u64 = 4096;
const MOST_SEGMENTS: u64 = 256;
const LONGEST_NAME: usize = 4096;

const HEADER_BYTES: u64 = 64;
const SEGMENT_BYTES: usize = 56;
const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;

/// `\x7fELF`, `ELFCLASS64`, and the byte order of this machine.
const MAGIC: [u8; 6] = [
    0x7f,
    b'E',
    b'L',
    b'F',
    2,
    if cfg!(target_endian = "little") { 1 } else { 2 },
];
const LOADED: u32 = 1;
const CODE: u32 = 1;
const LEAST_PAGE: u64 = 4096;
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;
const FUNCTION: u8 = 2;
const INDIRECT_FUNCTION: u8 = 10;

/// Folder of separate debug information, by build ID (Debian's `-dbgsym` packages).
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// The parts of a file that are needed for stacks.
#[derive(Debug, Default)]
pub(super) struct Binary {
    /// Ranges of offsets in the file that are mapped as code, each with the address of its start.
    segments: Vec<(Range<u64>, u64)>,
    functions: Functions,
    pub(super) unwinding: Option<UnwindTables>,
}

/// The sections `.eh_frame` and `.eh_frame_hdr`, its index.
#[derive(Clone, Debug)]
pub(super) struct UnwindTables {
    pub(super) index: UnwindTable,
    pub(super) frames: UnwindTable,
}

/// A section, and the range of addresses within the file at which it is mapped.
#[derive(Clone, Debug)]
pub(super) struct UnwindTable {
    pub(super) at: Range<u64>,
    pub(super) bytes: Arc<[u8]>,
}

/// Functions sorted by address.
#[derive(Debug, Default)]
struct Functions {
    sorted: Vec<Function>,
    names: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    bytes: u64,
    name_at: u32,
}

/// A source of bytes that is read in pieces.
pub(super) trait Pieces {
    /// Reads this many bytes from an offset on; `None` where there are fewer.
    fn piece(&self, offset: u64, bytes: u64) -> Option<Vec<u8>>;
}

impl Pieces for File {
    fn piece(&self, offset: u64, bytes: u64) -> Option<Vec<u8>> {
        let is_there = offset.checked_add(bytes)? <= self.metadata().ok()?.len();
        if bytes > MOST_TABLE_BYTES || !is_there {
            return None;
        }
        let mut piece = vec![0; usize::try_from(bytes).ok()?];
        self.read_exact_at(&mut piece, offset).ok()?;
        Some(piece)
    }
}

impl Pieces for [u8] {
    fn piece(&self, offset: u64, bytes: u64) -> Option<Vec<u8>> {
        let (from, bytes) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
        Some(self.get(from..from.checked_add(bytes)?)?.to_vec())
    }
}

impl Binary {
    /// Reads a file; `None` where it is no such file.
    pub(super) fn read(file: &(impl Pieces + ?Sized)) -> Option<Self> {
        let header = file.piece(0, HEADER_BYTES)?;
        let sections = Sections::read(file, &header).unwrap_or_default();
        let own = sections.functions(file);
        Some(Self {
            segments: segments(file, &header)?,
            functions: own
                .or_else(|| debug_file_functions(&sections.build(file)?))
                .unwrap_or_default(),
            unwinding: sections.unwind_tables(file),
        })
    }

    /// The address within the file of an offset in it.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        let mut segments = self.segments.iter();
        let (offsets, address) = segments.find(|(offsets, _)| offsets.contains(&offset))?;
        (offset - offsets.start).checked_add(*address)
    }

    /// The function that contains an address within the file, by the linker's name.
    pub(super) fn function_at(&self, address: u64) -> Option<&str> {
        self.functions.at(address)
    }
}

impl Functions {
    /// The name of the function at an address. Among several names of one address it takes the one
    /// with the fewest leading underscores, such as `read` rather than `__libc_read`.
    fn at(&self, address: u64) -> Option<&str> {
        let behind = self
            .sorted
            .partition_point(|function| function.start <= address);
        let start = self.sorted.get(behind.checked_sub(1)?)?.start;
        let aliases = self.sorted[..behind]
            .iter()
            .rev()
            .take_while(|function| function.start == start);
        let holds = |function: &&Function| address - start < function.bytes;
        let names = aliases
            .filter(holds)
            .filter_map(|function| self.name(function.name_at));
        let underscores = |name: &&str| name.bytes().take_while(|byte| *byte == b'_').count();
        names.min_by_key(underscores)
    }

    fn name(&self, at: u32) -> Option<&str> {
        let from = self.names.get(usize::try_from(at).ok()?..)?;
        let end = from.iter().take(LONGEST_NAME).position(|byte| *byte == 0)?;
        str::from_utf8(&from[..end])
            .ok()
            .filter(|name| !name.is_empty())
    }
}

fn segments(file: &(impl Pieces + ?Sized), header: &[u8]) -> Option<Vec<(Range<u64>, u64)>> {
    if header.get(..MAGIC.len())? != MAGIC || usize::from(half(header, 54)?) != SEGMENT_BYTES {
        return None;
    }
    let count = u64::from(half(header, 56)?).min(MOST_SEGMENTS);
    let table = file.piece(long(header, 32)?, count * SEGMENT_BYTES as u64)?;
    let is_code = |entry: &&[u8]| {
        word(entry, 0) == Some(LOADED) && word(entry, 4).is_some_and(|flags| flags & CODE != 0)
    };
    let segment = |entry: &[u8]| {
        let (offset, address, bytes) = (long(entry, 8)?, long(entry, 16)?, long(entry, 32)?);
        // Whole pages are mapped, so the bytes before the segment in its first page are mapped too.
        let before = offset % LEAST_PAGE;
        let offsets = offset - before..offset.checked_add(bytes)?;
        Some((offsets, address.checked_sub(before)?))
    };
    let code = table.chunks_exact(SEGMENT_BYTES).filter(is_code);
    Some(code.filter_map(segment).collect())
}

/// The section table and the names of the sections.
#[derive(Default)]
struct Sections {
    all: Vec<Section>,
    names: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Section {
    name_at: u32,
    kind: u32,
    address: u64,
    offset: u64,
    bytes: u64,
    /// Index of the section that holds the names of this one's symbols.
    linked: u32,
}

impl Sections {
    fn read(file: &(impl Pieces + ?Sized), header: &[u8]) -> Option<Self> {
        if usize::from(half(header, 58)?) != SECTION_BYTES {
            return None;
        }
        let count = u64::from(half(header, 60)?).min(MOST_SECTIONS);
        let table = file.piece(long(header, 40)?, count * SECTION_BYTES as u64)?;
        let all: Vec<Section> = table
            .chunks_exact(SECTION_BYTES)
            .filter_map(section)
            .collect();
        let names = all.get(usize::from(half(header, 62)?))?.piece(file)?;
        Some(Self { all, names })
    }

    fn named(&self, name: &str) -> Option<&Section> {
        let is_it = |section: &&Section| {
            let from = usize::try_from(section.name_at)
                .ok()
                .and_then(|at| self.names.get(at..));
            let found = from.and_then(|from| from.strip_prefix(name.as_bytes()));
            found.is_some_and(|rest| rest.first() == Some(&0))
        };
        self.all.iter().find(is_it)
    }

    /// All functions where the file is not stripped, otherwise those that other files may call.
    fn functions(&self, file: &(impl Pieces + ?Sized)) -> Option<Functions> {
        let of_kind = |kind| self.all.iter().find(|section| section.kind == kind);
        let symbols = of_kind(SYMBOLS).or_else(|| of_kind(DYNAMIC_SYMBOLS))?;
        let names = self
            .all
            .get(usize::try_from(symbols.linked).ok()?)?
            .piece(file)?;
        let table = symbols.piece(file)?;
        let mut sorted: Vec<Function> = table
            .chunks_exact(SYMBOL_BYTES)
            .filter_map(function)
            .collect();
        sorted.sort_unstable_by_key(|function| function.start);
        Some(Functions { sorted, names })
    }

    fn unwind_tables(&self, file: &(impl Pieces + ?Sized)) -> Option<UnwindTables> {
        let table = |name| {
            let section = self.named(name)?;
            let at = section.address..section.address.checked_add(section.bytes)?;
            let bytes = section.piece(file)?.into();
            Some(UnwindTable { at, bytes })
        };
        Some(UnwindTables {
            index: table(".eh_frame_hdr")?,
            frames: table(".eh_frame")?,
        })
    }

    /// The build ID, which follows the header of its note.
    fn build(&self, file: &(impl Pieces + ?Sized)) -> Option<Vec<u8>> {
        let note = self.named(".note.gnu.build-id")?.piece(file)?;
        Some(note.get(16..36)?.to_vec())
    }
}

impl Section {
    fn piece(&self, file: &(impl Pieces + ?Sized)) -> Option<Vec<u8>> {
        file.piece(self.offset, self.bytes)
    }
}

/// Functions from the debug file that the administrator has installed for a file without symbols.
fn debug_file_functions(build: &[u8]) -> Option<Functions> {
    let digits = build.iter().fold(String::new(), |digits, byte| {
        digits + &format!("{byte:02x}")
    });
    let (folder, name) = digits.split_at(2);
    let file = foreign::file::open(
        &Path::new(DEBUG_FILES)
            .join(folder)
            .join(format!("{name}.debug")),
    )
    .ok()?;
    let header = file.piece(0, HEADER_BYTES)?;
    Sections::read(&file, &header)?.functions(&file)
}

fn section(entry: &[u8]) -> Option<Section> {
    Some(Section {
        name_at: word(entry, 0)?,
        kind: word(entry, 4)?,
        address: long(entry, 16)?,
        offset: long(entry, 24)?,
        bytes: long(entry, 32)?,
        linked: word(entry, 40)?,
    })
}

/// Reads a symbol; `None` unless it is a function that this file defines.
fn function(entry: &[u8]) -> Option<Function> {
    let kind = entry.get(4)? & 15;
    let is_here = half(entry, 6)? != 0;
    (is_here && matches!(kind, FUNCTION | INDIRECT_FUNCTION)).then_some(())?;
    Some(Function {
        name_at: word(entry, 0)?,
        start: long(entry, 8)?,
        bytes: long(entry, 16)?,
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_our_own_program_is_found_by_its_address_and_none_beyond_it() {
        let file = File::open("/proc/self/exe").unwrap();
        let binary = Binary::read(&file).unwrap();
        let functions = &binary.functions;
        let is_main = |function: &&Function| functions.name(function.name_at) == Some("main");
        let main = functions.sorted.iter().find(is_main).unwrap();
        assert_eq!(binary.function_at(main.start), Some("main"));
        assert_ne!(binary.function_at(main.start + main.bytes), Some("main"));
        assert!(binary.unwinding.is_some());
    }

    #[test]
    fn a_file_that_was_cut_or_spoilt_anywhere_is_read_without_harm() {
        let file = File::open("/proc/self/exe").unwrap();
        let start = file.piece(0, 4096).unwrap();
        for place in 0..64 {
            let mut spoilt = start.clone();
            spoilt[place] = 0xff;
            let _ = Binary::read(spoilt.as_slice());
            let _ = Binary::read(&start[..place]);
        }
        assert!(Binary::read(&b"#!/bin/sh\n"[..]).is_none());
    }
}
