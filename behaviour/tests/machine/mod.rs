//! What the program tells of this machine, and what it makes of one that gives less than it has.

pub(crate) mod confined;
mod doctor;
mod facts;
mod limits;
mod untouched;
