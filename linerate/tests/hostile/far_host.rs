//! A machine of the hosts file that does not play by the rules.
