//! What another user of the machine can do to the throw-away services.

mod lab;
mod one_another;
mod secrets;
mod shown;
mod strangers;
