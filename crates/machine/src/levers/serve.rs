//! Levers that are an argument of our own server.

use std::ops::RangeInclusive;

use model::Binds;

use super::{Lever, LeverError, Setting, check_value, value_of};

/// Headers and body leave in two sends.
pub(super) const SPLIT_SEND: ServeFlag = ServeFlag {
    name: "split-send",
    flag: "--split-send",
    summary: "the server sends headers and body in two calls: a second send for each request, and \
              a second packet for the kernel to carry",
};

/// Each request re-arms its connection.
pub(super) const REARM_ONESHOT: ServeFlag = ServeFlag {
    name: "rearm-oneshot",
    flag: "--rearm-oneshot",
    summary: "the server registers connections one-shot (EPOLLONESHOT) and re-arms them after each \
              request: one epoll_ctl call more for each",
};

/// Planted work, by which tests know what a study must find.
pub(super) const BUSY_WORK: BusyWork = BusyWork;

/// A flag of `linerate serve` that is on or off.
pub(super) struct ServeFlag {
    name: &'static str,
    flag: &'static str,
    summary: &'static str,
}

impl Lever for ServeFlag {
    fn name(&self) -> &'static str {
        self.name
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn unavailable(&self) -> Option<String> {
        None
    }

    fn set(&self, value: Option<u64>) -> Result<Setting, LeverError> {
        check_value(self, value)?;
        Ok(Setting::ServeArgument(vec![self.flag.to_owned()]))
    }
}

/// `--busy-work-ns N`.
pub(super) struct BusyWork;

impl Lever for BusyWork {
    fn name(&self) -> &'static str {
        "busy-work-ns"
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn summary(&self) -> &'static str {
        "the server spins for so many nanoseconds on each request: a slowdown of known size"
    }

    /// 0 is the lever that does nothing, for runs that must find no difference.
    fn values(&self) -> Option<RangeInclusive<u64>> {
        Some(0..=1_000_000_000)
    }

    fn unavailable(&self) -> Option<String> {
        None
    }

    fn set(&self, value: Option<u64>) -> Result<Setting, LeverError> {
        let busy_ns = value_of(self, value, 1_000)?;
        Ok(Setting::ServeArgument(vec![
            "--busy-work-ns".to_owned(),
            busy_ns.to_string(),
        ]))
    }
}
