//! CPU time that a program used within a look, by the account that has most of it: the account of
//! its threads lacks those that ended during the look.

use model::command::CommandReading;
use model::observation::Observation;

/// CPU time of all its threads and processes together, ns.
pub(crate) fn of(seen: &Observation) -> u64 {
    let threads = sum(seen.threads.iter().map(|it| it.running_ns));
    let command = seen.command.as_ref().map_or(0, CommandReading::cpu_ns);
    threads.max(command).max(sum(counted(seen)))
}

/// CPU time in its own code and in the kernel, ns; 0 for both where neither is known.
pub(crate) fn in_parts(seen: &Observation) -> [u64; 2] {
    if let Some(ran) = &seen.command {
        return [ran.user_ns, ran.system_ns];
    }
    let threads = seen.threads.iter();
    let threads = [
        sum(threads.clone().map(|it| it.user_ns)),
        sum(threads.map(|it| it.system_ns)),
    ];
    match sum(threads) < sum(counted(seen)) {
        true => counted(seen),
        false => threads,
    }
}

/// CPU time by its processes, whose counts include threads and children that came and went.
fn counted(seen: &Observation) -> [u64; 2] {
    ["program.user_ns", "program.system_ns"].map(|name| seen.rise(name))
}

fn sum(all: impl IntoIterator<Item = u64>) -> u64 {
    all.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use model::observation::SeenThread;

    use super::*;

    #[test]
    fn what_threads_that_ended_used_is_in_the_count_of_their_processes() {
        let thread = SeenThread {
            running_ns: 90,
            user_ns: 60,
            system_ns: 20,
            ..SeenThread::default()
        };
        let mut seen = Observation {
            threads: vec![thread],
            ..Observation::default()
        };
        assert_eq!((of(&seen), in_parts(&seen)), (90, [60, 20]));
        let counts = [("program.user_ns", 100), ("program.system_ns", 300)];
        seen.counters = counts.map(|(name, ns)| (name.to_owned(), ns)).into();
        assert_eq!((of(&seen), in_parts(&seen)), (400, [100, 300]));
        // Ended children whose parent does not wait for them are in neither.
        seen.counters.insert("program.system_ns".to_owned(), 0);
        seen.counters.insert("program.user_ns".to_owned(), 10);
        assert_eq!((of(&seen), in_parts(&seen)), (90, [60, 20]));
    }
}
