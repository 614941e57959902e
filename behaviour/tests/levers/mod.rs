//! Levers as an operator uses them, on a small machine with a network and a journal of its own.

mod behaviour;
mod drivers;
mod each;
mod journal;
mod killed;
mod left;
mod ordinary;
mod page;
mod programs;
pub(crate) mod sandbox;
mod their_load;
mod trial;
mod try_out;
mod whose;
