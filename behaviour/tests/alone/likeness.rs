//! A service whose answers change, measured from another host. Only a machine at rest reads the
//! counters of blocks this short in time.

use crate::service::likeness::assert_measured_on;

#[test]
fn an_application_whose_answers_change_is_measured_from_another_host() {
    crate::common::needs_root!();
    assert_measured_on("netns");
}
