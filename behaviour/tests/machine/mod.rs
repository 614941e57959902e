//! What the program reports about this machine, and how it works on a machine that gives less than
//! it has.

pub(crate) mod confined;
mod doctor;
mod facts;
mod limits;
mod untouched;
