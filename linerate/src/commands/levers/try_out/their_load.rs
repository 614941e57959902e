//! A look at the traffic that a server has, before anything is changed: what can be measured under it?

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use machine::instruments::carried::CarriedWatch;
use machine::targets;
use model::reading::CarriedReading;

/// How long it is looked at: as long as a block is scored.
pub(super) const LOOK_MS: u32 = 1000;

/// Sees whether levers can be tried under the traffic of a server: its CPU time is visible, and there is enough
/// traffic that can be counted.
pub(super) fn look(address: SocketAddr, url: &str) -> anyhow::Result<()> {
    let pids = targets::listening_on(address).with_context(|| {
        format!(
            "the CPU time of the server at {url} cannot be read, and under traffic that is not ours it is all that can \
             be compared; run this as root or as the server's user, or leave --their-load out"
        )
    })?;
    let watch = CarriedWatch::open(targets::addresses_of_all(&pids));
    let mut watch = watch.context("reading what the server's connections carry")?;
    sys::clock::wait_until(Duration::from_millis(LOOK_MS.into()), || {
        watch.hear();
        false
    });
    let carried = watch.close()?;
    let rest = "Nothing was changed. Leave --their-load out: load is offered then";
    let went = match carried.segments {
        0 => "no TCP connection carried anything".to_owned(),
        few => format!(
            "{few} segments with payload went, and a block needs {}",
            CarriedReading::FEWEST_SEGMENTS
        ),
    };
    ensure!(
        carried.is_seen(),
        "the traffic of the server at {url} cannot be counted: within a second {} connections came and went in \
         this network namespace, of which the kernel tells too late, and {} segments with payload over those \
         that stay. {rest}",
        carried.unseen,
        carried.segments
    );
    ensure!(
        carried.is_enough(),
        "there is too little traffic to measure under at {url}: within a second {went}. {rest}, or wait until \
         there is more"
    );
    Ok(())
}
