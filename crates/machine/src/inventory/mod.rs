//! The inventory of this machine, with a module for each kind of thing. Each module copes with
//! missing files, so that the whole never fails, and the inventory names what was hidden.

mod buses;
mod cpu;
mod disks;
mod kernel;
mod limits;
mod links;
mod look;
mod memory;
mod names;
mod network;
mod permissions;
pub(crate) mod tables;

use model::inventory::{ControlGroup, INVENTORY_FORMAT, Inventory};
use sys::cgroup::{Controller, Group, Hierarchy};

use crate::tree::Tree;
use crate::{facts, irq_time};
use look::Look;

/// Collects the inventory of this machine; with `full`, also names, addresses and serial numbers.
pub fn collect(full: bool) -> Inventory {
    let look = Look::new(Tree::of_this_machine(), full);
    let links = links::here(&look);
    let mut inventory = Inventory {
        links,
        ..from_files(&look)
    };
    inventory.facts.irq_time_accounting = Some(irq_time::probe());
    inventory
}

/// The whole inventory except for what is not read from files: the network devices and how
/// interrupts are counted.
fn from_files(look: &Look) -> Inventory {
    look.note_missing_sources();
    Inventory {
        format: INVENTORY_FORMAT,
        facts: facts::collect_from(look.tree(), look.full()),
        cpu: cpu::collect(look),
        memory: memory::collect(look),
        disks: disks::collect(look),
        pci: buses::pci(look),
        usb: buses::usb(look),
        links: Vec::new(),
        network: network::collect(look),
        kernel: kernel::collect(look),
        control_group: control_group(look.tree()),
        limits: limits::collect(look),
        permissions: permissions::collect(look),
        hidden: look.hidden(),
    }
}

fn control_group(tree: &Tree) -> ControlGroup {
    let group = |controller| Group::below(tree.path(""), controller);
    let version = group(Controller::Cpu).map(|group| match group.version() {
        Hierarchy::One => 1,
        Hierarchy::Two => 2,
    });
    ControlGroup {
        version,
        cpus: group(Controller::Cpuset).and_then(|group| group.cpuset()),
        memory_bytes: group(Controller::Memory).and_then(|group| group.memory_limit_bytes()),
    }
}

#[cfg(test)]
mod tests;
