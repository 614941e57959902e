//! Consecutive boots of a guest with one disk, and the command `vm run`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::guest::{BUSYBOX, Cards, Guest, Kernel};
use super::initramfs::{Errand, Parts};
use super::machine::{Cut, Ending, Machine, Sinks};
use super::order::GuestOrder;
use super::store::Store;
use crate::commands::{output, said};
use crate::{packages, target};

/// Size of a disk that is made here.
const DISK_BYTES: u64 = 64 << 20;

/// A guest that can be booted again and again.
pub(crate) struct Session {
    folder: SessionFolder,
    cards: Cards,
    parts: Parts,
    disk: PathBuf,
    boots: u32,
    /// While the store is open, no other program removes the guest's packages.
    _store: Store,
}

impl Session {
    /// Opens a session with the kernel and the busybox of the store, or else the newest; with the
    /// given disk, or with one that is removed afterwards.
    pub(crate) fn open(guest: &Guest, program: &Path, disk: Option<&Path>) -> anyhow::Result<Self> {
        packages::check_for_guests()?;
        let store = Store::open()?;
        let parts = Parts {
            busybox: store.obtain(&BUSYBOX)?,
            program: program.to_owned(),
            kernel: Kernel::of(guest, store.obtain(&guest.kernel)?)?,
        };
        let folder = SessionFolder::make()?;
        let own_disk = folder.0.join("disk");
        let disk = disk.map_or(own_disk, Path::to_owned);
        if !disk.exists() {
            make_disk(&disk)?;
        }
        Ok(Self {
            folder,
            cards: guest.cards,
            parts,
            disk,
            boots: 0,
            _store: store,
        })
    }

    /// The kernel's release, as `uname -r` prints it.
    pub(crate) fn release(&self) -> &str {
        &self.parts.kernel.release
    }

    /// Boots the guest once. The files out are at [`Session::file_out`] until the next boot.
    pub(crate) fn boot(
        &mut self,
        errand: &Errand,
        cut: &Cut,
        limit: Duration,
        sinks: &mut Sinks<'_>,
    ) -> anyhow::Result<Ending> {
        self.boots += 1;
        let ports = self.ports();
        let machine = Machine {
            cards: self.cards,
            kernel: &self.parts.kernel.image(),
            file_system: &self.parts.pack(errand, &self.folder.0)?,
            disk: &self.disk,
            ports: &ports,
            files_out: errand.files_out.len(),
            kernel_options: &errand.kernel_options,
        };
        let ending = machine.boot(cut, limit, sinks);
        ending.with_context(|| format!("the guest with Linux {}", self.release()))
    }

    /// The path of the file with the last boot's `number`th file out, from 0.
    pub(crate) fn file_out(&self, number: usize) -> PathBuf {
        super::machine::file_out(&self.ports(), number)
    }

    /// Copies the files out to where they are wanted. A missing file is an error only if the
    /// command succeeded.
    fn hand_out(&self, order: &GuestOrder, ending: &Ending) -> anyhow::Result<()> {
        let files = order.errand.files_out.iter().zip(&order.places);
        for (number, (there, here)) in files.enumerate() {
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

/// Carries an order out; its output goes to ours. Returns the exit code of the guest's command, or
/// 0 where the power was cut as ordered.
pub(super) fn carry_out(order: &GuestOrder) -> anyhow::Result<u8> {
    // Missing packages are reported before a build of minutes.
    packages::check_for_guests()?;
    let mut session = Session::open(order.guest, &program()?, order.disk.as_deref())?;
    let mut sinks = Sinks {
        output: &mut std::io::stdout(),
        errors: &mut std::io::stderr(),
    };
    let ending = session.boot(&order.errand, &order.cut, order.limit, &mut sinks)?;
    let end = match ending.exit {
        Some(_) => "",
        None => "; its power was cut",
    };
    let (release, seconds) = (session.release(), ending.boot_seconds);
    eprintln!("Linux {release} was ready after {seconds:.1} s{end}");
    if order.cut != Cut::Never && ending.exit.is_some() {
        bail!("the command ended before the power was cut");
    }
    session.hand_out(order, &ending)?;
    Ok(ending.exit.unwrap_or(0))
}

/// Builds the program, in the profile that is tested.
fn program() -> anyhow::Result<PathBuf> {
    let _claim = target::claim()?;
    target::program(target::PROFILE)
}

/// Makes an empty disk. Its tables are written in full now, so that the guest need not do it.
fn make_disk(path: &Path) -> anyhow::Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    file.set_len(DISK_BYTES)?;
    let mut format = packages::command("mkfs.ext4")?;
    format.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    output(format.arg(path)).map(drop)
}

/// A folder for one session. Dropping it removes the folder.
struct SessionFolder(PathBuf);

impl SessionFolder {
    fn make() -> anyhow::Result<Self> {
        let mut make = Command::new("mktemp");
        let name = said(make.args(["--directory", "--tmpdir", "linerate-vm-XXXXXXXXXX"]))?;
        Ok(Self(name.trim_end().into()))
    }
}

impl Drop for SessionFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
