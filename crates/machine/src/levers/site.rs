//! Where a lever is asked about: a machine, and the network device that is meant.

use super::{DeviceName, Obstacle};
use crate::links;
use crate::tree::Tree;

/// A machine as this process sees it, and the device that levers of devices are for.
pub struct Site {
    pub(super) tree: Tree,
    device: Result<DeviceName, Obstacle>,
}

impl Site {
    /// This machine; without a device, the one that the default route leads through, or the only one
    /// besides loopback.
    #[must_use]
    pub fn here(device: Option<DeviceName>) -> Self {
        let tree = Tree::of_this_machine();
        let device = device.map_or_else(|| usual_device(&tree), |device| known(&tree, device));
        Self { tree, device }
    }

    /// Files below another folder, as if it were the root.
    #[cfg(test)]
    pub(crate) fn below(tree: &Tree, device: Option<&str>) -> Self {
        let device = device.map(|name| name.parse().expect("a name"));
        let tree = tree.clone();
        let device = device.ok_or_else(|| Obstacle::NoDevice("no device was given".to_owned()));
        Self { tree, device }
    }

    /// The device that levers of devices are for.
    pub(super) fn device(&self) -> Result<&DeviceName, Obstacle> {
        self.device.as_ref().map_err(Clone::clone)
    }
}

/// A device that the kernel lists for our network namespace, and whose folder in `/sys` is its own.
fn known(tree: &Tree, device: DeviceName) -> Result<DeviceName, Obstacle> {
    let name = device.to_string();
    let devices = links::list().unwrap_or_default();
    let Some(found) = devices.iter().find(|known| known.name == name) else {
        let names: Vec<&str> = devices.iter().map(|known| known.name.as_str()).collect();
        let words = format!(
            "there is no network device `{name}`; there are {}",
            names.join(", ")
        );
        return Err(Obstacle::NoDevice(words));
    };
    let index_of = |name: &str| tree.number::<u32>(&format!("sys/class/net/{name}/ifindex"));
    // Besides devices there may be files, such as `bonding_masters`.
    let names = tree.names("sys/class/net");
    let shown = names.iter().filter(|name| index_of(name).is_some()).count();
    let is_ours = index_of(&name) == Some(found.index) && shown == devices.len();
    if is_ours {
        return Ok(device);
    }
    Err(Obstacle::NoDevice(
        "/sys shows the devices of another network namespace than the one we are in".to_owned(),
    ))
}

fn usual_device(tree: &Tree) -> Result<DeviceName, Obstacle> {
    let devices = links::list().unwrap_or_default();
    let others: Vec<&str> = devices
        .iter()
        .map(|device| device.name.as_str())
        .filter(|name| *name != "lo")
        .collect();
    let name = match (default_route_device(tree), others.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => (*only).to_owned(),
        (None, []) => {
            return Err(Obstacle::NoDevice(
                "there is no network device besides lo".to_owned(),
            ));
        }
        (None, names) => {
            let words = format!(
                "no default route says which device is meant; say --device with one of {}",
                names.join(", ")
            );
            return Err(Obstacle::NoDevice(words));
        }
    };
    let device = name.parse().map_err(Obstacle::NoDevice)?;
    known(tree, device)
}

/// The device of the first route to 0.0.0.0/0 in `/proc/net/route` (proc_pid_net(5)).
fn default_route_device(tree: &Tree) -> Option<String> {
    let routes = tree.text("proc/net/route")?;
    let fields = routes
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut defaults = fields
        .filter(|fields| fields.get(1) == Some(&"00000000") && fields.get(7) == Some(&"00000000"));
    defaults.next().map(|fields| fields[0].to_owned())
}
