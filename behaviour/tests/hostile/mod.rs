//! What somebody who means harm tries: another user of the machine, a far host, a stranger's run
//! folder, a client, a value that would lock its owner out. Each test is an attack, named by its
//! outcome.

mod far_host;
mod file_server;
mod hosts_file;
mod lockout;
mod named_files;
mod own_things;
mod resumed;
mod run_folder;
mod server;
mod services;
mod state;
mod terminal;
mod ticket_key;
