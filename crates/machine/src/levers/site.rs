//! The place that a lever is asked about: a machine, and one of its network devices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{DeviceName, Obstacle};
use crate::errno::errno;
use crate::links::{self, Device};
use crate::tree::Tree;

/// A machine as this process sees it, and the device that levers of devices apply to.
pub struct Site {
    pub(super) tree: Tree,
    links: Links,
    device: Result<DeviceName, Obstacle>,
}

const LOOPBACK: &str = "lo";

/// The devices of our network namespace as the kernel lists them, or why it does not.
type Links = Result<Vec<Device>, Obstacle>;

impl Site {
    /// This machine. If no device is given, it is the one that the default route leads through;
    /// without a default route the only one besides loopback, or loopback if there is no other.
    pub fn here(device: Option<DeviceName>) -> Self {
        let tree = Tree::of_this_machine();
        let links = links::list().map_err(|error| {
            let why = errno(&error);
            Obstacle::Other(format!(
                "the kernel does not list its network devices: {why}"
            ))
        });
        let device = links.as_deref().map_err(Clone::clone).and_then(|links| {
            let device = device.map_or_else(|| usual_device(&tree, links), Ok)?;
            known(&tree, links, device)
        });
        Self {
            tree,
            links,
            device,
        }
    }

    /// This machine, with its device whose network contains an address. If there is none, the
    /// device is chosen as [`Self::here`] does without one.
    pub fn towards(address: IpAddr) -> Self {
        let device = device_towards(&Tree::of_this_machine(), address);
        Self::here(device.and_then(|name| name.parse().ok()))
    }

    /// A machine whose root is another folder, with the devices that the files there show.
    #[cfg(test)]
    pub(crate) fn below(tree: &Tree, device: Option<&str>) -> Self {
        let device = device.map(|name| name.parse().expect("a name"));
        let tree = tree.clone();
        let device = device.ok_or_else(|| Obstacle::Other("no device was given".to_owned()));
        let names = tree.names("sys/class/net").into_iter();
        let links = names.filter_map(|name| {
            let index = shown_index(&tree, &name)?;
            Some(Device {
                index,
                name,
                ..Device::default()
            })
        });
        let links = Ok(links.collect());
        Self {
            tree,
            links,
            device,
        }
    }

    /// The device that levers of devices apply to.
    pub(crate) fn device(&self) -> Result<&DeviceName, Obstacle> {
        self.device.as_ref().map_err(Clone::clone)
    }

    /// The CPUs that are online, in order of their numbers.
    pub(super) fn online_cpus(&self) -> Result<Vec<usize>, Obstacle> {
        let online = self.tree.online_cpus();
        online.ok_or_else(|| Obstacle::Absent("the kernel does not list its CPUs".to_owned()))
    }

    /// The kernel's number of a device; `None` where it lists none of that name.
    pub(super) fn index_of(&self, device: &DeviceName) -> Option<u32> {
        let links = self.links.as_ref().ok()?;
        let named = |link: &&Device| link.name == device.as_str();
        links.iter().find(named).map(|link| link.index)
    }

    /// Returns the current name of a device that had this name and number. If the number is known,
    /// it alone decides. `None` if the device is gone.
    ///
    /// # Errors
    /// If the kernel does not list the devices, or `/sys` shows those of another namespace.
    pub(super) fn called_now(
        &self,
        device: &DeviceName,
        index: Option<u32>,
    ) -> Result<Option<DeviceName>, Obstacle> {
        let links = self.links.as_ref().map_err(Clone::clone)?;
        let is_it = |link: &&Device| match index {
            Some(index) => link.index == index,
            None => link.name == device.as_str(),
        };
        let Some(found) = links.iter().find(is_it) else {
            return Ok(None);
        };
        is_shown(&self.tree, links)?;
        found.name.parse().map(Some).map_err(Obstacle::Other)
    }
}

/// Checks that the kernel lists the device for our network namespace, and that its folder in `/sys`
/// is its own.
fn known(tree: &Tree, devices: &[Device], device: DeviceName) -> Result<DeviceName, Obstacle> {
    let name = device.as_str();
    if !devices.iter().any(|known| known.name == name) {
        let names: Vec<&str> = devices.iter().map(|known| known.name.as_str()).collect();
        let words = format!(
            "there is no network device `{name}`; there are {}",
            names.join(", ")
        );
        return Err(Obstacle::Other(words));
    }
    is_shown(tree, devices).map(|()| device)
}

/// Checks that `/sys` shows our network namespace, by the names and numbers of all its devices: two
/// namespaces may have equally many, and each has a `lo` of the same number.
fn is_shown(tree: &Tree, devices: &[Device]) -> Result<(), Obstacle> {
    let names = tree.names("sys/class/net").into_iter();
    // Besides devices there may be files, such as `bonding_masters`.
    let shown = names.filter_map(|name| Some((shown_index(tree, &name)?, name)));
    let shown: BTreeSet<_> = shown.collect();
    let listed = devices.iter().map(|link| (link.index, link.name.clone()));
    if shown == listed.collect() {
        return Ok(());
    }
    Err(Obstacle::Other(
        "/sys shows the devices of another network namespace than the one we are in".to_owned(),
    ))
}

fn shown_index(tree: &Tree, device: &str) -> Option<u32> {
    tree.number(&format!("sys/class/net/{device}/ifindex"))
}

fn usual_device(tree: &Tree, devices: &[Device]) -> Result<DeviceName, Obstacle> {
    let others: Vec<&str> = devices
        .iter()
        .map(|device| device.name.as_str())
        .filter(|name| *name != LOOPBACK)
        .collect();
    let name = match (default_route_device(tree), others.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => (*only).to_owned(),
        (None, []) => LOOPBACK.to_owned(),
        (None, names) => {
            let words = format!(
                "no default route says which device is meant; give --device with one of {}",
                names.join(", ")
            );
            return Err(Obstacle::Other(words));
        }
    };
    name.parse().map_err(Obstacle::Other)
}

/// The device of the narrowest network that contains an address and is reached without a gateway,
/// from `/proc/net/route`. That file lists IPv4 only, in the machine's own byte order.
fn device_towards(tree: &Tree, address: IpAddr) -> Option<String> {
    let IpAddr::V4(address) = address else {
        return None;
    };
    let address = u32::from_ne_bytes(address.octets());
    let routes = tree.text("proc/net/route")?;
    let network = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let word = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let (network, gateway, mask) = (word(1)?, word(2)?, word(7)?);
        let has_it = gateway == 0 && address & mask == network;
        has_it.then(|| (mask.count_ones(), fields[0].to_owned()))
    };
    let (_, device) = routes.lines().filter_map(network).max()?;
    Some(device)
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
