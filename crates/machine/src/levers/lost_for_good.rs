//! Settings that a change destroys for good: putting the knob back does not restore them.

use sys::ethtool::Setting;

use super::knob::{DeviceName, DriverSetting, Queue, QueueSetting};
use super::{Knob, Step, Value};
use crate::tree::Tree;

/// Describes what would be lost; `None` where an undo restores everything.
pub(super) fn by(step: &Step, tree: &Tree) -> Option<String> {
    match (&step.knob, &step.old, &step.new) {
        (Knob::Driver { device, setting }, Value::Number(old), Value::Number(new)) => {
            let numbers = u32::try_from(*new).ok()?..u32::try_from(*old).ok()?;
            let mut queues = numbers.flat_map(|number| queues(*setting, number));
            let set = queues.find_map(|queue| set_for(device, queue, tree))?;
            Some(format!("what {set} holds would be lost"))
        }
        (knob, ..) => knob.lost_for_good(tree),
    }
}

/// The queues with this number, where the setting is a number of queues.
fn queues(setting: DriverSetting, number: u32) -> Vec<Queue> {
    let is = |other| setting == DriverSetting::new(other);
    let both = is(Setting::CombinedChannels);
    let receiving = (both || is(Setting::ReceiveChannels)).then_some(Queue::Rx(number));
    let sending = (both || is(Setting::TransmitChannels)).then_some(Queue::Tx(number));
    receiving.into_iter().chain(sending).collect()
}

/// A knob of this queue that holds another value than its usual one.
fn set_for(device: &DeviceName, queue: Queue, tree: &Tree) -> Option<Knob> {
    let of_direction = QueueSetting::all()
        .filter(|setting| setting.is_of_receiving() == matches!(queue, Queue::Rx(_)));
    let mut knobs = of_direction.map(|setting| {
        let device = device.clone();
        let knob = Knob::Queue {
            device,
            queue,
            setting,
        };
        (knob, setting.usual)
    });
    let set = knobs.find(|(knob, usual)| match knob.read(tree) {
        Ok(Value::Number(number)) => number != *usual,
        Ok(Value::Numbers(cpus)) => !cpus.is_empty(),
        _ => false,
    });
    set.map(|(knob, _)| knob)
}
