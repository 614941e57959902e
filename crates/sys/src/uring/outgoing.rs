//! Memory that the kernel sends from, filled message by message and emptied all at once.

/// Room for the messages of one batch; a longer one is taken in part.
const ROOM_BYTES: usize = 256 * 1024;

pub(super) struct Outgoing {
    room: Box<[u8]>,
    /// Where the message that is being put together begins.
    begun: usize,
    filled: usize,
}

/// A message in that memory.
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

    /// Adds to the message as much as there is room for, and tells how much that is.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room.len() - self.filled);
        self.room[self.filled..][..taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        taken
    }

    /// The message is whole; what is added next belongs to another.
    #[inline]
    pub(super) fn finish(&mut self) -> Message {
        let message = Message {
            start: self.begun,
            bytes: self.filled - self.begun,
        };
        self.begun = self.filled;
        message
    }

    /// Forgets all that is finished, unless a message is being put together behind it.
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
