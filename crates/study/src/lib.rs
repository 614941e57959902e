//! From a study file to a run folder: read, plan, look at the machine, put load on it block by
//! block, save each block. It drives agents by messages and makes no system call of its own.

mod answers;
pub mod arms;
pub mod bench;
mod blocks;
pub mod campaign;
pub mod catalogue;
pub mod clock;
pub mod commands;
mod confirm;
mod course;
pub mod described;
mod gate;
pub mod hosts;
pub mod load;
pub mod one_more;
mod order;
pub mod pair;
pub mod plan;
pub mod preflight;
pub mod progress;
pub mod reboot;
pub mod rehearsal;
pub mod rounds;
mod same_place;
mod scale;
pub mod service_spec;
pub mod services;
mod sha256;
mod shipped;
pub mod spec;
pub mod ssh;
pub mod store;
pub mod transport;
pub mod under_test;
pub mod visible;
mod words;

pub use campaign::{Campaign, CampaignError};
pub use clock::{Clock, Monotonic};
pub use course::Order;
pub use pair::Pair;
pub use progress::Progress;
pub use spec::nearest::did_you_mean;
pub use transport::Agent;
pub use under_test::Targets;
pub use visible::Visible;
