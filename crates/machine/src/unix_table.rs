//! Reads `/proc/net/unix`, the kernel's list of sockets that have a path instead of an address.

use std::path::{Path, PathBuf};

/// `__SO_ACCEPTCON` of the kernel: the socket listens.
const LISTENS: u32 = 0x1_0000;
/// Columns before the path: number, references, protocol, flags, type, state, inode.
const COLUMNS: usize = 7;

/// The inodes of the sockets that listen on a path; paths are compared after links are resolved.
pub(crate) fn listeners(text: &str, path: &Path) -> Vec<u64> {
    let asked = plain(path);
    let listening = text.lines().filter_map(listener);
    listening
        .filter(|(_, bound)| plain(bound) == asked)
        .map(|(inode, _)| inode)
        .collect()
}

/// The inode and the path of a socket that listens; `None` for all other lines.
fn listener(line: &str) -> Option<(u64, PathBuf)> {
    let mut columns = line.split_ascii_whitespace();
    let flags = u32::from_str_radix(columns.nth(3)?, 16).ok()?;
    let inode = columns.nth(2)?.parse().ok()?;
    (flags & LISTENS != 0).then_some((inode, PathBuf::from(path(line)?)))
}

/// The path that follows the columns, with any spaces in it.
fn path(line: &str) -> Option<&str> {
    let mut rest = line;
    for _ in 0..COLUMNS {
        rest = rest.trim_start().split_once(' ')?.1;
    }
    Some(rest.trim_start())
}

fn plain(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 16203 /nowhere/a b.sock
0000000000000000: 00000003 00000000 00000000 0001 03 16204 /nowhere/a b.sock
0000000000000000: 00000002 00000000 00010000 0001 01 16205 /nowhere/c.sock
0000000000000000: 00000003 00000000 00000000 0001 03    17
";

    #[test]
    fn a_socket_that_listens_is_found_by_its_path_and_one_that_is_connected_is_not() {
        assert_eq!(listeners(TABLE, Path::new("/nowhere/a b.sock")), [16203]);
        assert_eq!(listeners(TABLE, Path::new("/nowhere/c.sock")), [16205]);
        assert!(listeners(TABLE, Path::new("/nowhere")).is_empty());
    }
}
