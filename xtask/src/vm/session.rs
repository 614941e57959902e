//! Boots one after the other with one disk: what `vm run`, `vm reboot` and `vm kill` come to.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::guest::Guest;
use super::initramfs::{Base, Errand};
use super::kernel::Kernel;
use super::machine::{Cut, Ending, Machine, Sinks};
use super::store::{Changing, Store};
use super::{disk, order::Order, programs};
use crate::{release, target, tests_run};

/// How often the parts of a guest are made ready: once, unless others take them away meanwhile.
const MOST_PREPARATIONS: u32 = 3;
/// How many folders that were left by others are passed over.
const MOST_LEFT: u32 = 1000;

/// A guest that can be booted again and again.
pub(crate) struct Session {
    folder: Folder,
    parts: Parts,
    disk: PathBuf,
    boots: u32,
}

impl Session {
    /// With the kernel and the busybox that are in the store, or else the newest; with that disk, or
    /// with one that is gone afterwards.
    pub(crate) fn open(guest: &Guest, program: &Path, disk: Option<&Path>) -> anyhow::Result<Self> {
        programs::check()?;
        let parts = Parts::obtain(guest, program)?;
        let folder = Folder::make()?;
        let own_disk = folder.0.join("disk");
        let disk = disk.map_or(own_disk, Path::to_owned);
        if !disk.exists() {
            disk::make(&disk)?;
        }
        Ok(Self {
            folder,
            parts,
            disk,
            boots: 0,
        })
    }

    /// The kernel's release, as `uname -r` has it.
    pub(crate) fn release(&self) -> &str {
        &self.parts.kernel.release
    }

    /// One boot. The files out are where [`Session::file_out`] says until the next.
    pub(crate) fn boot(
        &mut self,
        errand: &Errand,
        cut: &Cut,
        limit: Duration,
        sinks: &mut Sinks<'_>,
    ) -> anyhow::Result<Ending> {
        self.boots += 1;
        let file_system = self.folder.0.join("file-system");
        let Parts { base, kernel, .. } = &self.parts;
        fs::write(&file_system, base.archive(kernel, errand)?)?;
        let ports = self.ports();
        let machine = Machine {
            kernel: &kernel.image(),
            file_system: &file_system,
            disk: &self.disk,
            ports: &ports,
            files_out: errand.files_out.len(),
            kernel_options: &errand.kernel_options,
        };
        let ending = machine.boot(cut, limit, sinks);
        ending.with_context(|| format!("the guest with Linux {}", self.release()))
    }

    /// The file that the last boot's `number`th file out is in, from 0.
    pub(crate) fn file_out(&self, number: usize) -> PathBuf {
        super::machine::file_out(&self.ports(), number)
    }

    /// A boot of an order, with its output on ours.
    fn carry_out(
        &mut self,
        order: &Order,
        script: &str,
        files_out: &[String],
        kernel_options: &str,
        cut: &Cut,
    ) -> anyhow::Result<Ending> {
        let errand = Errand {
            script: script.to_owned(),
            files_in: order.files_in.clone(),
            files_out: files_out.to_vec(),
            kernel_options: kernel_options.to_owned(),
        };
        let mut sinks = Sinks {
            output: &mut std::io::stdout(),
            errors: &mut std::io::stderr(),
        };
        let ending = self.boot(&errand, cut, order.limit, &mut sinks)?;
        let end = if ending.exit.is_some() {
            ""
        } else {
            "; its power was cut"
        };
        eprintln!(
            "Linux {} was ready after {:.1} s{end}",
            self.release(),
            ending.boot_seconds
        );
        Ok(ending)
    }

    /// Copies the files out to where they were wanted. That one is not there is an error only of
    /// a command that did well.
    fn hand_out(&self, order: &Order, ending: &Ending) -> anyhow::Result<()> {
        for (number, (there, here)) in order.files_out.iter().enumerate() {
            if !ending.missing.contains(there) {
                let shown = || here.display().to_string();
                fs::copy(self.file_out(number), here).with_context(shown)?;
            }
        }
        let missing = ending.missing.join(", ");
        match (missing.as_str(), ending.exit) {
            ("", _) => {}
            (_, Some(0)) => bail!("the command did well and left no {missing}"),
            _ => eprintln!("the command left no {missing}"),
        }
        Ok(())
    }

    fn ports(&self) -> PathBuf {
        self.folder.0.join(format!("boot-{}", self.boots))
    }
}

/// What a guest is made of, and the store that it is in.
struct Parts {
    base: Base,
    kernel: Kernel,
    /// While it is open, nobody takes kernel and modules away.
    _store: Store,
}

impl Parts {
    fn obtain(guest: &Guest, program: &Path) -> anyhow::Result<Self> {
        for _ in 0..MOST_PREPARATIONS {
            let store = Store::open()?;
            let kernel = Kernel::ready(&store, guest)?;
            if let (Some(kernel), Some(base)) = (kernel, Base::ready(&store, program)) {
                return Ok(Self {
                    base,
                    kernel,
                    _store: store,
                });
            }
            drop(store);
            let store = Changing::open()?;
            Kernel::obtain(&store, guest)?;
            Base::obtain(&store)?;
        }
        bail!("another program takes the guest's kernel or modules away each time they are ready")
    }
}

/// Carries an order out; the exit code is that of the guest's last command.
pub(super) fn carry_out(order: &Order) -> anyhow::Result<u8> {
    // What is missing is told before the minutes of a build.
    programs::check()?;
    let mut session = Session::open(order.guest, &program()?, order.disk.as_deref())?;
    if let Some((script, cut)) = &order.first {
        let ending = session.carry_out(order, script, &[], "", cut)?;
        match (cut, ending.exit) {
            (Cut::Never, Some(0)) | (_, None) => {}
            (Cut::Never, Some(code)) => return Ok(code),
            (_, Some(code)) => bail!("the command ended with {code} before the power was cut"),
        }
    }
    let wanted: Vec<String> = order
        .files_out
        .iter()
        .map(|(there, _)| there.clone())
        .collect();
    let ending = session.carry_out(
        order,
        &order.script,
        &wanted,
        &order.kernel_options,
        &Cut::Never,
    )?;
    session.hand_out(order, &ending)?;
    ending.exit.context("the guest has no exit code")
}

/// The program as a release has it, but built as fast as the tests' own.
pub(super) fn program() -> anyhow::Result<PathBuf> {
    let _claim = target::claim()?;
    release::static_program(tests_run::PROFILE)
}

/// A folder for one session, which goes with it.
struct Folder(PathBuf);

impl Folder {
    /// A new one: what another session left under that name has an old disk in it.
    fn make() -> anyhow::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let above = std::env::temp_dir();
        for _ in 0..MOST_LEFT {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let folder = above.join(format!("linerate-vm-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| folder.display().to_string()),
            }
        }
        bail!("take away what is left of guests in {}", above.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_another_session_left_is_passed_over() {
        let first = Folder::make().unwrap();
        let (before, number) = first.0.to_str().unwrap().rsplit_once('-').unwrap();
        let next = number.parse::<u32>().unwrap() + 1;
        let left = Folder(PathBuf::from(format!("{before}-{next}")));
        fs::create_dir(&left.0).unwrap();
        let second = Folder::make().unwrap();
        assert_ne!(second.0, left.0);
        assert_eq!(fs::read_dir(&second.0).unwrap().count(), 0);
    }
}
