//! Finds what limited a stream of bytes, from shares of time that each end and the kernel's
//! accounts report.

/// From this share of the time on, an end counts as full: it could not have done more.
const FULL_SHARE: f64 = 0.95;
/// From this share of the asked rate on, that rate is the limit.
const REACHED_SHARE: f64 = 0.97;
/// Up to this share of the asked rate, the stream counts as held to it.
pub const EXCEEDED_SHARE: f64 = 1.1;
/// From this share of a connection's busy time on, what held it back is its limit.
const HELD_SHARE: f64 = 0.3;
/// From this share of lost segments on, losses limit the stream, since congestion control reacts to
/// them.
const LOST_SHARE: f64 = 0.001;

/// What is known of one direction, as shares of the time from 0 to 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamSigns {
    /// Share of the asked rate that was reached; `None` where no rate was asked for.
    pub reached: Option<f64>,
    /// The busiest worker of the sending end: on a CPU, and waiting for one.
    pub sender: EndSigns,
    /// The busiest worker of the receiving end, by the same shares.
    pub receiver: EndSigns,
    /// Share of the connections' time in which there was something to send; `None` where that is
    /// not known, as for datagrams.
    pub busy: Option<f64>,
    /// Share of the busy time in which the receiver's window let no more be sent.
    pub by_window: f64,
    /// Share of the busy time in which the sender's buffer was the limit, since it was full.
    pub by_buffer: f64,
    /// Share of segments that were sent again, without those that the receiver already had; of
    /// datagrams, the share that was lost.
    pub lost: f64,
}

/// Shares of the time of one end's busiest worker.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndSigns {
    pub busy: f64,
    pub waiting: f64,
}

impl EndSigns {
    fn is_full(self) -> bool {
        self.busy + self.waiting >= FULL_SHARE
    }

    /// Whether other work had the CPU.
    fn is_crowded(self) -> bool {
        self.is_full() && self.waiting > self.busy / 2.0
    }
}

/// The limit, by its name in JSON and in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimit {
    pub name: &'static str,
    pub words: &'static str,
}

/// Finds the limit. The rate that was asked for comes first, then the CPUs of the ends, then what
/// the kernel held a connection back by, and last what is left.
pub fn limit(signs: &StreamSigns) -> StreamLimit {
    let StreamSigns {
        sender, receiver, ..
    } = *signs;
    let held = |share: f64| share >= HELD_SHARE;
    let (name, words) = match () {
        () if signs
            .reached
            .is_some_and(|share| (REACHED_SHARE..=EXCEEDED_SHARE).contains(&share)) =>
        {
            ("asked_rate", "the rate that was asked for")
        }
        () if sender.is_crowded() || receiver.is_crowded() => (
            "no_cpu",
            "other work, which uses the CPUs that the ends wait for",
        ),
        () if sender.is_full() && receiver.is_full() => ("both_cpus", "the CPUs of both ends"),
        () if sender.is_full() => ("sender_cpu", "the sender's CPU"),
        () if receiver.is_full() => ("receiver_cpu", "the receiver's CPU"),
        () if held(signs.by_window) => (
            "receiver_window",
            "the receiver's window: it accepts no more at once, for lack of room or time",
        ),
        () if held(signs.by_buffer) => ("sender_buffer", "the sender's buffer, which is too small"),
        () if signs.lost >= LOST_SHARE => ("losses", "losses on the path"),
        () if signs.busy.is_some_and(|share| share >= FULL_SHARE) => {
            ("path", "the path: the congestion window was open and full")
        }
        () => ("unknown", "unknown: no sign of it was seen"),
    };
    StreamLimit { name, words }
}

/// How evenly streams share, by Jain's index: 1 where all have the same, 1 / n where one has
/// everything; `None` where nothing is shared.
pub fn fairness(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(change: impl FnOnce(&mut StreamSigns)) -> &'static str {
        let mut signs = StreamSigns {
            busy: Some(1.0),
            ..StreamSigns::default()
        };
        change(&mut signs);
        limit(&signs).name
    }

    #[test]
    fn each_limit_has_its_sign_and_what_was_asked_for_goes_first() {
        let full = EndSigns {
            busy: 0.97,
            waiting: 0.0,
        };
        let crowded = EndSigns {
            busy: 0.5,
            waiting: 0.48,
        };
        assert_eq!(named(|_| ()), "path");
        assert_eq!(named(|signs| signs.sender = full), "sender_cpu");
        assert_eq!(named(|signs| signs.receiver = full), "receiver_cpu");
        assert_eq!(
            named(|signs| (signs.sender, signs.receiver) = (full, full)),
            "both_cpus"
        );
        assert_eq!(named(|signs| signs.receiver = crowded), "no_cpu");
        assert_eq!(named(|signs| signs.by_window = 0.4), "receiver_window");
        assert_eq!(named(|signs| signs.by_buffer = 0.4), "sender_buffer");
        assert_eq!(named(|signs| signs.lost = 0.01), "losses");
        assert_eq!(named(|signs| signs.busy = Some(0.5)), "unknown");
        assert_eq!(
            named(|signs| (signs.reached, signs.sender) = (Some(0.99), full)),
            "asked_rate"
        );
        assert_eq!(named(|signs| signs.reached = Some(0.9)), "path");
        // A stream that carried more was not limited by the asked rate.
        assert_eq!(named(|signs| signs.reached = Some(1300.0)), "path");
    }

    #[test]
    fn fairness_is_one_of_equals_and_its_part_where_one_has_all() {
        assert_eq!(fairness(&[3.0, 3.0]), Some(1.0));
        assert_eq!(fairness(&[4.0, 0.0]), Some(0.5));
        assert_eq!((fairness(&[]), fairness(&[0.0])), (None, None));
    }
}
