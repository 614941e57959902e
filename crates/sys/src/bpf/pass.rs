//! A program of two instructions that a network device runs on each packet (XDP). It lets every
//! packet pass, and so costs no more than what a hook costs.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use super::{PROGRAM_XDP, call, descriptor_number, id_of, load};
use crate::descriptor;

// enum bpf_cmd, enum bpf_attach_type of linux/bpf.h.
const LINK: libc::c_int = 28;
const AT_XDP: u32 = 37;
/// `r0 = XDP_PASS` and `exit`, as `struct bpf_insn` of linux/bpf.h has them.
const INSTRUCTIONS: [[u8; 8]; 2] = [[0xb7, 0, 0, 0, 2, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];

/// Where a device runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel builds a structure of its own for the packet.
    Native,
    /// In the kernel, after it has built that structure.
    Generic,
}

impl Mode {
    /// `XDP_FLAGS_…` of linux/if_link.h.
    fn flag(self) -> u32 {
        match self {
            Self::Native => 1 << 2,
            Self::Generic => 1 << 1,
        }
    }
}

/// The program on a device, for as long as this, or a program it is handed on to, has it open.
#[derive(Debug)]
pub struct PassProgram {
    link: OwnedFd,
    id: u32,
}

/// The start of `union bpf_attr` for [`LINK`].
#[repr(C, align(8))]
struct LinkAttributes {
    program: u32,
    device_index: u32,
    place: u32,
    flags: u32,
}

impl PassProgram {
    /// Attaches the program to the device of that number in the caller's network namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN` in the first user namespace; `EBUSY` or
    /// `EEXIST` where the device runs another program, which stays; `EOPNOTSUPP` where its driver
    /// supports none.
    pub fn attach(device_index: u32, mode: Mode) -> io::Result<Self> {
        let program = load(PROGRAM_XDP, &INSTRUCTIONS)?;
        let mut link = LinkAttributes {
            program: descriptor_number(&program)?,
            device_index,
            place: AT_XDP,
            flags: mode.flag(),
        };
        // SAFETY: LINK follows no pointer for a program of this kind.
        let link = unsafe { call(LINK, &mut link) }?;
        // SAFETY: the descriptor was just opened and nobody else owns it.
        let link = unsafe { OwnedFd::from_raw_fd(link) };
        let id = id_of(&program)?;
        Ok(Self { link, id })
    }

    /// The kernel's number of the program.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Leaves it open for the program that is executed in place of this process.
    ///
    /// # Errors
    /// None are known for a descriptor that is open.
    pub fn hand_on(&self) -> io::Result<()> {
        descriptor::hand_on(&self.link)
    }
}
