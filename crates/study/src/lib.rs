//! From a study file to a run folder: reads the study, plans it, looks at the machine, puts load on
//! it block by block, and saves each block. It drives agents by messages and makes no system call
//! of its own.

mod answers;
pub mod arms;
mod behind;
pub mod bench;
mod blocks;
pub mod campaign;
pub mod catalogue;
mod ceilings;
pub mod clock;
pub mod commands;
mod confirm;
mod course;
pub mod described;
pub mod explain;
mod gate;
pub mod hosts;
mod likeness_spec;
pub mod load;
pub mod one_more;
mod order;
pub mod pair;
mod patience;
pub mod pinned;
pub mod plan;
pub mod preflight;
pub mod progress;
pub mod reboot;
mod refusal;
pub mod rehearsal;
pub mod rounds;
pub mod same_place;
mod scale;
pub mod service_spec;
pub mod services;
mod shipped;
pub mod spec;
pub mod ssh;
mod stacks;
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
pub use refusal::Refusal;
pub use spec::nearest::did_you_mean;
pub use transport::Agent;
pub use under_test::Targets;
pub use visible::Visible;
