//! Another user of the machine before the throw-away services.
