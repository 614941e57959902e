//! The queue of connections that are free until a request is due.

use std::collections::VecDeque;

/// Connections in the order in which they became free, so that all of them are used in turn and
/// none grows cold. A connection may close while it is queued, so [`FreeQueue::take`] checks.
#[derive(Debug, Default)]
pub(super) struct FreeQueue {
    slots: VecDeque<usize>,
    queued: Vec<bool>,
}

impl FreeQueue {
    pub(super) fn new(connections: usize) -> Self {
        Self {
            slots: VecDeque::with_capacity(connections),
            queued: vec![false; connections],
        }
    }

    /// Adds a connection; one that is already queued keeps its place.
    pub(super) fn push(&mut self, slot: usize) {
        if !std::mem::replace(&mut self.queued[slot], true) {
            self.slots.push_back(slot);
        }
    }

    /// Takes the first connection that is still idle by `is_idle`; those that are not are dropped.
    pub(super) fn take(&mut self, is_idle: impl Fn(usize) -> bool) -> Option<usize> {
        loop {
            let slot = self.slots.pop_front()?;
            self.queued[slot] = false;
            if is_idle(slot) {
                return Some(slot);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_taken_in_turn_and_closed_ones_passed_over() {
        let mut free = FreeQueue::new(3);
        for slot in [2, 0, 1, 0] {
            free.push(slot);
        }
        assert_eq!(free.take(|slot| slot != 2), Some(0));
        free.push(0);
        assert_eq!(free.take(|_| true), Some(1));
        assert_eq!(free.take(|_| true), Some(0));
        assert!(free.is_empty());
    }
}
