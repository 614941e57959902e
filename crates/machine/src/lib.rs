//! Looks at the machine and changes it: facts, instruments, levers, rigs, their journal and
//! findings.
//!
//! It carries no traffic except the datagrams that a look sends to itself (`irq_time`), so an
//! instrument or a lever works on any program.

pub mod boot;
mod cpu_ticks;
pub mod cpus;
pub mod distribution;
mod drivers;
mod errno;
pub mod facts;
pub mod findings;
pub mod instruments;
pub mod inventory;
mod irq_time;
pub mod journal;
pub mod levers;
mod links;
pub mod look;
pub mod namespace;
pub mod nftables;
mod packet_filters;
mod packet_list;
pub mod planted;
mod pressure;
pub mod probes;
mod process_stat;
pub mod rig;
mod routes;
mod rtnetlink;
mod tables;
pub mod targets;
mod tcp_table;
mod template;
pub mod thief;
mod tree;
mod unix_table;
mod watch;

pub use watch::watch;
