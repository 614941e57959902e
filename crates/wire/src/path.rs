//! Turns the target of a request into the path of a file.

/// A target that names no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPath;

/// Writes the path of a target into `path`, relative to the root: first percent-decoded, then freed
/// of `.`, `..` and empty segments (RFC 3986 §5.2.4), without the query. The path is empty for the
/// root, and ends with a slash if a folder was asked for. `path` is cleared first; nothing is
/// allocated if it has the room.
///
/// # Errors
/// A target that names no path; `path` then holds nothing of use.
pub fn resolve(target: &[u8], path: &mut Vec<u8>) -> Result<(), NoPath> {
    path.clear();
    decode(without_query(target), path)?;
    if path.first() != Some(&b'/') {
        return Err(NoPath);
    }
    // What is kept is never longer than what was read, so one buffer holds both.
    let (mut read, mut kept) = (0, 0);
    while read < path.len() {
        let end = memchr::memchr(b'/', &path[read..]).map_or(path.len(), |at| read + at);
        let is_last = end == path.len();
        match &path[read..end] {
            b"" | b"." => {}
            b".." => kept = parent(&path[..kept]).ok_or(NoPath)?,
            _ => {
                path.copy_within(read..end, kept);
                kept += end - read;
                if !is_last {
                    path[kept] = b'/';
                    kept += 1;
                }
            }
        }
        read = end + 1;
    }
    path.truncate(kept);
    Ok(())
}

/// The target up to its question mark.
pub fn without_query(target: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'?', target).unwrap_or(target.len());
    &target[..end]
}

/// Where the last segment begins, in a path that ends with a slash.
fn parent(kept: &[u8]) -> Option<usize> {
    let (_, segments) = kept.split_last()?;
    Some(memchr::memrchr(b'/', segments).map_or(0, |slash| slash + 1))
}

fn decode(escaped: &[u8], path: &mut Vec<u8>) -> Result<(), NoPath> {
    let mut rest = escaped;
    while let [byte, after @ ..] = rest {
        rest = after;
        let byte = match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                16 * hex(*high)? + hex(*low)?
            }
            (b'%', _) => return Err(NoPath),
            (byte, _) => *byte,
        };
        if byte == 0 {
            return Err(NoPath);
        }
        path.push(byte);
    }
    Ok(())
}

fn hex(digit: u8) -> Result<u8, NoPath> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(NoPath),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(target: &str) -> Result<String, NoPath> {
        let mut path = b"left from before".to_vec();
        resolve(target.as_bytes(), &mut path)?;
        Ok(String::from_utf8(path).unwrap())
    }

    #[test]
    fn a_target_becomes_the_path_below_the_root() {
        for (target, path) in [
            ("/", ""),
            ("/a", "a"),
            ("/a/b.txt?c=/../d", "a/b.txt"),
            ("/a/", "a/"),
            ("//a///b//", "a/b/"),
            ("/a%20b%2Fc", "a b/c"),
            ("/%61%2e%62", "a.b"),
            ("/./a/./b/.", "a/b/"),
            ("/a/../b", "b"),
            ("/a/b/..", "a/"),
            ("/a/..", ""),
            ("/a/b/../../c", "c"),
            ("/..a/b..", "..a/b.."),
            ("/%252e", "%2e"),
        ] {
            assert_eq!(resolved(target).as_deref(), Ok(path), "{target}");
        }
    }

    #[test]
    fn what_leads_above_the_root_or_is_no_path_is_refused() {
        for target in [
            "/..",
            "/../etc/passwd",
            "/%2e%2e/etc/passwd",
            "/%2e%2E%2fetc",
            "/a/../../b",
            "/a%00b",
            "/a%",
            "/a%4",
            "/a%zz",
            "*",
            "",
        ] {
            assert_eq!(resolved(target), Err(NoPath), "{target}");
        }
    }
}
