//! Registers the services that are targets of studies, and the folders of studies' commands. They
//! are beside the services that were started by name, in a folder of their own. Where a study and
//! its keepers are killed at once, what they leave is found, since their locks end with them.

use std::path::Path;

use model::Service;
use model::failure::Failure;

use super::{Claim, Entry, Register};

/// Enters a service that is about to be started in this folder, and removes what a crash left of
/// others.
///
/// # Errors
/// When the register cannot be written.
pub(crate) fn enter(service: &Service, folder: &Path) -> Result<Claim, Failure> {
    enter_as(&service.title, service.stop.grace_ms, folder)
}

/// Enters the folder of a study's commands that is about to be made, and removes what a crash left
/// of others.
///
/// # Errors
/// As [`enter`].
pub(crate) fn enter_commands(folder: &Path) -> Result<Claim, Failure> {
    enter_as("commands of a study", 0, folder)
}

fn enter_as(title: &str, grace_ms: u32, folder: &Path) -> Result<Claim, Failure> {
    let register = here()?;
    register.clear_left();
    let name = folder.file_name().unwrap_or_default();
    register.claim(&Entry {
        name: name.to_string_lossy().into_owned(),
        title: title.to_owned(),
        version: String::new(),
        owner: super::ourselves()?,
        folder: folder.to_owned(),
        address: None,
        socket: None,
        password_file: None,
        connect: None,
        grace_ms,
        failed: None,
    })
}

/// Removes what studies that crashed have left. Where there is no register, nothing was entered.
pub fn clear_left() {
    if let Ok(register) = here() {
        register.clear_left();
    }
}

fn here() -> Result<Register, Failure> {
    Register::below("study-services")
}
