//! The BPF programs that the kernel holds: what bpf(2) reports of them, and those that we load.

mod delay;
mod pass;

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::check_size;
pub use delay::CallDelay;
pub use pass::{Mode, PassProgram};

// enum bpf_cmd of linux/bpf.h.
const LOAD: libc::c_int = 5;
const NEXT_PROGRAM: libc::c_int = 11;
const PROGRAM_FD: libc::c_int = 13;
const INFO: libc::c_int = 15;
/// `BPF_PROG_TYPE_XDP` of linux/bpf.h.
const PROGRAM_XDP: u32 = 6;
/// Licence of our programs: either of the two. The kernel lets programs that are also under the GPL
/// call more of its functions.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";
/// More programs than any machine has loaded, so that a list that grows while we read it has an
/// end.
const MOST_PROGRAMS: usize = 10_000;

/// A loaded program. It does not say whether the program is attached anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub id: u32,
    /// `BPF_PROG_TYPE_…` of linux/bpf.h.
    pub kind: u32,
    /// At most 15 letters, as its loader named it.
    pub name: String,
}

/// The start of `union bpf_attr` for [`NEXT_PROGRAM`], [`PROGRAM_FD`] and [`INFO`].
#[repr(C, align(8))]
#[derive(Default)]
struct BpfAttributes {
    /// The program's number or descriptor, or the number after which to continue.
    subject: u32,
    /// The next number, from the kernel; or the length of what `info` points at.
    next_or_length: u32,
    info: u64,
}

/// The start of `union bpf_attr` for [`LOAD`].
#[repr(C, align(8))]
#[derive(Default)]
struct Load {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    licence: u64,
}

/// The start of `struct bpf_prog_info`, up to the name.
#[repr(C)]
#[derive(Default)]
struct Info {
    kind: u32,
    id: u32,
    tag: [u8; 8],
    lengths: [u32; 2],
    instructions: [u64; 2],
    load_time: u64,
    created_by: u32,
    map_count: u32,
    maps: u64,
    name: [u8; 16],
}

/// Lists all programs, by number.
///
/// # Errors
/// `EPERM` without `CAP_BPF` or `CAP_SYS_ADMIN` in the first user namespace, `ENOSYS` on a kernel
/// without BPF.
pub fn programs() -> io::Result<Vec<Program>> {
    let mut programs = Vec::new();
    let mut last = 0;
    while programs.len() < MOST_PROGRAMS {
        let Some(id) = next_after(last)? else { break };
        // It may have been unloaded in the meantime.
        programs.extend(program(id).ok());
        last = id;
    }
    Ok(programs)
}

fn next_after(id: u32) -> io::Result<Option<u32>> {
    let mut request = BpfAttributes {
        subject: id,
        ..BpfAttributes::default()
    };
    // SAFETY: NEXT_PROGRAM follows no pointer.
    match unsafe { call(NEXT_PROGRAM, &mut request) } {
        Ok(_) => Ok(Some(request.next_or_length)),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn program(id: u32) -> io::Result<Program> {
    let mut request = BpfAttributes {
        subject: id,
        ..BpfAttributes::default()
    };
    // SAFETY: PROGRAM_FD follows no pointer.
    let fd = unsafe { call(PROGRAM_FD, &mut request) }?;
    // SAFETY: the descriptor was just opened and nobody else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let info = info(&fd)?;
    let name = info.name.split(|byte| *byte == 0).next();
    Ok(Program {
        id,
        kind: info.kind,
        name: String::from_utf8_lossy(name.unwrap_or_default()).into_owned(),
    })
}

/// Returns the number of an open program.
fn id_of(program: &OwnedFd) -> io::Result<u32> {
    Ok(info(program)?.id)
}

fn info(program: &OwnedFd) -> io::Result<Info> {
    let mut info = Info::default();
    let length = u32::try_from(size_of::<Info>()).map_err(io::Error::other)?;
    let mut request = BpfAttributes {
        subject: descriptor_number(program)?,
        next_or_length: length,
        info: (&raw mut info).expose_provenance() as u64,
    };
    // SAFETY: INFO writes to an `Info` of the length beside it. The lengths of its further lists
    // are 0, so nothing else is written to.
    unsafe { call(INFO, &mut request) }?;
    Ok(info)
}

/// Loads a program that consists of these `struct bpf_insn`.
fn load(kind: u32, instructions: &[[u8; 8]]) -> io::Result<OwnedFd> {
    let mut load = Load {
        kind,
        instruction_count: u32::try_from(instructions.len()).map_err(io::Error::other)?,
        instructions: instructions.as_ptr().expose_provenance() as u64,
        licence: LICENCE.as_ptr().expose_provenance() as u64,
    };
    // SAFETY: LOAD reads as many instructions as the request says, which is how many there are, and
    // the licence up to its zero. It writes nothing, since the request gives it no room for a log.
    let program = unsafe { call(LOAD, &mut load) }?;
    // SAFETY: the descriptor was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(program) })
}

fn descriptor_number(file: &OwnedFd) -> io::Result<u32> {
    u32::try_from(file.as_raw_fd()).map_err(io::Error::other)
}

/// # Safety
/// Each pointer of the request that the command follows must be valid for what the command does
/// with it.
unsafe fn call<R>(command: libc::c_int, request: &mut R) -> io::Result<libc::c_int> {
    let request = std::ptr::from_mut(request);
    // SAFETY: the request is writable for its size, which is passed along, and lives through the
    // call; the caller vouches for what it points at.
    let returned = unsafe { libc::syscall(libc::SYS_bpf, command, request, size_of::<R>()) };
    let returned = check_size(isize::try_from(returned).map_err(io::Error::other)?)?;
    libc::c_int::try_from(returned).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_listed_or_refused_by_name() {
        match programs() {
            Ok(programs) => assert!(programs.iter().all(|program| program.id > 0)),
            Err(error) => assert!(
                [libc::EPERM, libc::ENOSYS].contains(&error.raw_os_error().unwrap()),
                "{error}"
            ),
        }
    }
}
