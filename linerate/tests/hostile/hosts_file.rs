//! A hosts file that lies where its owner did not put it.
