//! SHA-256 in hexadecimal, as `sha256sum` prints it.

use std::io::{self, Read};

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};

/// The hash of a text.
pub fn of(text: &str) -> String {
    hexadecimal(&digest(&SHA256, text.as_bytes()))
}

/// The hash of everything that can be read from `from`.
///
/// # Errors
/// When reading fails.
pub fn of_all(mut from: impl Read) -> io::Result<String> {
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&context.finish())),
            read => context.update(&buffer[..read]),
        }
    }
}

fn hexadecimal(digest: &Digest) -> String {
    let bytes = digest.as_ref().iter();
    bytes
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_hash_that_the_standard_gives_it_however_it_is_read() {
        // FIPS 180-2, appendix B.1.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of("abc"), known);
        assert_eq!(of_all(&b"abc"[..]).unwrap(), known);
    }
}
