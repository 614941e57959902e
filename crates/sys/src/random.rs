//! Numbers that nobody can foretell.

use std::io;

/// Bytes of the kernel's generator, waited for where a machine has just booted (getrandom(2)).
///
/// # Errors
/// `EINTR` when a signal came while the generator was waited for.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "of more the call could fill a part") };
    let mut bytes = [0; N];
    // SAFETY: `bytes` is writable for its length during the call.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), N, 0) };
    match usize::try_from(filled) {
        Ok(filled) if filled == N => Ok(bytes),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_drawn_again_is_something_else() {
        assert_ne!(super::bytes::<16>().unwrap(), super::bytes().unwrap());
    }
}
