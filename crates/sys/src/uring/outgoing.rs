//! Memory that the kernel sends from. It is filled message by message and emptied all at once.

/// Room for the messages of one batch, bytes; of a longer message only a part is accepted.
const ROOM_BYTES: usize = 256 * 1024;

pub(super) struct Outgoing {
    room: Box<[u8]>,
    /// Where the message under construction begins.
    begun: usize,
    filled: usize,
}

/// Where a finished message lies in that memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    start: usize,
    bytes: usize,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self {
            room: vec![0; ROOM_BYTES].into_boxed_slice(),
            begun: 0,
            filled: 0,
        }
    }

    /// Appends as much to the message as there is room for. Returns how many bytes that is.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room.len() - self.filled);
        self.room[self.filled..][..taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        taken
    }

    /// Finishes the message; bytes appended from now on belong to the next one.
    #[inline]
    pub(super) fn finish(&mut self) -> Message {
        let message = Message {
            start: self.begun,
            bytes: self.filled - self.begun,
        };
        self.begun = self.filled;
        message
    }

    /// Discards all finished messages, unless another is under construction behind them.
    pub(super) fn clear(&mut self) {
        if self.begun == self.filled {
            (self.begun, self.filled) = (0, 0);
        }
    }

    pub(super) fn bytes(&self, message: Message) -> &[u8] {
        &self.room[message.start..][..message.bytes]
    }
}

impl Message {
    pub(super) fn is_empty(self) -> bool {
        self.bytes == 0
    }
}
