//! Another user of the machine between us and our state.
