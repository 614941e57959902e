//! Tests that only root can run.

use std::io::Write as _;

/// Ends a test that is not run by root, and says so: a developer who only writes code need not give
/// the tests root's power over the machine.
macro_rules! needs_root {
    () => {
        if !sys::user::is_root() {
            return $crate::common::needs_root::say_what_is_skipped(module_path!());
        }
    };
}

pub(crate) use needs_root;

/// Says on the terminal which test was skipped. It writes to standard error directly, since the
/// harness hides what tests that pass print.
pub(crate) fn say_what_is_skipped(module: &str) {
    let own = std::thread::current();
    // The harness names a thread after its test, unless it runs all tests in its only thread.
    let test = own.name().filter(|name| *name != "main").unwrap_or(module);
    let _ = writeln!(
        std::io::stderr(),
        "skipped, as it needs root: {test}; sudo env \"PATH=$PATH\" cargo test -p behaviour {test}"
    );
}
