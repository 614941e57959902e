//! This program, for the processes in which it is started again.

/// Unlike its path, which may lead through a folder that is root's alone, this can be followed by a
/// child that has become another user.
pub(crate) const OURSELVES: &str = "/proc/self/exe";
