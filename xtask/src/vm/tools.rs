//! Programs of this machine that a guest gets too, with the libraries that they are linked to: what
//! Debian has of them is not static.

use std::collections::BTreeSet;
use std::path::Path;

use super::cpio::Archive;
use super::initramfs::copy;
use super::programs;
use crate::release::output;

const TOOLS: [&str; 7] = [SHELL, "ethtool", "ip", "nft", "openssl", "tc", "tcpdump"];
/// The shell of busybox would take its own `ip` and `tc` for these, whatever the path says.
const SHELL: &str = "dash";

/// Puts them into a guest's file system, in `/usr/sbin`.
pub(super) fn add(archive: &mut Archive) -> anyhow::Result<()> {
    let mut libraries = BTreeSet::new();
    for tool in TOOLS {
        let path = programs::path_of(tool)?;
        copy(archive, &path, &format!("usr/sbin/{tool}"))?;
        libraries.extend(libraries_of(&path)?);
    }
    archive.link("bin/sh", &format!("/usr/sbin/{SHELL}"))?;
    for library in libraries {
        copy(archive, Path::new(&library), &library)?;
    }
    Ok(())
}

fn libraries_of(program: &Path) -> anyhow::Result<Vec<String>> {
    let mut list = programs::command("ldd")?;
    let listed = String::from_utf8(output(list.arg(program))?)?;
    Ok(paths(&listed))
}

/// Lines of ldd(1) are `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)` for the loader; what the kernel
/// itself provides has no path.
fn paths(listed: &str) -> Vec<String> {
    let words = listed.lines().flat_map(str::split_whitespace);
    let paths = words.filter(|word| word.starts_with('/'));
    paths.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_a_program_are_the_paths_that_ldd_names() {
        let listed =
            "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld.so (0x3)\n";
        assert_eq!(paths(listed), ["/lib/libc.so.6", "/lib64/ld.so"]);
    }
}
