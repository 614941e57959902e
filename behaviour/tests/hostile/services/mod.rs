//! Another user of the machine before the throw-away services.

mod lab;
mod one_another;
mod secrets;
mod shown;
mod strangers;
