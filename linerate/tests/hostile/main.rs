//! What somebody who means harm tries: another user of the machine, a far host, a stranger's run
//! folder, a client, a value that would lock its owner out. Each test is an attack, and says what
//! comes of it.

#[path = "../common/as_nobody.rs"]
mod as_nobody;
#[path = "../common/mod.rs"]
mod common;
mod far_host;
mod hosts_file;
mod lockout;
mod own_things;
mod run_folder;
mod server;
mod services;
mod state;
mod ticket_key;
