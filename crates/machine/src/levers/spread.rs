//! CPUs shared out among the queues of a device.

use super::{Knob, Site, Value};

/// Returns the value of each knob, as a person types it: CPUs of its own, or for a number of queues
/// at least one queue per CPU. `None` for a knob that belongs to no queue, such as the interrupt by
/// which a driver learns the state of its link.
pub(super) fn over(held: &[(Knob, Value)], site: &Site, cpus: &[usize]) -> Vec<Option<String>> {
    let device = site.device().map_or("", |device| device.as_str());
    let named = held.iter().map(|(knob, _)| match knob {
        Knob::Interrupt { action, .. } => queue_of(action.as_deref()?, device),
        _ => None,
    });
    let named: Vec<Option<usize>> = named.collect();
    let queues = match named.iter().any(Option::is_some) {
        true => named,
        false => (0..held.len()).map(Some).collect(),
    };
    let share = |(queue, (knob, now)): (Option<usize>, &(Knob, Value))| {
        if let Value::Number(now) = now {
            let queues = i64::try_from(cpus.len()).unwrap_or(i64::MAX);
            return Some(queues.max(*now).to_string());
        }
        // One CPU serves an interrupt. If there are fewer queues than CPUs, several CPUs send by
        // one queue.
        let turns = match knob {
            Knob::Interrupt { .. } => cpus.len(),
            _ => cpus.len().min(held.len()),
        };
        let own = cpus.iter().skip(queue? % turns).step_by(turns);
        let own: Vec<String> = own.map(ToString::to_string).collect();
        Some(own.join(","))
    };
    queues.into_iter().zip(held).map(share).collect()
}

/// The queue of an interrupt, by the number at which drivers end its name: `eth0-rx-0`,
/// `virtio0-input.0`, `mlx5_comp0@pci:0000:3b:00.0`. The device's own name may end with a number
/// too.
fn queue_of(action: &str, device: &str) -> Option<usize> {
    let name = action.split_once('@').map_or(action, |(name, _)| name);
    let name = name.split_once(device).map_or(name, |(_, rest)| rest);
    let digits = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
    name[digits.len()..].parse().ok()
}
