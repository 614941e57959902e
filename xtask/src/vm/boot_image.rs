//! The kernel within a boot image. Unpacking itself is most of what a kernel does before its first
//! line, and an emulated processor takes seconds for it; this machine takes none.
//!
//! The layout is that of Documentation/arch/x86/boot.rst of the kernel.

use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, ensure};

use super::programs;

/// Where the header says "HdrS".
const MAGIC_AT: usize = 0x202;
/// Length of the part for real mode, in sectors; it comes after a boot sector.
const SETUP_SECTORS_AT: usize = 0x1f1;
/// Where the packed kernel begins within the part for protected mode, and how long it is.
const PAYLOAD_AT: usize = 0x248;
const PAYLOAD_BYTES_AT: usize = 0x24c;
const SECTOR_BYTES: usize = 512;

/// How kernels are packed: the first bytes of each form, and what unpacks it.
const PACKERS: [(&[u8], &[&str]); 2] = [
    (
        b"\xfd7zXZ\0",
        &["xz", "--decompress", "--stdout", "--single-stream"],
    ),
    (b"\x28\xb5\x2f\xfd", &["zstd", "--decompress", "--stdout"]),
];

/// The kernel as an ELF program, which qemu starts by the note that it has for Xen's PVH.
pub(super) fn unpack(image: &[u8]) -> anyhow::Result<Vec<u8>> {
    let kernel = unpack_by_magic(payload(image)?)?;
    ensure!(
        kernel.starts_with(b"\x7fELF"),
        "what was packed in it is no ELF program"
    );
    Ok(kernel)
}

/// What is packed in one of the known forms.
pub(super) fn unpack_by_magic(file: &[u8]) -> anyhow::Result<Vec<u8>> {
    let packer = PACKERS.iter().find(|(magic, _)| file.starts_with(magic));
    let (_, command) = packer.context("it is packed in no form that is known here")?;
    filter(command, file)
}

fn payload(image: &[u8]) -> anyhow::Result<&[u8]> {
    let magic = image.get(MAGIC_AT..MAGIC_AT + 4);
    ensure!(magic == Some(b"HdrS".as_slice()), "it is no boot image");
    let setup_sectors = usize::from(image[SETUP_SECTORS_AT]) + 1;
    let begin = setup_sectors * SECTOR_BYTES + number(image, PAYLOAD_AT)?;
    let length = number(image, PAYLOAD_BYTES_AT)?;
    // The last four bytes tell the size of what was packed, and are no part of it.
    let end = (begin + length).saturating_sub(4);
    image.get(begin..end).context("it is cut short")
}

fn number(image: &[u8], at: usize) -> anyhow::Result<usize> {
    let bytes = image.get(at..at + 4).context("its header is cut short")?;
    Ok(usize::try_from(u32::from_le_bytes(bytes.try_into()?))?)
}

/// What a program makes of its input.
fn filter(command: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let program = command[0];
    let mut child = programs::command(program)?
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{program} could not be started"))?;
    let mut to = child.stdin.take().context("standard input")?;
    let output = std::thread::scope(|scope| {
        // Both ends must move. A program that ends early says more than the pipe that it broke.
        scope.spawn(move || to.write_all(input));
        child.wait_with_output()
    })?;
    ensure!(
        output.status.success(),
        "{program} ended with {}",
        output.status
    );
    Ok(output.stdout)
}
