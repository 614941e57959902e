//! Which side of a download was at its limit.

use model::Doubt;

/// A side or a CPU that was busy for this share of the window or more could not have done more.
const FULL_SHARE: f64 = 0.95;

/// How busy both sides of a download were.
pub(super) struct Sides {
    /// Share of the window in which the client was busy, 0 to 1.
    pub(super) client_share: f64,
    /// Share of the window in which the server was busy, 0 to 1; `None` where it is not known.
    pub(super) server_share: Option<f64>,
    /// Share of the time of common CPUs that both used together, 0 to 1; `None` where they share
    /// none, or it is not known.
    pub(super) shared_share: Option<f64>,
    /// Whether a doubt of the run bears on the limit, see [`bears_on_limits`].
    pub(super) is_doubtful: bool,
}

impl Sides {
    /// The sides that were busy all the time.
    pub(super) fn full(&self) -> Vec<&'static str> {
        let sides = [
            ("client", Some(self.client_share)),
            ("server", self.server_share),
        ];
        let full = sides.into_iter().filter(|(_, share)| is_full(*share));
        full.map(|(side, _)| side).collect()
    }

    /// What was at its limit, in a word for JSON.
    pub(super) fn limit(&self) -> &'static str {
        if is_full(self.shared_share) {
            return "shared_cpus";
        }
        match self.full()[..] {
            [side] => side,
            [] if self.is_doubtful => "unknown",
            [] => "neither",
            _ => "both",
        }
    }
}

/// Whether a doubt says that something other than the sides themselves may have held one back.
pub(super) fn bears_on_limits(doubt: &Doubt) -> bool {
    matches!(
        doubt,
        Doubt::ClientIsLimit { .. }
            | Doubt::SharedCpus { .. }
            | Doubt::CpuQuota { .. }
            | Doubt::ForeignWork { .. }
            | Doubt::CpuPressure { .. }
    )
}

fn is_full(share: Option<f64>) -> bool {
    share.is_some_and(|share| share >= FULL_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sides with CPUs of their own on a machine without other work.
    fn sides(client_share: f64, server_share: Option<f64>) -> Sides {
        Sides {
            client_share,
            server_share,
            shared_share: None,
            is_doubtful: false,
        }
    }

    #[test]
    fn a_side_that_was_busy_all_the_time_is_the_limit() {
        for (client, server, limit) in [
            (0.96, Some(0.5), "client"),
            (0.5, Some(0.95), "server"),
            (0.97, Some(0.97), "both"),
            (0.8, Some(0.8), "neither"),
            (0.8, None, "neither"),
        ] {
            assert_eq!(sides(client, server).limit(), limit, "{client} {server:?}");
        }
    }

    #[test]
    fn a_cpu_that_both_fill_together_is_the_limit_although_neither_fills_it() {
        let shared = |both| Sides {
            shared_share: Some(both),
            is_doubtful: true,
            ..sides(0.77, Some(0.21))
        };
        assert_eq!(shared(0.98).limit(), "shared_cpus");
        assert_eq!(shared(0.8).limit(), "unknown");
    }

    #[test]
    fn nothing_is_said_where_one_may_have_waited_for_the_other_or_for_other_work() {
        let doubtful = |client_share| Sides {
            is_doubtful: true,
            ..sides(client_share, None)
        };
        assert_eq!(doubtful(0.5).limit(), "unknown");
        assert_eq!(doubtful(0.99).limit(), "client");
    }
}
