//! Looks at the machine and changes it: facts, instruments, levers and findings.
//!
//! It carries no traffic: an instrument or a lever works on any program.

pub mod levers;
pub mod namespace;
pub mod nftables;
mod packet_list;
