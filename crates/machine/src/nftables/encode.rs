//! The encoding of the nftables messages that we send. Nothing here talks to the kernel.

use sys::netlink::{Message, push_message};

/// `NFNL_SUBSYS_NFTABLES`: the upper half of each message's type.
const SUBSYSTEM: u16 = 10;
/// `NFT_MSG_DELTABLE` of linux/netfilter/nf_tables.h.
const DELETE_TABLE: u16 = (SUBSYSTEM << 8) | 2;
/// `NFNL_MSG_BATCH_BEGIN` and `_END`: all messages between them take effect, or none does.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// Flags of the netlink header, from linux/netlink.h.
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const EXCLUSIVE: u16 = 0x200;
const DUMP: u16 = 0x300;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
/// Length of `struct nfgenmsg`.
const HEADER_BYTES: usize = 4;

/// The parts of a ruleset, by the numbers of linux/netfilter/nf_tables.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Table = 0,
    Chain = 3,
    Rule = 6,
    Set = 9,
    Elements = 12,
    Generation = 15,
    Object = 18,
}

impl Part {
    /// The type of the messages that add such a part, and of those that list the existing ones.
    pub(super) const fn added(self) -> u16 {
        (SUBSYSTEM << 8) | self as u16
    }

    /// The type of the messages that ask for the existing parts.
    const fn get(self) -> u16 {
        self.added() + 1
    }
}

/// Messages that take effect together.
pub(super) struct Batch {
    datagram: Vec<u8>,
    sequence: u32,
    last_start: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        let mut batch = Self {
            datagram: Vec::new(),
            sequence: 0,
            last_start: 0,
        };
        batch.push(BATCH_BEGIN, 0, batch_header(), &[]);
        batch
    }

    /// Adds a part with its attributes.
    pub(super) fn add(&mut self, part: Part, family: u8, attributes: &[u8]) {
        let flags = match part {
            Part::Table => CREATE | EXCLUSIVE,
            Part::Rule => CREATE | APPEND,
            _ => CREATE,
        };
        self.push(part.added(), flags, header(family), attributes);
    }

    /// Deletes the table that these attributes name.
    pub(super) fn delete_table(&mut self, family: u8, attributes: &[u8]) {
        self.push(DELETE_TABLE, 0, header(family), attributes);
    }

    /// Returns the finished datagram, and the sequence number whose acknowledgement ends the
    /// answer.
    ///
    /// Only the last message asks for an acknowledgement. The kernel reports the errors of all
    /// messages in their order, and before Linux 6.10 it could not acknowledge the end of a batch.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the flag is in the low byte"
    )]
    pub(super) fn close(mut self) -> (Vec<u8>, u32) {
        let last = self.sequence;
        self.datagram[self.last_start + 6] |= ACKNOWLEDGE as u8;
        self.push(BATCH_END, 0, batch_header(), &[]);
        (self.datagram, last)
    }

    fn push(&mut self, kind: u16, flags: u16, header: [u8; HEADER_BYTES], attributes: &[u8]) {
        self.sequence += 1;
        self.last_start = self.datagram.len();
        let flags = REQUEST | flags;
        push_message(&mut self.datagram, kind, flags, self.sequence, |payload| {
            payload.extend(header);
            payload.extend(attributes);
        });
    }
}

/// Builds the request for all existing parts of a kind. Returns it with its sequence number. The
/// family 0 means all families; `which` holds the attributes of the request.
pub(super) fn list(part: Part, family: u8, which: &[u8]) -> (Vec<u8>, u32) {
    let mut request = Vec::new();
    let flags = match part {
        // There is only one: the number of the last change.
        Part::Generation => REQUEST | ACKNOWLEDGE,
        _ => REQUEST | DUMP,
    };
    push_message(&mut request, part.get(), flags, 1, |payload| {
        payload.extend(header(family));
        payload.extend(which);
    });
    (request, 1)
}

/// Returns the family and the attributes of a message that lists a part; `None` for other messages.
pub(super) fn listed<'a>(part: Part, message: &Message<'a>) -> Option<(u8, &'a [u8])> {
    let (header, attributes) = message.payload.split_at_checked(HEADER_BYTES)?;
    (message.kind == part.added()).then_some((header[0], attributes))
}

/// `struct nfgenmsg`: the family; the version and the resource number are 0.
fn header(family: u8) -> [u8; HEADER_BYTES] {
    [family, 0, 0, 0]
}

/// `struct nfgenmsg` of a batch: its resource number is the subsystem that the batch is for.
fn batch_header() -> [u8; HEADER_BYTES] {
    let [high, low] = SUBSYSTEM.to_be_bytes();
    [0, 0, high, low]
}
