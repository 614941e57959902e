//! The first file system of a guest: busybox, the kernel's modules, our program, some tools of
//! this machine, and the errand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::apt::World;
use super::cpio::Archive;
use super::guest;
use super::kernel::Kernel;
use super::store::{Changing, Store, Wanted};
use super::tools;

const INIT: &str = include_str!("init.sh");
/// Empty folders: for mounts, for files, for the state that outlives a boot.
const FOLDERS: [&str; 9] = [
    "dev", "proc", "root", "run", "state", "sys", "tmp", "usr/bin", "var/lib",
];
/// Who there is; targets never run as root.
const USERS: &str = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n";

/// What a guest is to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errand {
    /// Lines for a shell.
    pub(crate) script: String,
    /// Files of this machine, and what they are in the guest.
    pub(crate) files_in: Vec<(PathBuf, String)>,
    /// Files of the guest.
    pub(crate) files_out: Vec<String>,
    /// What the command line of the kernel has besides the usual.
    pub(crate) kernel_options: String,
}

/// What every boot starts with; built once for all boots of one command.
pub(super) struct Base {
    busybox: PathBuf,
    program: PathBuf,
}

impl Base {
    /// With the busybox in the store, if there is one, and the program that stands there as
    /// `linerate`.
    pub(super) fn ready(store: &Store, program: &Path) -> Option<Self> {
        Some(Self {
            busybox: store.in_use(&BUSYBOX)?.join("bin/busybox"),
            program: program.to_owned(),
        })
    }

    /// Brings the newest busybox where there is none.
    pub(super) fn obtain(store: &Changing) -> anyhow::Result<()> {
        store.obtain(&BUSYBOX).map(drop)
    }

    /// The newest busybox.
    pub(super) fn fetch(store: &Changing) -> anyhow::Result<()> {
        store.fetch(&BUSYBOX).map(drop)
    }

    /// The file system for a kernel and an errand.
    pub(super) fn archive(&self, kernel: &Kernel, errand: &Errand) -> anyhow::Result<Vec<u8>> {
        let mut archive = Archive::default();
        for folder in FOLDERS {
            archive.folder(folder)?;
        }
        archive.file("init", 0o755, INIT.as_bytes())?;
        archive.file("etc/passwd", 0o644, USERS.as_bytes())?;
        copy(&mut archive, &self.busybox, "bin/busybox")?;
        // Where the kernel looks for it when it wants a module.
        archive.link("sbin/modprobe", "/bin/busybox")?;
        copy(&mut archive, &self.program, "usr/bin/linerate")?;
        tools::add(&mut archive)?;
        add_folder(&mut archive, &kernel.modules(), "")?;
        for (from, to) in &errand.files_in {
            copy(&mut archive, from, to)?;
        }
        let files_out = errand.files_out.join("\n");
        archive.file("errand/files", 0o644, files_out.as_bytes())?;
        archive.file("errand/drivers", 0o644, kernel.drivers.join(" ").as_bytes())?;
        archive.file("errand/command", 0o644, errand.script.as_bytes())?;
        archive.finish()
    }
}

const BUSYBOX: Wanted = Wanted {
    name: "busybox",
    suites: guest::usual().suites,
    choose: |world: &World| world.package("busybox-static"),
    finish: |_| Ok(()),
    is_current: |_| true,
};

/// A file of this machine; it may be executed where it may be here.
pub(super) fn copy(archive: &mut Archive, from: &Path, to: &str) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = || from.display().to_string();
    let content = fs::read(from).with_context(shown)?;
    let mode = from.metadata().with_context(shown)?.permissions().mode();
    archive.file(to, mode & 0o777, &content)
}

fn add_folder(archive: &mut Archive, folder: &Path, name: &str) -> anyhow::Result<()> {
    let shown = || folder.display().to_string();
    for entry in fs::read_dir(folder).with_context(shown)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add_folder(archive, &entry.path(), &name)?;
        } else {
            copy(archive, &entry.path(), &name)?;
        }
    }
    Ok(())
}
