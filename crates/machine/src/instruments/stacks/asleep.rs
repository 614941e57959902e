//! How long threads slept, and where they waited.

use std::collections::HashMap;

use sys::perf::PerfRecord;

use super::samples::{MOST_BYTES, StackSample, StackSamples};

/// Reported motions of the threads of interest. They come CPU by CPU, so that only their times give
/// the order.
#[derive(Default)]
pub(super) struct Sleeps {
    motions: Vec<Motion>,
    bytes: usize,
    lost: u64,
}

struct Motion {
    time_ns: u64,
    thread: u32,
    kind: MotionKind,
}

enum MotionKind {
    Leaves(Away),
    /// The scheduler took the CPU from the thread, so it does not sleep but waits for a CPU.
    IsDisplaced,
    Returns,
}

/// A thread that is not on a CPU.
struct Away {
    since_ns: u64,
    /// How many sleeps this one stands for.
    stands_for: u64,
    /// The stack with which the thread left its CPU.
    from: StackSample,
}

impl Sleeps {
    pub(super) fn take(&mut self, record: PerfRecord<'_>, is_of_interest: impl Fn(u32) -> bool) {
        let motion = match record {
            PerfRecord::Hit(hit) if is_of_interest(hit.process) => {
                let from = StackSample::of(&hit);
                self.bytes += from.bytes();
                let away = Away {
                    since_ns: hit.time_ns,
                    stands_for: hit.stands_for,
                    from,
                };
                (hit.time_ns, hit.thread, MotionKind::Leaves(away))
            }
            PerfRecord::Displaced(switch) if is_of_interest(switch.process) => {
                (switch.time_ns, switch.thread, MotionKind::IsDisplaced)
            }
            PerfRecord::Back(switch) if is_of_interest(switch.process) => {
                (switch.time_ns, switch.thread, MotionKind::Returns)
            }
            PerfRecord::Lost(count) => {
                self.lost += count;
                return;
            }
            _ => return,
        };
        let (time_ns, thread, kind) = motion;
        self.bytes += size_of::<Motion>();
        self.motions.push(Motion {
            time_ns,
            thread,
            kind,
        });
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes <= MOST_BYTES
    }

    /// Whether a thread did nothing at all: neither went to sleep nor woke up.
    pub(super) fn is_still(&self, thread: u32) -> bool {
        self.motions.iter().all(|motion| motion.thread != thread)
    }

    /// The duration of each sleep, up to the thread's return or to the end of the window.
    pub(super) fn end(mut self, time_ns: u64) -> StackSamples {
        self.motions.sort_by_key(|motion| motion.time_ns);
        let mut slept = StackSamples::without(self.lost);
        let mut away: HashMap<u32, Away> = HashMap::new();
        for motion in self.motions {
            let before = match motion.kind {
                // Where a thread leaves twice, the record of its return was lost, and with it the
                // length of its first sleep.
                MotionKind::Leaves(now) => {
                    slept.lost += u64::from(away.insert(motion.thread, now).is_some());
                    continue;
                }
                MotionKind::IsDisplaced | MotionKind::Returns => away.remove(&motion.thread),
            };
            if let (MotionKind::Returns, Some(before)) = (motion.kind, before) {
                before.add_to(&mut slept, motion.time_ns);
            }
        }
        for still in away.into_values() {
            still.add_to(&mut slept, time_ns);
        }
        slept
    }
}

impl Away {
    fn add_to(self, slept: &mut StackSamples, until_ns: u64) {
        let one_ns = until_ns.saturating_sub(self.since_ns);
        slept.add(self.from, one_ns.saturating_mul(self.stands_for));
    }
}

#[cfg(test)]
mod tests {
    use sys::perf::{Hit, ThreadSwitch};

    use super::*;

    const OURS: u32 = 7;

    fn leaves(thread: u32, time_ns: u64) -> PerfRecord<'static> {
        PerfRecord::Hit(Hit {
            process: OURS,
            thread,
            time_ns,
            stands_for: 2,
            ..Hit::default()
        })
    }

    fn switch(thread: u32, time_ns: u64) -> ThreadSwitch {
        let process = OURS;
        ThreadSwitch {
            process,
            thread,
            time_ns,
        }
    }

    #[test]
    fn a_sleep_lasts_to_the_return_or_to_the_end_and_who_was_displaced_does_not_sleep() {
        let told = [
            PerfRecord::Back(switch(1, 5)),
            // This record is of another CPU, which is read later.
            PerfRecord::Back(switch(1, 40)),
            leaves(1, 10),
            leaves(2, 20),
            leaves(3, 50),
            PerfRecord::Displaced(switch(3, 51)),
            PerfRecord::Back(switch(3, 60)),
            // The return from here was lost.
            leaves(1, 70),
            leaves(1, 90),
            PerfRecord::Lost(4),
        ];
        let mut sleeps = Sleeps::default();
        for record in told {
            sleeps.take(record, |process| process == OURS);
        }
        sleeps.take(leaves(8, 10), |_| false);
        assert!(sleeps.is_still(8) && !sleeps.is_still(2));
        let slept = sleeps.end(100);
        let mut weights: Vec<u64> = slept.kept.iter().map(|(_, weight_ns)| *weight_ns).collect();
        weights.sort_unstable();
        assert_eq!((weights, slept.lost), (vec![20, 60, 160], 5));
    }
}
