//! Which of a server's sessions the kernel can handle, and a session's records once it has them.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;

use rustls::server::UnbufferedServerConnection;
use rustls::{CipherSuite, CommonState, ConnectionTrafficSecrets as Secrets, SupportedCipherSuite};
use sys::ktls::{self, Cipher, Direction, Keys, Suite, Version};

use super::ciphers::name;
use crate::engine::channel::Received;

/// Descriptions of alerts (RFC 8446 §6).
const CLOSE_NOTIFY: u8 = 0;
const UNEXPECTED_MESSAGE: u8 = 10;
const INTERNAL_ERROR: u8 = 80;
/// The level of an alert that ends a connection in order, and of one that breaks it.
const WARNING: u8 = 1;
const FATAL: u8 = 2;
/// Where the part of a nonce begins that TLS 1.2 sends with each record (RFC 5288 §3).
const EXPLICIT: usize = 4;

/// From when on the kernel makes and reads a session's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handover {
    #[default]
    Never,
    /// When the first file is sent, which then needs no copy in this process. Answers before it are
    /// small, and are encrypted faster here.
    AtFile,
    /// When the handshake is done.
    AtOnce,
}

/// Which sessions this kernel can handle, out of those of some cipher suites.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    suites: Vec<Suite>,
    /// Names at IANA of the suites whose records the kernel makes and reads, as a probe has shown.
    pub names: Vec<String>,
    /// Why it does not handle the others; `None` if there are no others.
    pub refused: Option<String>,
    /// Whether it has no kTLS at all, rather than lack the cipher of some suite.
    pub is_without_ktls: bool,
}

/// Why the kernel does not make the records of a suite.
#[derive(Clone)]
struct Lack {
    words: String,
    is_of_ktls: bool,
}

impl Offer {
    pub(super) fn of(wanted: &[SupportedCipherSuite]) -> Self {
        let mut offer = Self::default();
        let mut probed = Vec::new();
        let mut refused = Vec::new();
        for wanted in wanted {
            let Some(suite) = suite_of(*wanted) else {
                continue;
            };
            match ask(suite, &mut probed) {
                None => {
                    offer.suites.push(suite);
                    offer.names.push(name(wanted));
                }
                Some(lack) => {
                    offer.is_without_ktls |= lack.is_of_ktls;
                    refused.push(lack.words);
                }
            }
        }
        refused.dedup();
        offer.refused = (!refused.is_empty()).then(|| refused.join("; "));
        offer
    }

    /// The suite of a session's records, if the kernel makes such records.
    pub(super) fn suite(&self, agreed: &CommonState) -> Option<Suite> {
        let suite = agreed.negotiated_cipher_suite().and_then(suite_of)?;
        self.suites.contains(&suite).then_some(suite)
    }
}

/// Probes why the kernel does not make the records of a suite; `None` if it does. Cipher suites
/// that are the same to the kernel are probed once.
fn ask(suite: Suite, probed: &mut Vec<(Suite, Option<Lack>)>) -> Option<Lack> {
    if let Some((_, outcome)) = probed.iter().find(|(known, _)| *known == suite) {
        return outcome.clone();
    }
    let outcome = ktls::probe(suite).err().map(|error| Lack {
        words: error.to_string(),
        is_of_ktls: error.option == ktls::ATTACHING,
    });
    probed.push((suite, outcome.clone()));
    outcome
}

fn suite_of(suite: SupportedCipherSuite) -> Option<Suite> {
    let cipher = match suite.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => Cipher::Aes128Gcm,
        CipherSuite::TLS13_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => Cipher::Aes256Gcm,
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256
        | CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => Cipher::ChaCha20Poly1305,
        _ => return None,
    };
    let version = match suite {
        SupportedCipherSuite::Tls12(_) => Version::Tls12,
        SupportedCipherSuite::Tls13(_) => Version::Tls13,
    };
    Some(Suite { version, cipher })
}

/// Gives the kernel both directions of a session, over a socket with kTLS attached. The handshake
/// must be done, and nothing may be under way.
///
/// # Errors
/// When the kernel refuses; the session is lost then.
pub(super) fn hand_over(
    socket: &TcpStream,
    session: UnbufferedServerConnection,
    suite: Suite,
) -> io::Result<()> {
    let secrets = session.dangerous_into_kernel_connection();
    let (secrets, _) = secrets.map_err(io::Error::other)?;
    for (direction, (sequence, secrets)) in [
        (Direction::Transmit, secrets.tx),
        (Direction::Receive, secrets.rx),
    ] {
        let (Secrets::Aes128Gcm { key, iv }
        | Secrets::Aes256Gcm { key, iv }
        | Secrets::Chacha20Poly1305 { key, iv }) = &secrets
        else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let keys = Keys {
            suite,
            key: key.as_ref(),
            nonce: &unused_nonce(suite, iv.as_ref())?,
            sequence,
        };
        ktls::set_keys(socket.as_fd(), direction, &keys).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The nonce that the kernel starts from. With AES-GCM in TLS 1.2 the kernel counts up from it,
/// whatever the number of the record, while rustls has used this nonce with the numbers of its
/// records in its last bits. If it started from the same nonce, the kernel would use some a second
/// time with the same key, which betrays the key. With the first bit flipped and zeros behind it,
/// the two never meet.
fn unused_nonce(suite: Suite, start: &[u8]) -> io::Result<[u8; 12]> {
    let mut nonce: [u8; 12] = start.try_into().map_err(io::Error::other)?;
    if suite.version == Version::Tls12 && suite.cipher != Cipher::ChaCha20Poly1305 {
        let first = !nonce[EXPLICIT] & 0x80;
        nonce[EXPLICIT..].fill(0);
        nonce[EXPLICIT] = first;
    }
    Ok(nonce)
}

/// A session whose records the kernel makes and reads.
#[derive(Debug, Default)]
pub(super) struct InKernel {
    /// How far the peer was told of the end.
    leave: Leave,
}

#[derive(Clone, Copy, Debug, Default)]
enum Leave {
    #[default]
    NotTaken,
    /// To be sent as this alert, once there is room.
    Due([u8; 2]),
    Taken,
}

impl InKernel {
    /// Receives content. The kernel cannot answer what else a client has to say after the
    /// handshake; above all, before Linux 6.14 it does not accept new keys. The client is told so
    /// by an alert.
    pub(super) fn receive(&mut self, socket: &TcpStream, room: &mut [u8]) -> io::Result<Received> {
        let Some(content) = ktls::receive(socket.as_fd(), room)? else {
            return Ok(Received::Nothing);
        };
        let alert = match content.kind {
            _ if content.bytes == 0 => return Ok(Received::End),
            // Records of another type may wait behind these, and are not reported again.
            ktls::APPLICATION_DATA => {
                return Ok(Received::Bytes {
                    count: content.bytes,
                    perhaps_more: true,
                });
            }
            ktls::ALERT if room[..content.bytes].get(1) == Some(&CLOSE_NOTIFY) => {
                return Ok(Received::End);
            }
            ktls::ALERT => return Err(io::ErrorKind::ConnectionAborted.into()),
            ktls::HANDSHAKE => INTERNAL_ERROR,
            _ => UNEXPECTED_MESSAGE,
        };
        self.leave = Leave::Due([FATAL, alert]);
        Ok(Received::Refused)
    }

    /// Receives and drops records of any type but alerts; returns whether more may follow.
    pub(super) fn discard(socket: &TcpStream, room: &mut [u8]) -> bool {
        match ktls::receive(socket.as_fd(), room) {
            Ok(Some(content)) => content.bytes > 0 && content.kind != ktls::ALERT,
            Ok(None) => true,
            Err(_) => false,
        }
    }

    pub(super) fn has_output(&self) -> bool {
        matches!(self.leave, Leave::Due(_))
    }

    /// Tells the peer once that nothing will follow.
    pub(super) fn say_goodbye(&mut self, socket: &TcpStream) {
        if matches!(self.leave, Leave::NotTaken) {
            self.leave = Leave::Due([WARNING, CLOSE_NOTIFY]);
        }
        if self.take_leave(socket).is_err() {
            self.leave = Leave::Taken;
        }
    }

    /// Sends the alert that is due, if there is room. Without room the kernel may have accepted a
    /// record and not yet sent all of it, and the rest would be dropped with the connection; with
    /// room it leaves before the alert.
    pub(super) fn take_leave(&mut self, socket: &TcpStream) -> io::Result<()> {
        let Leave::Due(alert) = self.leave else {
            return Ok(());
        };
        if ktls::has_room(socket.as_fd())?
            && ktls::send_record(socket.as_fd(), ktls::ALERT, &alert)?.is_some()
        {
            self.leave = Leave::Taken;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_uses_no_nonce_again_that_rustls_has_used() {
        let nonce = |version, cipher| {
            let suite = Suite { version, cipher };
            unused_nonce(suite, b"salt\x7f\xff\xff\xff\xff\xff\xff\xfe").unwrap()
        };
        assert_eq!(
            &nonce(Version::Tls12, Cipher::Aes256Gcm),
            b"salt\x80\0\0\0\0\0\0\0"
        );
        // These count by the number of the record, here and there.
        for (version, cipher) in [
            (Version::Tls12, Cipher::ChaCha20Poly1305),
            (Version::Tls13, Cipher::Aes128Gcm),
        ] {
            let same = b"salt\x7f\xff\xff\xff\xff\xff\xff\xfe";
            assert_eq!(&nonce(version, cipher), same);
        }
    }
}
