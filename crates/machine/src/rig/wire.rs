//! What a rig of the form `wire` calls the host between client and server, and its devices.

/// The host that carries.
pub const HOST: &str = "wire";
/// Its device to the client.
pub const TO_CLIENT: &str = "lr-client";
/// Its device to the server.
pub const TO_SERVER: &str = "lr-server";
/// The device of client and server, to it.
pub const DEVICE: &str = "lr-wire";
