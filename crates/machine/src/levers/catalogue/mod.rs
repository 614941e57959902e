//! The levers there are: a table for each subject.

mod drivers;
mod interrupts;
mod locality;
mod memory;
mod offloads;
mod power;
mod process;
mod queues;
mod routes;
mod scheduling;
mod serving;
mod serving_tls;
mod sockets;
mod tcp;
mod testing;
mod told;
mod told_devices;
mod told_host;

use super::Lever;
use super::tunable::Tunable;

/// The tables, of what can be set.
static TABLES: [&[Tunable]; 11] = [
    locality::ROWS,
    interrupts::ROWS,
    drivers::ROWS,
    queues::ROWS,
    offloads::ROWS,
    tcp::ROWS,
    routes::ROWS,
    sockets::ROWS,
    memory::ROWS,
    power::ROWS,
    scheduling::ROWS,
];

pub(super) fn all() -> impl Iterator<Item = &'static dyn Lever> {
    let told = [told::ROWS, told_devices::ROWS, told_host::ROWS];
    let told = told.into_iter().flatten().map(as_lever);
    let rows = TABLES.iter().flat_map(|table| table.iter());
    let of_programs = process::ROWS.iter().map(as_lever);
    let of_our_server = serving::ROWS.iter().chain(serving_tls::ROWS).map(as_lever);
    told.chain(rows.map(as_lever))
        .chain(of_programs)
        .chain(of_our_server)
        .chain(testing::ROWS.iter().map(as_lever))
}

fn as_lever<L: Lever>(row: &'static L) -> &'static dyn Lever {
    row
}
