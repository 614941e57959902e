//! Looks at a server's own traffic before anything is changed, to see what can be measured under
//! it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use machine::instruments::carried::{CarriedWatch, Known};
use machine::targets;
use model::reading::CarriedReading;

/// Length of one look at the traffic, ms: as long as a block is scored.
pub(super) const LOOK_MS: u32 = 1000;

/// Most looks while new connections are waited for.
const MOST_LOOKS: u32 = 10;
/// Looks after which the waiting ends if there was no new connection at all.
const LOOKS_FOR_ONE: u32 = 3;

/// Checks that levers can be tried under the traffic of a server: its CPU time is visible, and
/// there is enough traffic that can be counted.
pub(super) fn look(address: SocketAddr, url: &str) -> anyhow::Result<()> {
    let pids = targets::listening_on(address).with_context(|| {
        format!(
            "the CPU time of the server at {url} cannot be read, and under traffic that is not ours it is all that can \
             be compared; run this as root or as the server's user, or leave --their-load out"
        )
    })?;
    let carried = carried(&targets::addresses_of_all(&pids), None);
    let carried = carried.context("reading what the server's connections carry")?;
    let rest = "Nothing was changed. Leave out --their-load to have load offered";
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
         this network namespace, which the kernel reports too late, and {} segments with payload went over those \
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

/// Traffic on the connections of a server during one look.
fn carried(listens: &[SocketAddr], known: Option<&Known>) -> std::io::Result<CarriedReading> {
    let mut watch = CarriedWatch::open(listens.to_vec())?;
    sys::clock::wait_until(Duration::from_millis(LOOK_MS.into()), || {
        watch.hear();
        false
    });
    watch.close(known)
}

/// How long it takes until connections that are opened from now on carry nearly all of a server's
/// traffic, ms. The error says why no lever can be tried that only new connections take on.
pub(super) fn takeover_ms(address: SocketAddr) -> Result<u32, String> {
    let pids = targets::listening_on(address).map_err(|error| error.to_string())?;
    let listens = targets::addresses_of_all(&pids);
    let looked = |error: std::io::Error| error.to_string();
    let known = Known::now(&listens).map_err(looked)?;
    for looks in 1.. {
        let carried = carried(&listens, Some(&known)).map_err(looked)?;
        if carried.is_of_new() {
            return Ok((looks - 1) * LOOK_MS);
        }
        let older = carried.older.unwrap_or_default();
        let is_alone = older.connections == older.of && looks >= LOOKS_FOR_ONE;
        if is_alone || looks == MOST_LOOKS {
            return Err(format!(
                "after {looks} s {} of {} connections were still those from before, and carried {:.0} % of \
                 the bytes",
                older.connections,
                older.of,
                carried.older_share() * 100.0
            ));
        }
    }
    unreachable!("it ends with its last look")
}
