//! Whether a program needs a loader, from its program headers (elf(5)).

use anyhow::{Context as _, ensure};

/// The header that names the loader.
const PT_INTERP: u32 = 3;

/// Whether a program for 64-bit little-endian machines starts without a loader.
pub(super) fn is_static(file: &[u8]) -> anyhow::Result<bool> {
    ensure!(
        file.starts_with(b"\x7fELF\x02\x01"),
        "it is no program for a 64-bit little-endian machine"
    );
    let table = usize::try_from(number::<8>(file, 0x20)?)?;
    let entry_bytes = usize::try_from(number::<2>(file, 0x36)?)?;
    let entries = usize::try_from(number::<2>(file, 0x38)?)?;
    for entry in 0..entries {
        if number::<4>(file, table + entry * entry_bytes)? == u64::from(PT_INTERP) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn number<const BYTES: usize>(file: &[u8], at: usize) -> anyhow::Result<u64> {
    let bytes = file
        .get(at..at + BYTES)
        .context("its header is cut short")?;
    let mut wide = [0; 8];
    wide[..BYTES].copy_from_slice(bytes);
    Ok(u64::from_le_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_names_a_loader_is_not_static() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&own).unwrap(), "tests are linked dynamically");
        let table = usize::try_from(number::<8>(&own, 0x20).unwrap()).unwrap();
        let mut without = own.clone();
        for entry in 0..number::<2>(&own, 0x38).unwrap() {
            let at = table + 56 * usize::try_from(entry).unwrap();
            if without[at] == 3 {
                without[at] = 0;
            }
        }
        assert!(is_static(&without).unwrap());
        assert!(is_static(b"#!/bin/sh").is_err());
    }
}
