//! Names of operations under way: what each does, and for whom.

const GENERATION_BITS: u32 = 29;
const SLOT_BITS: u32 = 32;

/// Whom an operation is for. The generation distinguishes the present holder of a slot from earlier
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub slot: u32,
    generation: u32,
}

impl Owner {
    /// Makes an owner. Generations wrap at 29 bits.
    pub const fn new(slot: u32, generation: u32) -> Self {
        Self {
            slot,
            generation: generation & ((1 << GENERATION_BITS) - 1),
        }
    }
}

/// What an operation does; part of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    Accept,
    Receive,
    Watch,
    Room,
    Send,
    Cancel,
}

const KINDS: [OperationKind; 6] = [
    OperationKind::Accept,
    OperationKind::Receive,
    OperationKind::Watch,
    OperationKind::Room,
    OperationKind::Send,
    OperationKind::Cancel,
];

/// The name of an operation: slot, kind, generation, from the lowest bit up.
#[inline]
pub(super) fn name(owner: Owner, kind: OperationKind) -> u64 {
    u64::from(owner.generation) << (u64::BITS - GENERATION_BITS)
        | (kind as u64) << SLOT_BITS
        | u64::from(owner.slot)
}

#[inline]
pub(super) fn understand(name: u64) -> (Owner, OperationKind) {
    let generation = (name >> (u64::BITS - GENERATION_BITS)) as u32;
    let owner = Owner::new((name & u64::from(u32::MAX)) as u32, generation);
    let kind = (name >> SLOT_BITS) as usize & 0b111;
    (owner, *KINDS.get(kind).unwrap_or(&OperationKind::Cancel))
}
