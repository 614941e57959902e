//! Checks what must hold in every guest: in one boot of each, linerate and Debian's own tools look
//! at the same machine. Scripts in the guest check most of the claims.

mod claims;
mod wire;

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure};

use super::guest::{Cards, GUESTS, Guest};
use super::initramfs::Errand;
use super::machine::{Cut, Sinks};
use super::session::Session;
use crate::stage::{Counts, Stages};
use crate::{packages, target};

/// Script for every guest.
const AT_REST: &str = include_str!("rest.sh");
/// Further script for a guest with network cards on a wire and modules.
const LOOK: &str = concat!(
    include_str!("look.sh"),
    include_str!("ktls.sh"),
    include_str!("fq.sh"),
    include_str!("shares.sh"),
    include_str!("levers.sh"),
    include_str!("wireguard.sh"),
    include_str!("audit.sh")
);
/// Further script for a guest whose cards have several queues.
const LOCALITY: &str = include_str!("locality.sh");
/// Text before a claim that holds, and before one that does not.
const HELD: &str = "held   ";
const FAILED: &str = "FAILED ";
/// Captures of the wire, which are checked outside the guest.
const FILES: [&str; 2] = ["wire.on", "wire.tls1.2"];
/// Time limit of a boot. The script takes two minutes beside the other guests; on a slow and busy
/// machine it has taken 15.
const LIMIT: Duration = Duration::from_secs(1800);

/// Checks the claims in each guest. Unless `is_strict`, a guest in which one fails is checked once
/// more, alone. The target directory must be claimed.
pub(crate) fn run(stages: &mut Stages, counts: &mut Counts, is_strict: bool) -> anyhow::Result<()> {
    println!("== vm guests");
    let begun = sys::clock::now();
    let linerate = &target::program(target::PROFILE)?;
    // All guests run at once: each uses one processor of this machine, and most machines have
    // several. Each is checked whatever the others' results are.
    let seen = thread::scope(|scope| {
        let looks = GUESTS.each_ref();
        let looks = looks.map(|guest| scope.spawn(move || look(guest, linerate)));
        looks.map(|look| {
            look.join()
                .unwrap_or_else(|_| bail!("the look at it panicked"))
        })
    });
    let mut all_held = true;
    for (guest, seen) in GUESTS.iter().zip(seen) {
        let failures = failures(guest, &seen);
        let seen = if is_strict || failures.is_empty() {
            seen
        } else {
            for failure in &failures {
                println!("{failure}");
            }
            counts.unsteady.extend(failures);
            look(guest, linerate)
        };
        all_held &= hold(guest, seen, counts);
    }
    stages.note("vm guests", begun, all_held)
}

/// The failed claims in a guest, or the error that kept them from being checked.
fn failures(guest: &Guest, seen: &anyhow::Result<GuestFindings>) -> Vec<String> {
    match seen {
        Ok(seen) => {
            let mut claims = seen.claims(guest);
            claims.retain(|line| line.starts_with(FAILED));
            claims
        }
        Err(error) => vec![format!(
            "{FAILED}{} could not be looked at: {error:#}",
            guest.name
        )],
    }
}

/// Prints and counts the claims in a guest; true if all hold.
fn hold(guest: &Guest, seen: anyhow::Result<GuestFindings>, counts: &mut Counts) -> bool {
    let failures = failures(guest, &seen);
    if let Ok(seen) = &seen {
        println!("in Linux {}", seen.release);
    }
    let claims = seen.map_or_else(|_| failures.clone(), |seen| seen.claims(guest));
    for line in &claims {
        println!("{line}");
    }
    let failed = u32::try_from(failures.len()).unwrap_or(u32::MAX);
    counts.passed += u32::try_from(claims.len()).unwrap_or(u32::MAX) - failed;
    counts.failed += failed;
    failures.is_empty()
}

/// The findings in a guest.
struct GuestFindings {
    /// The release of the kernel's package.
    release: String,
    /// The claims of its scripts, each after [`HELD`] or [`FAILED`].
    held: Vec<String>,
    /// Captures by a packet socket while a file was sent over TLS 1.3, and over TLS 1.2
    /// (pcap-savefile(5)).
    wire_of_a_file: Vec<u8>,
    wire_of_tls12: Vec<u8>,
}

impl GuestFindings {
    /// All claims that were checked, in the guest and outside, each after [`HELD`] or [`FAILED`].
    fn claims(&self, guest: &Guest) -> Vec<String> {
        let outside: &[_] = match guest.cards {
            Cards::Wire => &claims::OUTSIDE,
            Cards::None | Cards::Queues => &[],
        };
        let outside = outside.iter().map(|(claim, check)| match check(self) {
            Ok(()) => format!("{HELD}{claim}"),
            Err(error) => format!("{FAILED}{claim}: {error:#}"),
        });
        self.held.iter().cloned().chain(outside).collect()
    }
}

/// Boots a guest once; its scripts check everything.
fn look(guest: &'static Guest, linerate: &Path) -> anyhow::Result<GuestFindings> {
    packages::check_for_guests()?;
    let mut session = Session::open(guest, linerate, None)?;
    let release = session.release().to_owned();
    let (looks, files, keeps_irq_time) = match guest.cards {
        Cards::Wire => (&[AT_REST, LOOK][..], &FILES[..], "off"),
        Cards::None => (&[AT_REST][..], &[][..], "on"),
        Cards::Queues => (&[AT_REST, LOCALITY][..], &[][..], "off"),
    };
    let looks = looks.concat();
    let script = format!("release={release}\nkeeps_irq_time={keeps_irq_time}\n{looks}");
    let here = |file: &str| target::workspace().join(file);
    let errand = Errand {
        files_in: vec![
            (
                target::auditctl(target::PROFILE),
                "usr/sbin/auditctl".to_owned(),
            ),
            (
                here("xtask/src/vm/proofs/rates.awk"),
                "root/rates.awk".to_owned(),
            ),
            (here("studies/vpn.toml"), "root/vpn.toml".to_owned()),
        ],
        files_out: files.iter().map(|file| (*file).to_owned()).collect(),
        script,
        ..Errand::default()
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut sinks = Sinks {
        output: &mut output,
        errors: &mut errors,
    };
    let ending = session.boot(&errand, &Cut::Never, LIMIT, &mut sinks)?;
    println!("Linux {release}, ready after {:.1} s", ending.boot_seconds);
    let words = String::from_utf8_lossy(&errors);
    let code = ending.exit;
    ensure!(code == Some(0), "its script ended with {code:?}: {words}");
    let output = String::from_utf8(output)?;
    let is_claim = |line: &&str| line.starts_with(HELD) || line.starts_with(FAILED);
    let held: Vec<String> = output.lines().filter(is_claim).map(str::to_owned).collect();
    let claims = errand.script.matches("\nclaim ").count();
    ensure!(
        held.len() == claims,
        "{} of {claims} claims were looked at",
        held.len()
    );
    let file = |number| {
        let is_wanted = number < files.len();
        let content = is_wanted.then(|| std::fs::read(session.file_out(number)));
        anyhow::Ok(content.transpose()?.unwrap_or_default())
    };
    Ok(GuestFindings {
        held,
        wire_of_a_file: file(0)?,
        wire_of_tls12: file(1)?,
        release,
    })
}
