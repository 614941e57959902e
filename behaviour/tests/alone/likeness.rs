//! A service of changing answers from one host to another: the counters of blocks this short are read in time by a
//! machine at rest alone.

use crate::service::likeness::assert_measured_on;

#[test]
fn an_application_whose_answers_change_is_measured_from_another_host() {
    crate::common::needs_root!();
    assert_measured_on("netns");
}
