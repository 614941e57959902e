//! Tests that only root can run.

use std::io::Write as _;

/// Ends a test where whoever runs it is not root, and says so: who only writes code need not give it the machine.
macro_rules! needs_root {
    () => {
        if !sys::user::is_root() {
            return $crate::common::needs_root::say_what_is_skipped(module_path!());
        }
    };
}

pub(crate) use needs_root;

/// On the terminal, whose lines of tests that pass the harness keeps to itself.
pub(crate) fn say_what_is_skipped(module: &str) {
    let own = std::thread::current();
    // The harness names a thread by its test, unless it has but one.
    let test = own.name().filter(|name| *name != "main").unwrap_or(module);
    let _ = writeln!(
        std::io::stderr(),
        "skipped, as it needs root: {test}; sudo env \"PATH=$PATH\" cargo test -p behaviour {test}"
    );
}
