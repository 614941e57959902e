//! What somebody who means harm tries: another user of the machine, a far host, a stranger's run
//! folder, a client, a value that would lock its owner out. Each test is an attack, and says what
//! comes of it.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "../common/as_nobody.rs"]
mod as_nobody;
#[path = "../common/mod.rs"]
mod common;
mod far_host;
mod hosts_file;
mod lockout;
mod named_files;
#[path = "../common/offspring.rs"]
mod offspring;
#[path = "../common/own_state.rs"]
mod own_state;
mod own_things;
mod resumed;
mod run_folder;
#[expect(dead_code, reason = "a test uses what it needs of it")]
#[path = "../levers/sandbox.rs"]
mod sandbox;
#[path = "../common/schema.rs"]
mod schema;
mod server;
mod services;
mod state;
mod ticket_key;
