//! Names of functions: those of the kernel, those that a program publishes for code that it has
//! generated itself, and linker names turned into readable ones.

use std::fmt::{self, Write};
use std::path::Path;

use cpp_demangle::{DemangleOptions, Symbol};
use sys::kernel_file;

use crate::tree::behind;

/// A program's map of its own code is read up to this size.
const MOST_MAP_BYTES: u64 = 64 << 20;
/// Position of the effective user ID in a `Uid:` line.
const EFFECTIVE: usize = 1;
/// A C++ name may unfold to megabytes; a longer one stays as the linker has it.
const LONGEST_NAME: usize = 4096;

/// Names by the addresses at which their functions begin.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Named>);

#[derive(Debug)]
struct Named {
    start: u64,
    /// Size; `u64::MAX` where the function reaches to the next name.
    bytes: u64,
    name: String,
}

impl Names {
    /// Names of the kernel and of its modules; none where the kernel hides its addresses from us.
    pub(super) fn of_kernel() -> Self {
        let text = kernel_file::text("/proc/kallsyms").unwrap_or_default();
        Self::sorted(text.lines().filter_map(kernel_line).collect())
    }

    /// Names that a process has written down for perf (tools/perf/Documentation/jit-interface.txt),
    /// as `node --perf-basic-prof` and `python -X perf` do. Anybody can write to the folder, so the
    /// file counts only if it belongs to the user of the process.
    pub(super) fn of_own_code(pid: u32) -> Self {
        Self::sorted(own_code(pid).unwrap_or_default())
    }

    fn sorted(mut all: Vec<Named>) -> Self {
        // Of two names of one address, the later one replaces the earlier.
        all.reverse();
        all.sort_by_key(|named| named.start);
        all.dedup_by_key(|named| named.start);
        Self(all)
    }

    pub(super) fn at(&self, address: u64) -> Option<&str> {
        let behind = self.0.partition_point(|named| named.start <= address);
        let named = self.0.get(behind.checked_sub(1)?)?;
        (address - named.start < named.bytes).then_some(&named.name)
    }
}

/// Parses `ffffffff81000000 T name`, which the module's name in brackets may follow.
fn kernel_line(line: &str) -> Option<Named> {
    let mut words = line.split_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    (is_code && start > 0).then_some(())?;
    let name = words.next()?.to_owned();
    Some(Named {
        start,
        bytes: u64::MAX,
        name,
    })
}

fn own_code(pid: u32) -> Option<Vec<Named>> {
    let status = kernel_file::text(format!("/proc/{pid}/status"))?;
    let words = |name| Some(behind(&status, name)?.split_whitespace());
    let owner = words("Uid:")?.nth(EFFECTIVE)?.parse().ok()?;
    // The last number is that of the innermost namespace: the process's own number as it sees it.
    let own_pid: u32 = words("NSpid:")?.last()?.parse().ok()?;
    let path = format!("/proc/{pid}/root/tmp/perf-{own_pid}.map");
    let bytes = foreign::file::read_of(owner, Path::new(&path), MOST_MAP_BYTES).ok()?;
    Some(
        String::from_utf8_lossy(&bytes)
            .lines()
            .filter_map(own_line)
            .collect(),
    )
}

/// Parses `START SIZE name`: the numbers are hexadecimal, and the name may contain spaces.
fn own_line(line: &str) -> Option<Named> {
    let (start, rest) = line.split_once(' ')?;
    let (bytes, name) = rest.split_once(' ')?;
    let number = |digits: &str| u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok();
    Some(Named {
        start: number(start)?,
        bytes: number(bytes)?,
        name: name.to_owned(),
    })
}

/// A linker's name as the source text has it, without arguments and hashes.
pub(super) fn demangled(name: &str) -> String {
    of_rust(name)
        .or_else(|| of_cpp(name))
        .unwrap_or_else(|| name.to_owned())
}

fn of_rust(name: &str) -> Option<String> {
    let symbol = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Bounded::default();
    write!(text, "{symbol:#}").ok()?;
    Some(text.0)
}

fn of_cpp(name: &str) -> Option<String> {
    name.starts_with("_Z").then_some(())?;
    let symbol = Symbol::new(name).ok()?;
    let mut text = Bounded::default();
    let options = DemangleOptions::new().no_params().no_return_type();
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// A text that grows up to [`LONGEST_NAME`] bytes.
#[derive(Default)]
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.0.len() + more.len() > LONGEST_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_linkers_are_shown_as_people_write_them() {
        let cases = [
            ("main", "main"),
            (
                "_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
                "core::ptr::drop_in_place",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN4node6Buffer3NewEPN2v87IsolateEm", "node::Buffer::New"),
            ("_Zbroken", "_Zbroken"),
        ];
        for (linker, person) in cases {
            assert_eq!(demangled(linker), person, "{linker}");
        }
    }

    #[test]
    fn a_name_reaches_to_its_end_or_to_the_next() {
        let lines = ["1000 10 f one", "1020 10 g", "nonsense", "1000 8 f two"];
        let names = Names::sorted(lines.into_iter().filter_map(own_line).collect());
        let cases = [
            (0xfff, None),
            (0x1007, Some("f two")),
            (0x1008, None),
            (0x102f, Some("g")),
            (0x1030, None),
        ];
        for (address, name) in cases {
            assert_eq!(names.at(address), name, "{address:x}");
        }
        let kernel = [
            "ffffffff81000000 T read",
            "ffffffff81000010 D data",
            "0 T hidden",
        ];
        let names = Names::sorted(kernel.into_iter().filter_map(kernel_line).collect());
        assert_eq!(names.at(u64::MAX), Some("read"));
        assert_eq!(names.at(5), None);
    }
}
