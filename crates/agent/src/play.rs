//! A process of ours plays its role.

use std::io::{self, BufRead, Write};

use crate::role::Role;
use crate::{link, page};

/// Plays it on this end of the line.
///
/// # Errors
/// When the line breaks. What cannot be done is told, not returned.
pub fn play(role: Role, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    match role {
        Role::Link => link::carry(&mut input, &mut output),
        Role::TunLink => link::carry_by_tun(&mut input, &mut output),
        Role::KernelLink => link::have_carried(&mut input, &mut output),
        Role::PageServer => page::serve(&mut input, &mut output),
        Role::PageClient => page::fetch_all(&mut input, &mut output),
    }
}
