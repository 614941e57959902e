//! Levers set to values that would cut off access or memory.
