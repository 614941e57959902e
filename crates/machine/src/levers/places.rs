//! Where the knobs of a lever are found on a machine.

use std::io;

use serde::Deserialize;

use super::knob::napi_count;
use super::knob::{
    CpuSetting, DeviceSetting, DriverSetting, FeatureName, HostSetting, LinkSetting, Queue,
    QueueSetting, RouteMetric, SysctlName,
};
use super::{Knob, Obstacle, Site, Value, interrupts};
use crate::routes::{self, Route};

/// The places where a lever's knobs are found.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Places {
    Sysctls(Vec<SysctlName>),
    Host(HostSetting),
    EachCpu(CpuSetting),
    Device(DeviceSetting),
    EachQueue(QueueSetting),
    /// The CPUs of each interrupt of a device.
    Interrupts,
    Driver(DriverSetting),
    /// Each NAPI instance of a device: they take its packets.
    EachNapi,
    Links(Vec<LinkSetting>),
    RootQdisc,
    /// Each route through the device.
    Routes(RouteMetric),
    /// Those of these features that the driver of a device can switch.
    Features(Vec<FeatureName>),
}

impl Places {
    /// Reads each knob, and returns it with its value.
    pub(super) fn held(&self, site: &Site) -> Result<Vec<(Knob, Value)>, Obstacle> {
        let knobs = self.knobs(site)?;
        let read = knobs.into_iter().map(|knob| match knob.read(&site.tree) {
            Ok(value) => Ok((knob, value)),
            Err(error) => Err(Obstacle::of(&knob, &error)),
        });
        read.collect()
    }

    /// Whether a knob belongs to these places, or is moved along with one that does, on any
    /// machine.
    pub(super) fn have(&self, knob: &Knob) -> bool {
        match (self, knob) {
            (Self::Host(ours), Knob::Sysctl(_)) => {
                Knob::Host(*ours).follower().as_ref() == Some(knob)
            }
            (Self::Sysctls(names), Knob::Sysctl(name)) => names.contains(name),
            (Self::Host(ours), Knob::Host(setting)) => ours == setting,
            (Self::EachCpu(ours), Knob::Cpu { setting, .. }) => ours == setting,
            (Self::Device(ours), Knob::Device { setting, .. }) => ours == setting,
            (Self::EachQueue(ours), Knob::Queue { setting, .. }) => ours == setting,
            (Self::Interrupts, Knob::Interrupt { .. }) => true,
            (Self::Driver(ours), Knob::Driver { setting, .. }) => ours == setting,
            (Self::Driver(ours), _) if ours.is_of_both_ways() => knob.is_of_a_queue(),
            (Self::EachNapi, Knob::Napi { .. }) => true,
            (Self::Links(ours), Knob::Link { setting, .. }) => ours.contains(setting),
            (Self::RootQdisc, Knob::Qdisc { .. }) => true,
            (Self::Routes(ours), Knob::Route { metric, .. }) => ours == metric,
            (Self::Features(ours), Knob::Feature { feature, .. }) => ours.contains(feature),
            _ => false,
        }
    }

    fn knobs(&self, site: &Site) -> Result<Vec<Knob>, Obstacle> {
        match self {
            Self::Sysctls(names) => Ok(names.iter().cloned().map(Knob::Sysctl).collect()),
            Self::Host(setting) => Ok(vec![Knob::Host(*setting)]),
            Self::EachCpu(setting) => cpus(site, *setting),
            Self::Device(setting) => {
                let (device, setting) = (site.device()?.clone(), *setting);
                Ok(vec![Knob::Device { device, setting }])
            }
            Self::EachQueue(setting) => queues(site, *setting),
            Self::Interrupts => interrupts::of_device(site),
            Self::Driver(setting) => {
                let (device, setting) = (site.device()?.clone(), *setting);
                Ok(vec![Knob::Driver { device, setting }])
            }
            Self::EachNapi => napis(site),
            Self::Links(settings) => {
                let device = site.device()?;
                let knob = |setting: &LinkSetting| Knob::Link {
                    device: device.clone(),
                    setting: *setting,
                };
                Ok(settings.iter().map(knob).collect())
            }
            Self::RootQdisc => {
                let device = site.device()?.clone();
                Ok(vec![Knob::Qdisc { device }])
            }
            Self::Routes(metric) => routes_through(site, *metric),
            Self::Features(features) => switchable(site, features),
        }
    }

    /// Returns the knobs as a page of the documentation names them, with DEVICE and N where a
    /// machine has several.
    pub(super) fn patterns(&self) -> Vec<String> {
        let of_device = |file: &str| vec![format!("/sys/class/net/DEVICE/{file}")];
        match self {
            Self::Sysctls(names) => names.iter().map(|name| name.as_str().to_owned()).collect(),
            Self::Host(setting) => vec![format!("/{}", setting.word())],
            Self::EachCpu(setting) => {
                vec![format!("/sys/devices/system/cpu/cpuN/{}", setting.word())]
            }
            Self::Device(setting) => of_device(setting.word()),
            Self::EachQueue(setting) => {
                let way = if setting.is_of_receiving() {
                    "rx"
                } else {
                    "tx"
                };
                of_device(&format!("queues/{way}-N/{}", setting.word()))
            }
            Self::Interrupts => vec!["/proc/irq/N/smp_affinity_list".to_owned()],
            Self::Driver(setting) => vec![setting.command("DEVICE")],
            Self::EachNapi => vec!["irq-suspend-timeout of each NAPI of DEVICE".to_owned()],
            Self::Links(settings) => {
                let pattern = |it: &LinkSetting| format!("ip link set dev DEVICE {}", it.word());
                settings.iter().map(pattern).collect()
            }
            Self::RootQdisc => vec!["tc qdisc replace dev DEVICE root".to_owned()],
            Self::Routes(metric) => {
                vec![format!(
                    "ip route change ROUTE dev DEVICE {}",
                    metric.word()
                )]
            }
            Self::Features(features) => {
                let pattern = |feature| format!("ethtool -K DEVICE {feature}");
                features.iter().map(pattern).collect()
            }
        }
    }
}

/// Shows the values of knobs to a person. Equal values that follow one another are shown once.
pub(super) fn shown(held: &[(Knob, Value)]) -> String {
    let mut shown: Vec<String> = held.iter().map(|(knob, value)| knob.show(value)).collect();
    shown.dedup();
    shown.join(" | ")
}

/// The NAPI instances of the device.
fn napis(site: &Site) -> Result<Vec<Knob>, Obstacle> {
    let device = site.device()?;
    let knob = |nth| Knob::Napi {
        device: device.clone(),
        nth,
    };
    let count = napi_count(device, &site.tree).map_err(|error| Obstacle::of(&knob(0), &error))?;
    if count == 0 {
        return Err(Obstacle::Absent(format!(
            "the kernel lists no NAPI of {device}: its driver has none, or it is down"
        )));
    }
    Ok((0..count).map(knob).collect())
}

/// The IPv4 routes of the main table that lead through the device.
fn routes_through(site: &Site, metric: RouteMetric) -> Result<Vec<Knob>, Obstacle> {
    let device = site.device()?;
    let unreadable = |error: io::Error| {
        Obstacle::Absent(format!("the kernel does not list its routes: {error}"))
    };
    let routes = routes::list().map_err(unreadable)?;
    let index = site.index_of(device);
    let ours = |route: &&Route| index.is_some_and(|index| route.leads_through(index));
    let mut knobs = Vec::new();
    for route in routes.iter().filter(ours) {
        let key = route.key();
        if let Some(why) = route.obstacle() {
            return Err(Obstacle::Absent(format!(
                "the route {key} is left as it is: {why}"
            )));
        }
        knobs.push(Knob::Route {
            device: device.clone(),
            route: key,
            metric,
        });
    }
    if knobs.is_empty() {
        let words = format!("no route of IPv4 in the main table leads through {device}");
        return Err(Obstacle::Absent(words));
    }
    Ok(knobs)
}

fn switchable(site: &Site, features: &[FeatureName]) -> Result<Vec<Knob>, Obstacle> {
    let device = site.device()?;
    let knob = |feature| Knob::Feature {
        device: device.clone(),
        feature,
    };
    let mut knobs = Vec::new();
    for feature in features.iter().copied() {
        match feature.can_change(device, &site.tree) {
            Ok(true) => knobs.push(knob(feature)),
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Obstacle::of(&knob(feature), &error)),
        }
    }
    if knobs.is_empty() {
        return Err(Obstacle::Absent(format!(
            "the driver of {device} has no such feature"
        )));
    }
    Ok(knobs)
}

/// The knob of each CPU that is online.
fn cpus(site: &Site, setting: CpuSetting) -> Result<Vec<Knob>, Obstacle> {
    let knob = |cpu| {
        let cpu = u32::try_from(cpu).ok()?;
        Some(Knob::Cpu { cpu, setting })
    };
    Ok(site.online_cpus()?.into_iter().filter_map(knob).collect())
}

/// The knobs of each queue of the device, and of its interrupts if it has any.
pub(super) fn of_queues(site: &Site) -> Vec<Knob> {
    let of_setting = |setting| queues(site, setting).unwrap_or_default();
    let mut knobs: Vec<Knob> = QueueSetting::all().flat_map(of_setting).collect();
    knobs.extend(interrupts::of_device(site).unwrap_or_default());
    // Nobody can have set what the kernel does not show, such as `xps_cpus` of a device with one
    // queue.
    knobs.retain(|knob| knob.read(&site.tree).is_ok());
    knobs
}

/// The knob of each queue of the device, in order of the queues' numbers.
fn queues(site: &Site, setting: QueueSetting) -> Result<Vec<Knob>, Obstacle> {
    let device = site.device()?;
    let folders = site.tree.names(&format!("sys/class/net/{device}/queues"));
    let queues = folders.iter().filter_map(|folder| folder.parse().ok());
    let mut queues: Vec<Queue> = queues
        .filter(|queue| matches!(queue, Queue::Rx(_)) == setting.is_of_receiving())
        .collect();
    queues.sort_unstable_by_key(|queue| queue.number());
    if queues.is_empty() {
        return Err(Obstacle::Absent(format!(
            "{device} shows no such queue in /sys"
        )));
    }
    if queues.len() == 1 && setting.word() == "xps_cpus" {
        return Err(Obstacle::Absent(format!(
            "{device} sends by one queue, so there is none to choose"
        )));
    }
    let knob = |queue| Knob::Queue {
        device: device.clone(),
        queue,
        setting,
    };
    Ok(queues.into_iter().map(knob).collect())
}
