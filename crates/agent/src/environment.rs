//! What the programs that are measured, and those who keep them, have of us: no powers of root, and little of our
//! environment. That may hold secrets of whoever started us, and a process can read the environment of any other of its
//! user.

use std::process::Command;

use model::failure::Failure;
use sys::descent::Descent;
use sys::process::ChildSetup;

/// Where programs are, and the folders of whoever runs them.
const HANDED_ON: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Leaves a command that little, and nothing else.
pub(crate) fn little(command: &mut Command) {
    let ours = HANDED_ON.map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(ours.into_iter().flatten());
}

/// How a child starts as an ordinary user, on these CPUs; with none, on those inherited.
pub(crate) fn ordinary(cpus: &[usize]) -> Result<ChildSetup, Failure> {
    let descent = Descent::from_here()
        .map_err(|error| Failure::plain(format!("/proc/self/uid_map: {error}")))?;
    Ok(ChildSetup {
        cpus: cpus.to_vec(),
        descent,
        ..ChildSetup::default()
    })
}
