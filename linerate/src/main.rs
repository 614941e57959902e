//! Linerate: how fast a Linux machine can serve, what holds it back, what each fix buys.

fn main() {}
