//! A run folder that somebody else made.
