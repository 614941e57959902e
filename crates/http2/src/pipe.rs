//! What h2 uses as its socket: memory, which the owner of the real socket fills and empties.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that may wait to be sent; from there on h2 holds back until some of them have left.
const OUTPUT_BYTES: usize = 1 << 20;

/// Both directions of one connection.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) input: BytesMut,
    /// Whether the peer will send no more.
    pub(crate) has_ended: bool,
    pub(crate) output: BytesMut,
    /// Whether h2 has more output, for which there was no room.
    pub(crate) is_held_back: bool,
}

/// h2's end of the buffers. They wake nobody: whoever changes them must poll afterwards.
#[derive(Debug)]
pub(crate) struct Pipe(pub(crate) Rc<RefCell<Buffers>>);

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut buffers = self.0.borrow_mut();
        if buffers.input.is_empty() && !buffers.has_ended {
            return Poll::Pending;
        }
        let count = buffers.input.len().min(room.remaining());
        room.put_slice(&buffers.input[..count]);
        buffers.input.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffers = self.0.borrow_mut();
        if buffers.output.len() >= OUTPUT_BYTES {
            buffers.is_held_back = true;
            return Poll::Pending;
        }
        buffers.output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
