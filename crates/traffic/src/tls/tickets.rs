//! Tickets for clients to resume their sessions with, valid at every worker of one server.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use rustls::server::ProducesTickets;

/// Bytes of the key.
pub(super) const KEY_BYTES: usize = 32;
/// How long a client may keep a ticket, s. The key lives as long as the server, which is started
/// for a measurement.
const LIFETIME_S: u32 = 6 * 60 * 60;

/// Seals what a session needs to be resumed, and stores nothing.
#[derive(Debug)]
pub(super) struct Tickets(RandomizedNonceKey);

impl Tickets {
    pub(super) fn new(key: &[u8; KEY_BYTES]) -> Self {
        let key = RandomizedNonceKey::new(&AES_256_GCM, key);
        Self(key.expect("the key has the length that the algorithm wants"))
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME_S
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut sealed = plain.to_vec();
        let nonce = self.0.seal_in_place_append_tag(Aad::empty(), &mut sealed);
        let nonce = nonce.ok()?;
        let nonce: &[u8] = nonce.as_ref();
        Some([nonce, &sealed].concat())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = ticket.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut plain = sealed.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::empty(), &mut plain);
        opened.ok().map(|opened| opened.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_opens_with_its_key_alone_and_unchanged_alone() {
        let [one, same, other] =
            [[1; KEY_BYTES], [1; KEY_BYTES], [2; KEY_BYTES]].map(|key| Tickets::new(&key));
        let ticket = one.encrypt(b"session").unwrap();
        assert_eq!(same.decrypt(&ticket).as_deref(), Some(&b"session"[..]));
        assert_ne!(one.encrypt(b"session").unwrap(), ticket);
        assert_eq!(other.decrypt(&ticket), None);
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(one.decrypt(&changed), None);
            assert_eq!(one.decrypt(&ticket[..at]), None);
        }
    }
}
