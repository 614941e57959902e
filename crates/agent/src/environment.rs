//! What the measured programs and their keepers inherit from us: no powers of root, and little of
//! our environment. The environment may hold secrets of the user who started us, and a process can
//! read the environment of any other process of the same user.

use std::process::Command;

use model::failure::Failure;
use sys::descent::Descent;
use sys::process::ChildSetup;

/// The variables that are handed on: where programs are, and the user's own folders.
const HANDED_ON: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Hands on to a command these variables of our environment, and nothing else.
pub(crate) fn little(command: &mut Command) {
    let ours = HANDED_ON.map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(ours.into_iter().flatten());
}

/// The setup of a child that runs as an ordinary user on `cpus`; on the inherited ones where `cpus`
/// is empty.
pub(crate) fn ordinary(cpus: &[usize]) -> Result<ChildSetup, Failure> {
    let descent = Descent::from_here()
        .map_err(|error| Failure::plain(format!("/proc/self/uid_map: {error}")))?;
    Ok(ChildSetup {
        cpus: cpus.to_vec(),
        descent,
        ..ChildSetup::default()
    })
}
