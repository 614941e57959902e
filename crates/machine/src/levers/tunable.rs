//! A lever that sets knobs of one kind to one value: a row of a table.

use super::card::Card;
use super::knob::{CpuSetting, DeviceSetting, HostSetting, Queue, QueueSetting};
use super::{Knob, Lever, Obstacle, Plan, Reading, Site, Step, Value, twin};
use crate::tree::Tree;

/// A row.
pub(super) struct Tunable {
    pub(super) card: Card,
    pub(super) places: Places,
    pub(super) accepts: Accepts,
    pub(super) advised: Advised,
}

/// Where a lever's knobs are found.
pub(super) enum Places {
    Sysctls(&'static [&'static str]),
    Host(HostSetting),
    EachCpu(CpuSetting),
    Device(DeviceSetting),
    EachQueue(QueueSetting),
}

/// The values that a lever takes.
pub(super) enum Accepts {
    Range(i64, i64),
    /// 0, or a power of two up to this: the kernel makes one of what it is given.
    PowerOfTwo(i64),
    /// So many numbers, none less than the one before it.
    Rising(usize),
    Words(&'static [&'static str]),
    /// One of the words in a file of the kernel.
    Offered(&'static str),
    Cpus,
}

/// What is set when no value is typed.
pub(super) enum Advised {
    Value(&'static str),
    /// What it is now, or this where that is less.
    AtLeast(i64),
    /// No value is right everywhere, and why.
    Depends(&'static str),
    /// What it is now, or what is reckoned for the machine where that is less.
    AtLeastOf(fn(&Site) -> Option<i64>),
}

impl Lever for Tunable {
    fn card(&self) -> &Card {
        &self.card
    }

    fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        let held = self.held(site)?;
        let mut shown: Vec<String> = held.iter().map(|(knob, value)| knob.show(value)).collect();
        shown.dedup();
        let is_recommended = self.recommended(site).map(|recommended| {
            let is_it = |(knob, value): &(Knob, Value)| {
                knob.parse_typed(&recommended).as_ref() == Some(value)
            };
            held.iter().all(is_it)
        });
        let now = shown.join(" | ");
        Ok(Reading {
            now,
            is_recommended,
        })
    }

    fn plan(&self, site: &Site, value: Option<&str>) -> Result<Plan, Obstacle> {
        let held = self.held(site)?;
        let typed = match value {
            Some(value) => value.to_owned(),
            None => self.recommended(site).ok_or_else(|| self.no_value(site))?,
        };
        let steps = held.into_iter().map(|(knob, old)| {
            twin::is_unused(&knob, &site.tree)?;
            let new = self.checked(site, &knob, &typed)?;
            Ok(Step { knob, old, new })
        });
        let mut steps = steps.collect::<Result<Vec<_>, Obstacle>>()?;
        steps.retain(|step| step.old != step.new);
        let (lever, scope) = (self.card.name, self.card.scope);
        Ok(Plan {
            lever,
            scope,
            steps,
        })
    }

    fn may_set(&self, site: &Site) -> Result<(), Obstacle> {
        let held = self.held(site)?;
        held.iter().try_for_each(|(knob, _)| {
            twin::is_unused(knob, &site.tree)?;
            let opened = knob.may_write(&site.tree);
            opened.map_err(|error| Obstacle::of(knob, error))
        })
    }

    fn recommended(&self, site: &Site) -> Option<String> {
        match self.advised {
            Advised::Value(value) => Some(value.to_owned()),
            Advised::AtLeast(least) => Some(self.number(site)?.max(least).to_string()),
            Advised::Depends(_) => None,
            Advised::AtLeastOf(reckon) => Some(self.number(site)?.max(reckon(site)?).to_string()),
        }
    }

    fn values(&self) -> String {
        self.accepts.words()
    }

    fn sets(&self) -> Vec<String> {
        self.places.patterns()
    }

    fn owns(&self, knob: &Knob) -> bool {
        match (&self.places, knob) {
            (Places::Sysctls(names), Knob::Sysctl(name)) => names.contains(&name.as_str()),
            (Places::Host(ours), Knob::Host(setting)) => ours == setting,
            (Places::EachCpu(ours), Knob::Cpu { setting, .. }) => ours == setting,
            (Places::Device(ours), Knob::Device { setting, .. }) => ours == setting,
            (Places::EachQueue(ours), Knob::Queue { setting, .. }) => ours == setting,
            _ => false,
        }
    }
}

impl Tunable {
    /// Each of its knobs with what it holds.
    fn held(&self, site: &Site) -> Result<Vec<(Knob, Value)>, Obstacle> {
        let knobs = self.places.knobs(site)?;
        let read = knobs.into_iter().map(|knob| match knob.read(&site.tree) {
            Ok(value) => Ok((knob, value)),
            Err(error) => Err(Obstacle::of(&knob, error)),
        });
        read.collect()
    }

    /// What its only knob holds, where that is a number.
    fn number(&self, site: &Site) -> Option<i64> {
        match self.held(site).ok()?.as_slice() {
            [(_, Value::Number(number))] => Some(*number),
            _ => None,
        }
    }

    fn checked(&self, site: &Site, knob: &Knob, typed: &str) -> Result<Value, Obstacle> {
        let value = knob.parse_typed(typed);
        let value = value.filter(|value| self.accepts.takes(&site.tree, value));
        value.ok_or_else(|| Obstacle::BadValue {
            lever: self.card.name,
            value: typed.to_owned(),
            expected: self.accepts.words_at(site),
        })
    }

    fn no_value(&self, site: &Site) -> Obstacle {
        let why = match self.advised {
            Advised::Depends(why) => why,
            _ => "none could be told for this machine",
        };
        let (lever, expected) = (self.card.name, self.accepts.words_at(site));
        Obstacle::NoValue {
            lever,
            why,
            expected,
        }
    }
}

impl Places {
    fn knobs(&self, site: &Site) -> Result<Vec<Knob>, Obstacle> {
        match self {
            Self::Sysctls(names) => Ok(names.iter().copied().map(Knob::sysctl).collect()),
            Self::Host(setting) => Ok(vec![Knob::Host(*setting)]),
            Self::EachCpu(setting) => cpus(site, *setting),
            Self::Device(setting) => {
                let (device, setting) = (site.device()?.clone(), *setting);
                Ok(vec![Knob::Device { device, setting }])
            }
            Self::EachQueue(setting) => queues(site, *setting),
        }
    }
}

impl Places {
    fn patterns(&self) -> Vec<String> {
        let of_device = |file: &str| vec![format!("/sys/class/net/DEVICE/{file}")];
        match self {
            Self::Sysctls(names) => names.iter().map(ToString::to_string).collect(),
            Self::Host(setting) => vec![format!("/{}", setting.file())],
            Self::EachCpu(setting) => {
                vec![format!("/sys/devices/system/cpu/cpuN/{}", setting.file())]
            }
            Self::Device(setting) => of_device(setting.file()),
            Self::EachQueue(setting) => {
                let way = if setting.is_of_receiving() {
                    "rx"
                } else {
                    "tx"
                };
                of_device(&format!("queues/{way}-N/{}", setting.file()))
            }
        }
    }
}

/// The CPUs that are on line.
fn cpus(site: &Site, setting: CpuSetting) -> Result<Vec<Knob>, Obstacle> {
    let online = site.tree.text("sys/devices/system/cpu/online");
    let online = online.and_then(|list| sys::cpu::parse_list(&list).ok());
    let cpus =
        online.ok_or_else(|| Obstacle::Absent("the kernel does not list its CPUs".to_owned()))?;
    let knob = |cpu| {
        let cpu = u32::try_from(cpu).ok()?;
        Some(Knob::Cpu { cpu, setting })
    };
    Ok(cpus.into_iter().filter_map(knob).collect())
}

/// The queues of the device, in order of their numbers.
fn queues(site: &Site, setting: QueueSetting) -> Result<Vec<Knob>, Obstacle> {
    let device = site.device()?;
    let folders = site.tree.names(&format!("sys/class/net/{device}/queues"));
    let queues = folders.iter().filter_map(|folder| folder.parse().ok());
    let mut queues: Vec<Queue> = queues
        .filter(|queue| matches!(queue, Queue::Rx(_)) == setting.is_of_receiving())
        .collect();
    queues.sort_by_key(|queue| queue.number());
    if queues.is_empty() {
        return Err(Obstacle::Absent(format!(
            "{device} shows no such queue in /sys"
        )));
    }
    let knob = |queue| Knob::Queue {
        device: device.clone(),
        queue,
        setting,
    };
    Ok(queues.into_iter().map(knob).collect())
}

impl Accepts {
    fn takes(&self, tree: &Tree, value: &Value) -> bool {
        match (self, value) {
            (Self::Range(least, most), Value::Number(number)) => (least..=most).contains(&number),
            (Self::PowerOfTwo(most), Value::Number(number)) => {
                *number == 0 || (1..=*most).contains(number) && number.count_ones() == 1
            }
            (Self::Rising(count), Value::Numbers(numbers)) => {
                numbers.len() == *count && numbers.is_sorted() && numbers[0] >= 0
            }
            (Self::Words(words), Value::Word(word)) => words.contains(&word.as_str()),
            (Self::Offered(file), Value::Word(word)) => offered(tree, file).contains(word),
            (Self::Cpus, Value::Numbers(_)) => true,
            _ => false,
        }
    }

    /// The values, with those that the kernel offers at a site.
    fn words_at(&self, site: &Site) -> String {
        match self {
            Self::Offered(file) => format!("one of {}", offered(&site.tree, file).join(", ")),
            _ => self.words(),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Range(0, 1) => "0 or 1".to_owned(),
            Self::Range(least, most) => format!("a number from {least} to {most}"),
            Self::PowerOfTwo(most) => format!("0, or a power of two up to {most}"),
            Self::Rising(count) => format!(
                "{count} numbers with commas between them, none less than the one before it"
            ),
            Self::Words(words) => words.join(", "),
            Self::Offered(file) => format!("one of the words in /{file}"),
            Self::Cpus => "a list of CPUs such as 0-3,8, or none".to_owned(),
        }
    }
}

/// The words of a kernel file that lists what there is to choose from.
fn offered(tree: &Tree, file: &str) -> Vec<String> {
    let text = tree.text(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}
