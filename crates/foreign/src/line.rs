//! Lines that another process or host sends, limited in length so that none fills the memory.

use std::io::{self, BufRead, ErrorKind, Read};

/// The most bytes that a line may have. The longest line that our own processes send holds the
/// output of a command, of which 1 MiB is stored: 6 MiB where each byte takes six in JSON.
pub const MOST_BYTES: usize = 8 << 20;

/// Reads the next line, without its line break. `None` where the input ends first, or where
/// `is_over` holds when a signal interrupts the wait for more.
///
/// # Errors
/// The input's own, and a line of more than [`MOST_BYTES`], of which nothing is returned.
pub fn next(input: &mut impl BufRead, is_over: impl Fn() -> bool) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    while !is_over() {
        let piece = match input.fill_buf() {
            // A signal interrupted the read, which `read_until` would hide.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            break;
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let (more, taken) = (
            end.unwrap_or(piece.len()),
            end.map_or(piece.len(), |end| end + 1),
        );
        if line.len() + more > MOST_BYTES {
            return Err(too_long());
        }
        line.extend_from_slice(&piece[..more]);
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Reads everything up to the input's end as text; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// The input's own, and more than `most_bytes`.
pub fn all(input: impl Read, most_bytes: usize) -> io::Result<String> {
    let mut said = Vec::new();
    input.take(most_bytes as u64 + 1).read_to_end(&mut said)?;
    if said.len() > most_bytes {
        return Err(io::Error::other(format!(
            "it said more than {most_bytes} bytes"
        )));
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn too_long() -> io::Error {
    io::Error::other(format!(
        "it said more than {} MiB without the end of a line",
        MOST_BYTES >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
        next(input, || false)
    }

    #[test]
    fn lines_come_one_by_one_and_one_without_its_end_is_none() {
        let mut input = &b"one\n\ntwo\nthr"[..];
        for line in ["one", "", "two"] {
            assert_eq!(next_of(&mut input).unwrap().unwrap(), line.as_bytes());
        }
        assert_eq!(next_of(&mut input).unwrap(), None);
    }

    #[test]
    fn a_line_that_does_not_end_is_given_up_at_the_limit() {
        let mut longest = vec![b'x'; MOST_BYTES];
        longest.push(b'\n');
        assert_eq!(
            next_of(&mut &longest[..]).unwrap().unwrap().len(),
            MOST_BYTES
        );
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        let why = next_of(&mut endless).unwrap_err().to_string();
        assert_eq!(why, "it said more than 8 MiB without the end of a line");
        assert!(all(io::repeat(b'x'), 1000).is_err());
        assert_eq!(all(&b"ab\xff"[..], 3).unwrap(), "ab\u{fffd}");
    }
}
