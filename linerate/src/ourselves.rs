//! The path by which this program starts itself again.

/// Path of this program. Its real path may lead through a folder that only root may enter; this one
/// can be followed by a child that has become another user.
pub(crate) const OURSELVES: &str = "/proc/self/exe";
