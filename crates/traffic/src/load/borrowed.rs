//! Uses the calling thread as a worker, and restores its settings afterwards.

/// The settings that a worker changes of its thread. Dropping it restores the old values.
pub(super) struct BorrowedThread {
    cpus: Option<Vec<usize>>,
    timer_slack_ns: Option<u64>,
}

impl BorrowedThread {
    /// Remembers the present settings of the calling thread.
    pub(super) fn take() -> Self {
        Self {
            cpus: sys::cpu::allowed().ok(),
            timer_slack_ns: sys::scheduling::timer_slack_ns().ok(),
        }
    }
}

impl Drop for BorrowedThread {
    fn drop(&mut self) {
        // Values that could be read can be written back; if not, only this thread is affected.
        if let Some(cpus) = &self.cpus {
            let _ = sys::cpu::pin(cpus);
        }
        if let Some(slack_ns) = self.timer_slack_ns {
            let _ = sys::scheduling::set_timer_slack_ns(slack_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_borrowed_thread_is_given_back_as_it_was() {
        let seen = || {
            (
                sys::cpu::allowed().unwrap(),
                sys::scheduling::timer_slack_ns().unwrap(),
            )
        };
        let before = seen();
        let borrowed = BorrowedThread::take();
        sys::cpu::pin(&before.0[..1]).unwrap();
        sys::scheduling::set_timer_slack_ns(1).unwrap();
        assert_ne!(seen(), before);
        drop(borrowed);
        assert_eq!(seen(), before);
    }
}
