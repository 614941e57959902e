//! Names of the host between client and server in a rig of the form `wire`, and of the devices.

/// The host between client and server, which carries the packets.
pub const HOST: &str = "wire";
/// Its device towards the client.
pub const TO_CLIENT: &str = "lr-client";
/// Its device towards the server.
pub const TO_SERVER: &str = "lr-server";
/// The device of the client, and of the server, that leads to this host.
pub const DEVICE: &str = "lr-wire";
