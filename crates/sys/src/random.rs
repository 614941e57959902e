//! Numbers that nobody can predict.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns bytes of the kernel's generator; waits for it where a machine has just booted
/// (getrandom(2)).
///
/// # Errors
/// `EINTR` when a signal came during that wait.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    const { assert!(N <= 256, "of more the call could fill a part") };
    let mut bytes = [0; N];
    match getrandom(&mut bytes[..], GetRandomFlags::empty())? {
        filled if filled == N => Ok(bytes),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_drawn_again_is_something_else() {
        assert_ne!(super::bytes::<16>().unwrap(), super::bytes().unwrap());
    }
}
