//! A body's length and hash, which tell one body from another without storing either.

/// The length and the hash by which two bodies are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyMark {
    pub bytes: u64,
    /// FNV-1a over the bytes of the body, without chunk framing.
    pub hash: u64,
}

impl BodyMark {
    /// The mark of a whole body.
    pub fn of(body: &[u8]) -> Self {
        let mut marker = Marker::default();
        marker.add(body);
        marker.mark(body.len() as u64)
    }
}

/// Hashes a body that comes in pieces. It is FNV-1a (Fowler, Noll, Vo): the same bytes give the
/// same hash however they are cut, and it takes no cryptography to notice a page that answers in
/// place of the right one.
#[derive(Clone, Debug)]
pub struct Marker {
    hash: u64,
}

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Default for Marker {
    fn default() -> Self {
        Self { hash: OFFSET_BASIS }
    }
}

impl Marker {
    /// Adds the next bytes of the body.
    pub fn add(&mut self, data: &[u8]) {
        self.hash = data.iter().fold(self.hash, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
        });
    }

    /// The mark of all added bytes, which are `bytes` long.
    pub fn mark(&self, bytes: u64) -> BodyMark {
        BodyMark {
            bytes,
            hash: self.hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_fnv_1a() {
        let mut marker = Marker::default();
        marker.add(b"foo");
        marker.add(b"bar");
        assert_eq!(marker.mark(6).hash, 0x8594_4171_f739_67e8);
        assert_eq!(BodyMark::of(b"foobar"), marker.mark(6));
    }
}
