//! What must hold in every guest: one boot of each, in which linerate and Debian's own tools look at
//! the same machine.

mod claims;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use serde_json::Value;

use super::guest::{GUESTS, Guest, Origin};
use super::initramfs::Errand;
use super::machine::{Cut, Sinks};
use super::programs;
use super::session::Session;
use crate::stage::{Counts, Stages};
use crate::{release, tests_run};

/// What the script of every guest is.
const AT_REST: &str = include_str!("rest.sh");
/// What it is in one with network cards and modules.
const LOOK: &str = concat!(
    include_str!("rest.sh"),
    include_str!("look.sh"),
    include_str!("ktls.sh"),
    include_str!("fq.sh"),
    include_str!("shares.sh"),
    include_str!("levers.sh"),
    include_str!("audit.sh")
);
/// What the script leaves, in the folder that it starts in: at rest, and besides where there is more to see.
const FILES_AT_REST: [&str; 3] = ["truth", "at-rest.json", "loopback.json"];
const FILES: [&str; 13] = [
    "wire.on",
    "wire.tls1.2",
    "sent.before",
    "sent.paced",
    "sent.after",
    "rig.json",
    "tuned.json",
    "doctor.json",
    "wire.json",
    "delayed.json",
    "link.json",
    "link-prompt.json",
    "link-delayed.json",
];
/// The script takes two minutes beside the other guest's; a machine that is busy with others gives less.
const LIMIT: Duration = Duration::from_secs(900);

/// Builds the program as a release has it, and holds the claims in each guest. The target directory
/// must be claimed.
pub(crate) fn run(stages: &mut Stages, counts: &mut Counts) -> anyhow::Result<()> {
    println!("== vm build");
    let begun = sys::clock::now();
    let programs = Programs {
        linerate: release::static_program(tests_run::PROFILE)?,
        auditctl: release::static_tool(tests_run::PROFILE, "auditctl")?,
    };
    stages.note("vm build", begun, true)?;
    println!("== vm guests");
    let begun = sys::clock::now();
    let seen = look_at_all(&programs);
    // Each is held to account, whatever came of the others.
    let held: Vec<bool> = GUESTS
        .iter()
        .zip(seen)
        .map(|(guest, seen)| hold(guest, seen, counts))
        .collect();
    stages.note("vm guests", begun, !held.contains(&false))
}

/// What is built for the guests.
struct Programs {
    linerate: PathBuf,
    auditctl: PathBuf,
}

/// All guests at once: each has one processor, and more than one machine has.
fn look_at_all(programs: &Programs) -> Vec<anyhow::Result<Seen>> {
    thread::scope(|scope| {
        let looks = GUESTS.each_ref();
        let looks = looks.map(|guest| scope.spawn(move || look(guest, programs)));
        let ended = looks.map(|look| {
            look.join()
                .unwrap_or_else(|_| Err(anyhow!("the look at it panicked")))
        });
        ended.into()
    })
}

/// Whether all that must hold does.
fn hold(guest: &Guest, seen: anyhow::Result<Seen>, counts: &mut Counts) -> bool {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => {
            println!("FAILED {} could not be looked at: {error:#}", guest.name);
            return false;
        }
    };
    println!("in Linux {}", seen.release);
    let mut held = true;
    for (claim, check) in claims::of(&guest.origin) {
        match check(&seen) {
            Ok(()) => {
                counts.passed += 1;
                println!("held   {claim}");
            }
            Err(error) => {
                counts.failed += 1;
                held = false;
                println!("FAILED {claim}\n       {error:#}");
            }
        }
    }
    held
}

/// What was found in a guest.
struct Seen {
    origin: &'static Origin,
    /// The release that the kernel's package is of.
    release: String,
    files: BTreeMap<&'static str, String>,
}

impl Seen {
    /// What the guest's own files and tools say.
    fn truth(&self, name: &str) -> anyhow::Result<&str> {
        let lines = self.files.get("truth").map_or("", String::as_str).lines();
        let mut pairs = lines.filter_map(|line| line.split_once(' '));
        let found = pairs.find(|(found, _)| *found == name);
        Ok(found.with_context(|| format!("no {name} in truth"))?.1)
    }

    /// What linerate says, at a place such as `/facts/cpus_online` of a file.
    fn told(&self, file: &str, place: &str) -> anyhow::Result<Value> {
        let text = self.files.get(file).with_context(|| file.to_owned())?;
        let page: Value = serde_json::from_str(text).with_context(|| file.to_owned())?;
        let told = page.pointer(place).cloned();
        told.with_context(|| format!("no {place} in {file}"))
    }
}

/// One boot, in which the script looks at everything.
fn look(guest: &'static Guest, programs: &Programs) -> anyhow::Result<Seen> {
    programs::check()?;
    let (script, files) = match guest.origin {
        Origin::Package => (LOOK, [&FILES_AT_REST[..], &FILES].concat()),
        Origin::Source => (AT_REST, FILES_AT_REST.to_vec()),
    };
    let mut session = Session::open(guest, &programs.linerate, None)?;
    let errand = Errand {
        script: script.to_owned(),
        files_in: vec![(programs.auditctl.clone(), "usr/sbin/auditctl".to_owned())],
        files_out: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Errand::default()
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut sinks = Sinks {
        output: &mut output,
        errors: &mut errors,
    };
    let ending = session.boot(&errand, &Cut::Never, LIMIT, &mut sinks)?;
    let (release, seconds) = (session.release().to_owned(), ending.boot_seconds);
    println!("Linux {release}, ready after {seconds:.1} s");
    let words = String::from_utf8_lossy(&errors);
    ensure!(
        ending.exit == Some(0),
        "look.sh ended with {:?}: {words}",
        ending.exit
    );
    let texts = files.iter().enumerate().map(|(number, name)| {
        let text = std::fs::read_to_string(session.file_out(number));
        Ok((*name, text.with_context(|| (*name).to_owned())?))
    });
    let files = texts.collect::<anyhow::Result<_>>()?;
    Ok(Seen {
        origin: &guest.origin,
        release,
        files,
    })
}
