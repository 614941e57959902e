//! What a process that we start could take from us.
