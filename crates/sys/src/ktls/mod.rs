//! TLS records that the kernel makes and reads (`kTLS`), on a socket whose keys were agreed on
//! here.
//!
//! From then on bytes are sent as on any socket, by sendfile(2) too, and leave encrypted. The
//! layouts are those of linux/tls.h; Documentation/networking/tls.rst describes them.

mod probe;

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::check_size;
use crate::listener::{Refused, SocketOption};
use crate::socket::or_later;

pub use probe::probe;

/// Type of a record with content that an application sent (RFC 8446 §5.1).
pub const APPLICATION_DATA: u8 = 23;
/// Type of a record that reports an error, or the end.
pub const ALERT: u8 = 21;
/// Type of a record of a handshake, or of what is agreed on after one.
pub const HANDSHAKE: u8 = 22;

/// Room for a control message of one byte, `CMSG_SPACE(1)`, aligned as the kernel wants it.
type Control = [u64; 3];
const CONTROL_BYTES: usize = size_of::<Control>();

/// The TLS versions that the kernel supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Tls12,
    Tls13,
}

/// The ciphers that rustls and the kernel have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20Poly1305,
}

/// The version and the cipher of a session's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suite {
    pub version: Version,
    pub cipher: Cipher,
}

/// The direction in which records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Transmit,
    Receive,
}

/// The keys of one direction of a connection.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    pub suite: Suite,
    /// As many bytes as [`Cipher::key_bytes`] says.
    pub key: &'a [u8],
    /// Twelve bytes; for AES-GCM the first four are the salt.
    pub nonce: &'a [u8],
    /// The number of the next record.
    pub sequence: u64,
}

impl Cipher {
    /// Length of the cipher's keys, bytes.
    pub fn key_bytes(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }
}

/// Name of the option that [`attach`] sets, and that a kernel without kTLS refuses.
pub const ATTACHING: &str = "TCP_ULP";

/// Makes a connection one whose records the kernel can make and read. Until it has keys, it works
/// as before. The kernel loads its module if the caller has the right to load it.
///
/// # Errors
/// `ENOENT` where the kernel has no kTLS, `ENOTCONN` where the peer has gone.
pub fn attach(connection: BorrowedFd<'_>) -> Result<(), Refused> {
    SocketOption(ATTACHING, libc::IPPROTO_TCP, libc::TCP_ULP).write(connection, b"tls")
}

/// Gives the kernel the keys of one direction. From now on that direction carries content, and its
/// records no longer pass through here.
///
/// # Errors
/// `ENOENT` for a cipher that the kernel lacks, `EINVAL` for a version that it does not support
/// with the cipher.
pub fn set_keys(
    connection: BorrowedFd<'_>,
    direction: Direction,
    keys: &Keys<'_>,
) -> Result<(), Refused> {
    let place = match direction {
        Direction::Transmit => SocketOption("TLS_TX", libc::SOL_TLS, libc::TLS_TX),
        Direction::Receive => SocketOption("TLS_RX", libc::SOL_TLS, libc::TLS_RX),
    };
    let mut info = crypto_info(keys);
    let set = place.write(connection, info.as_slice());
    info.fill(0);
    std::hint::black_box(&info);
    set
}

/// Length of the longest result of [`crypto_info`], of AES-256-GCM and ChaCha20-Poly1305.
const LONGEST_INFO_BYTES: usize = 56;

/// Builds `struct tls_crypto_info`, and behind it what the cipher needs: nonce, key, salt, sequence
/// number.
fn crypto_info(keys: &Keys<'_>) -> Vec<u8> {
    let version: u16 = match keys.suite.version {
        Version::Tls12 => 0x0303,
        Version::Tls13 => 0x0304,
    };
    let (cipher, salt_bytes): (u16, usize) = match keys.suite.cipher {
        Cipher::Aes128Gcm => (51, 4),
        Cipher::Aes256Gcm => (52, 4),
        Cipher::ChaCha20Poly1305 => (54, 0),
    };
    let (salt, nonce) = keys.nonce.split_at(salt_bytes.min(keys.nonce.len()));
    // Keys are copied once: a vector that grows would leave parts of them behind.
    let mut info = Vec::with_capacity(LONGEST_INFO_BYTES);
    info.extend_from_slice(&version.to_ne_bytes());
    info.extend_from_slice(&cipher.to_ne_bytes());
    for part in [nonce, keys.key, salt, &keys.sequence.to_be_bytes()] {
        info.extend_from_slice(part);
    }
    info
}

/// The bytes of one receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedContent {
    /// Type of the record that they were in.
    pub kind: u8,
    pub bytes: usize,
}

/// Receives what is there, from records of one type; `None` when nothing is. Zero bytes mean that
/// the peer has closed.
///
/// # Errors
/// `EBADMSG` for a record that was tampered with, `ECONNRESET` when the peer is gone.
pub fn receive(
    connection: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<Option<ReceivedContent>> {
    let mut control = Control::default();
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut message = message(&mut piece, &mut control);
    // SAFETY: the message points to the buffer and to the control bytes, each writable for the
    // length beside it; all outlive the call.
    let received =
        check_size(unsafe { libc::recvmsg(connection.as_raw_fd(), &raw mut message, 0) });
    let received = or_later(received)?;
    // SAFETY: the kernel has set the length of what it wrote into the control bytes; a header that
    // is found there is whole, and the byte behind it is the type.
    let kind = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        header.as_ref().map(|_| *libc::CMSG_DATA(header))
    };
    Ok(received.map(|bytes| ReceivedContent {
        kind: kind.unwrap_or(APPLICATION_DATA),
        bytes,
    }))
}

/// Sends a record of another type than content, in one piece; `None` when there is no room.
///
/// # Errors
/// `EPIPE` or `ECONNRESET` when the peer is gone.
pub fn send_record(
    connection: BorrowedFd<'_>,
    kind: u8,
    bytes: &[u8],
) -> io::Result<Option<usize>> {
    let mut control = Control::default();
    let mut piece = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let message = message(&mut piece, &mut control);
    // SAFETY: the control bytes are aligned for a header and have room for it and one byte more.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_TLS;
        (*header).cmsg_type = libc::TLS_SET_RECORD_TYPE;
        (*header).cmsg_len = libc::CMSG_LEN(1) as usize;
        *libc::CMSG_DATA(header) = kind;
    }
    // SAFETY: the message points to the bytes and to the control bytes, which are only read, for
    // the length beside each; all outlive the call.
    let sent = check_size(unsafe {
        libc::sendmsg(
            connection.as_raw_fd(),
            &raw const message,
            libc::MSG_NOSIGNAL,
        )
    });
    or_later(sent)
}

/// Whether there is room to send: a third of the most that the kernel buffers for a connection.
///
/// # Errors
/// None are known.
pub fn has_room(connection: BorrowedFd<'_>) -> io::Result<bool> {
    let asked = PollFd::from_borrowed_fd(connection, PollFlags::OUT);
    Ok(poll(&mut [asked], Some(&Timespec::default()))? > 0)
}

/// Makes a message of one piece of content, with room for the type of its record.
fn message(piece: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: an all-zero msghdr is valid: numbers, and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = std::ptr::from_mut(piece);
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES;
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layouts_are_those_of_the_kernels_header() {
        let keys = |cipher, key| Keys {
            suite: Suite {
                version: Version::Tls13,
                cipher,
            },
            key,
            nonce: b"saltnonce890",
            sequence: 7,
        };
        let short = crypto_info(&keys(Cipher::Aes128Gcm, &[1; 16]));
        let mut expected = vec![0x04, 0x03, 51, 0];
        expected.extend_from_slice(b"nonce890");
        expected.extend_from_slice(&[1; 16]);
        expected.extend_from_slice(b"salt\0\0\0\0\0\0\0\x07");
        assert_eq!(short, expected);
        assert_eq!(
            short.len(),
            size_of::<libc::tls12_crypto_info_aes_gcm_128>()
        );
        let long = crypto_info(&keys(Cipher::Aes256Gcm, &[1; 32]));
        assert_eq!(long.len(), size_of::<libc::tls12_crypto_info_aes_gcm_256>());
        let other = crypto_info(&keys(Cipher::ChaCha20Poly1305, &[1; 32]));
        let bytes = size_of::<libc::tls12_crypto_info_chacha20_poly1305>();
        assert_eq!(other.len(), bytes);
    }
}
