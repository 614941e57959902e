//! The areas of a process's memory that hold code, and the files that are mapped there.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::rc::Rc;

use sys::kernel_file;

use super::elf::Binary;

/// The kernel's own code in every process (the vDSO) has two pages; we read no more than this of
/// another process's memory.
const MOST_VDSO_BYTES: u64 = 1 << 16;
const VDSO: &str = "[vdso]";
/// Label of code that is in no file.
const OWN_CODE: &str = "[jit]";

/// One area of memory that holds code.
pub(super) struct Area {
    pub(super) range: Range<u64>,
    /// Offset in the file at which the area begins.
    pub(super) offset: u64,
    /// What a function without a name is called in this area, in brackets.
    pub(super) label: String,
    /// `None` where the code is in no file.
    pub(super) file: Option<Rc<MappedFile>>,
}

/// A file that processes have mapped. It is opened while they exist, and read when a stack leads
/// into it.
pub(super) struct MappedFile {
    content: MappedBytes,
    binary: OnceCell<Option<Binary>>,
}

enum MappedBytes {
    File(File),
    Memory(Vec<u8>),
}

/// Files by device and inode number, so that each is read once.
pub(super) type Files = HashMap<(String, u64), Rc<MappedFile>>;

impl MappedFile {
    fn of(content: MappedBytes) -> Rc<Self> {
        let binary = OnceCell::new();
        Rc::new(Self { content, binary })
    }

    pub(super) fn binary(&self) -> Option<&Binary> {
        let read = || match &self.content {
            MappedBytes::File(file) => Binary::read(file),
            MappedBytes::Memory(bytes) => Binary::read(bytes.as_slice()),
        };
        self.binary.get_or_init(read).as_ref()
    }
}

impl Area {
    /// The address within the file that belongs to an address in memory.
    pub(super) fn within_file(&self, address: u64) -> Option<u64> {
        let offset = (address - self.range.start).checked_add(self.offset)?;
        self.file.as_ref()?.binary()?.address_of(offset)
    }
}

/// The areas of a process that hold code, in ascending order.
pub(super) fn of_process(pid: u32, files: &mut Files) -> Vec<Area> {
    let maps = kernel_file::text(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.lines()
        .filter_map(|line| area(pid, &MapsLine::of(line)?, files))
        .collect()
}

fn area(pid: u32, line: &MapsLine<'_>, files: &mut Files) -> Option<Area> {
    let name = Path::new(line.name).file_name();
    let name = name.map(|name| format!("[{}]", name.display()));
    let (label, file) = match (line.name, name) {
        _ if !line.is_code => return None,
        (VDSO, _) => (VDSO.to_owned(), vdso(pid, &line.range)),
        (path, Some(label)) if path.starts_with('/') => (label, mapped(pid, line, files)),
        _ => (OWN_CODE.to_owned(), None),
    };
    Some(Area {
        range: line.range.clone(),
        offset: line.offset,
        label,
        file,
    })
}

/// Opens the mapped file, even if another file has its name by now, and in whatever root the
/// process lives.
fn mapped(pid: u32, line: &MapsLine<'_>, files: &mut Files) -> Option<Rc<MappedFile>> {
    let key = (line.device.to_owned(), line.inode);
    if let Some(known) = files.get(&key) {
        return Some(Rc::clone(known));
    }
    let Range { start, end } = line.range;
    let held = format!("/proc/{pid}/map_files/{start:x}-{end:x}");
    let by_name = || foreign::file::open(Path::new(&format!("/proc/{pid}/root{}", line.name)));
    let file = foreign::file::open(Path::new(&held))
        .or_else(|_| by_name())
        .ok()?;
    let file = MappedFile::of(MappedBytes::File(file));
    files.insert(key, Rc::clone(&file));
    Some(file)
}

fn vdso(pid: u32, range: &Range<u64>) -> Option<Rc<MappedFile>> {
    let bytes = (range.end - range.start).min(MOST_VDSO_BYTES);
    let mut memory = vec![0; usize::try_from(bytes).ok()?];
    let file = File::open(format!("/proc/{pid}/mem")).ok()?;
    file.read_exact_at(&mut memory, range.start).ok()?;
    Some(MappedFile::of(MappedBytes::Memory(memory)))
}

/// A line such as `55d0-55e0 r-xp 00001000 fe:00 325835   /usr/sbin/nginx`; see proc_pid_maps(5).
struct MapsLine<'a> {
    range: Range<u64>,
    is_code: bool,
    offset: u64,
    device: &'a str,
    inode: u64,
    name: &'a str,
}

impl<'a> MapsLine<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(6, ' ');
        let (start, end) = parts.next()?.split_once('-')?;
        let hexadecimal = |digits: &str| u64::from_str_radix(digits, 16).ok();
        Some(Self {
            range: hexadecimal(start)?..hexadecimal(end)?,
            is_code: parts.next()?.contains('x'),
            offset: hexadecimal(parts.next()?)?,
            device: parts.next()?,
            inode: parts.next()?.parse().ok()?,
            name: parts.next().unwrap_or_default().trim_start(),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::stacks::MOST_FRAMES;
    use sys::perf::Registers;

    use super::*;
    use crate::instruments::stacks::unwind::Unwinding;

    #[test]
    fn a_line_is_read_with_a_name_of_any_letters_or_without_one() {
        let line = MapsLine::of(
            "7f00-7fff r-xp 00001000 fe:00 42                         /srv/a b (deleted)",
        )
        .unwrap();
        assert_eq!(
            (line.range, line.offset, line.is_code),
            (0x7f00..0x7fff, 0x1000, true)
        );
        assert_eq!(
            (line.device, line.inode, line.name),
            ("fe:00", 42, "/srv/a b (deleted)")
        );
        let line = MapsLine::of("7f00-7fff rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((line.is_code, line.name), (false, ""));
        assert!(MapsLine::of("7f00 r-xp").is_none());
    }

    #[test]
    fn a_function_of_ours_is_in_the_file_that_we_are_run_from() {
        let mut files = Files::new();
        let areas = of_process(std::process::id(), &mut files);
        let address = of_process as *const () as u64;
        let area = areas
            .iter()
            .find(|area| area.range.contains(&address))
            .unwrap();
        let within = area.within_file(address).unwrap();
        let name = area
            .file
            .as_ref()
            .unwrap()
            .binary()
            .unwrap()
            .function_at(within);
        assert!(name.unwrap().contains("of_process"), "{name:?}");
    }

    #[test]
    fn a_file_that_is_spoilt_in_any_place_is_read_and_unwound_without_harm() {
        let maps = kernel_file::text("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with(VDSO)).unwrap();
        let range = MapsLine::of(line).unwrap().range;
        let file = vdso(std::process::id(), &range).unwrap();
        let MappedBytes::Memory(bytes) = &file.content else {
            panic!("it is of no file")
        };
        let whole = Binary::read(bytes.as_slice()).unwrap();
        assert!(whole.unwinding.is_some());
        for place in 0..bytes.len() {
            let mut spoilt = bytes.clone();
            spoilt[place] = 0xff;
            let Some(binary) = Binary::read(spoilt.as_slice()) else {
                continue;
            };
            let mut unwinding = Unwinding::new();
            if let Some(tables) = &binary.unwinding {
                unwinding.add(range.clone(), range.start, tables);
            }
            for instruction in range.clone().step_by(331) {
                let _ = binary.function_at(instruction - range.start);
                let registers = Registers {
                    instruction,
                    ..Registers::default()
                };
                let walk = unwinding.walk(registers, &[0x11; 512], |_| true);
                assert!(walk.addresses.len() <= MOST_FRAMES);
            }
        }
    }
}
