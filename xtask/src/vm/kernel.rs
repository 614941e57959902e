//! A kernel, ready to boot, with the modules that its guest gets.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::apt::{Package, World};
use super::boot_image;
use super::built;
use super::guest::{Guest, Origin};
use super::programs;
use super::store::{Changing, Store, Wanted};
use crate::release::output;

/// Modules of the guests' devices; `init.sh` loads them.
const DRIVERS: [&str; 5] = [
    "virtio_pci",
    "virtio_console",
    "virtio_blk",
    "ext4",
    "e1000e",
];
/// Modules that a guest can load, by hand or because the kernel asks for them.
const LOADABLE: [&str; 37] = [
    "tls",
    // Its ciphers, which the kernel asks for by aliases.
    "gcm",
    "ghash_generic",
    "ctr",
    "chacha20poly1305",
    "tcp_bbr",
    "tcp_diag",
    "udp_diag",
    "unix_diag",
    "af_packet_diag",
    "sch_fq",
    "sch_fq_codel",
    "sch_netem",
    "sch_htb",
    "sch_tbf",
    "sch_ingress",
    "sch_cake",
    "cls_u32",
    "cls_bpf",
    "cls_matchall",
    "act_mirred",
    "act_police",
    "ifb",
    "veth",
    "tun",
    "dummy",
    "bridge",
    "vxlan",
    "ipip",
    "ip_gre",
    "wireguard",
    "nf_tables",
    "nf_conntrack",
    "nft_ct",
    "nft_limit",
    "nft_numgen",
    "virtio_net",
];
/// What depmod wants beside the modules.
const LISTS: [&str; 3] = [
    "modules.builtin",
    "modules.builtin.modinfo",
    "modules.order",
];
pub(super) const VMLINUX: &str = "vmlinux";
/// Stands beside the modules of the guest, and says which were asked for.
const ASKED_FOR: &str = "modules.txt";

/// A kernel in the store.
pub(super) struct Kernel {
    folder: PathBuf,
    /// The modules that `init.sh` loads.
    pub(super) drivers: &'static [&'static str],
    /// Those that can be loaded besides.
    loadable: &'static [&'static str],
    /// As `uname -r` has it.
    pub(super) release: String,
}

impl Kernel {
    /// The kernel of a guest as it is in the store, if it is there and ready to boot.
    pub(super) fn ready(store: &Store, guest: &Guest) -> anyhow::Result<Option<Self>> {
        let folder = store.in_use(&wanted(guest));
        let kernel = folder.map(|folder| Self::in_folder(folder, guest));
        let kernel = kernel.transpose()?;
        Ok(kernel.filter(Self::has_its_modules))
    }

    /// Makes the kernel of a guest ready: the one in the store, or else the newest, which is
    /// downloaded.
    pub(super) fn obtain(store: &Changing, guest: &Guest) -> anyhow::Result<()> {
        Self::in_folder(store.obtain(&wanted(guest))?, guest)?.choose_modules()
    }

    /// The newest kernel of a guest.
    pub(super) fn fetch(store: &Changing, guest: &Guest) -> anyhow::Result<Self> {
        let kernel = Self::in_folder(store.fetch(&wanted(guest))?, guest)?;
        kernel.choose_modules()?;
        Ok(kernel)
    }

    fn in_folder(folder: PathBuf, guest: &Guest) -> anyhow::Result<Self> {
        let release = release_in(&folder)?;
        let (drivers, loadable): (&[&str], &[&str]) = match guest.origin {
            Origin::Package => (&DRIVERS, &LOADABLE),
            Origin::Source => (&[], &[]),
        };
        Ok(Self {
            folder,
            drivers,
            loadable,
            release,
        })
    }

    /// What qemu starts.
    pub(super) fn image(&self) -> PathBuf {
        self.folder.join(VMLINUX)
    }

    /// The folder that holds `lib/modules` for the guest.
    pub(super) fn modules(&self) -> PathBuf {
        self.folder.join("guest")
    }

    /// Whether the guest's modules are laid out, and the very same that are asked for.
    fn has_its_modules(&self) -> bool {
        let laid_out = fs::read_to_string(self.modules().join(ASKED_FOR));
        laid_out.is_ok_and(|laid_out| laid_out == self.asked_for().join(" "))
    }

    /// Lays out the guest's modules.
    fn choose_modules(&self) -> anyhow::Result<()> {
        if self.has_its_modules() {
            return Ok(());
        }
        let asked = self.asked_for();
        let _ = fs::remove_dir_all(self.modules());
        fs::create_dir_all(self.modules())?;
        if !asked.is_empty() {
            self.lay_out(&asked)?;
        }
        Ok(fs::write(self.modules().join(ASKED_FOR), asked.join(" "))?)
    }

    fn lay_out(&self, modules: &[&str]) -> anyhow::Result<()> {
        for file in self.with_dependencies(modules)? {
            self.place(&file)
                .with_context(|| file.display().to_string())?;
        }
        for list in LISTS {
            let path = Path::new("lib/modules").join(&self.release).join(list);
            fs::copy(self.folder.join(&path), self.modules().join(path))?;
        }
        list_dependencies(&self.modules(), &self.release)
    }

    fn asked_for(&self) -> Vec<&'static str> {
        [self.drivers, self.loadable].concat()
    }

    /// The files of some modules and of all that these need.
    fn with_dependencies(&self, modules: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
        let mut show = programs::command("modprobe")?;
        // Without what this machine says of modules.
        show.args(["--config", "/dev/null", "--dirname"])
            .arg(&self.folder);
        show.args(["--set-version", &self.release]);
        show.args(["--show-depends", "--all"]).args(modules);
        let lines = String::from_utf8(output(&mut show)?)?;
        // What is built in is told as `builtin NAME`.
        let files = lines
            .lines()
            .filter_map(|line| line.strip_prefix("insmod "));
        Ok(files.map(|file| PathBuf::from(file.trim())).collect())
    }

    /// Puts a module where the guest finds it. Newer kernels have theirs packed, which busybox
    /// does not load.
    fn place(&self, file: &Path) -> anyhow::Result<()> {
        let inner = file.strip_prefix(&self.folder)?;
        let is_packed = inner.extension().is_some_and(|end| end != "ko");
        let name = if is_packed {
            inner.with_extension("")
        } else {
            inner.to_owned()
        };
        let place = self.modules().join(name);
        let content = fs::read(file)?;
        let content = if is_packed {
            boot_image::unpack_by_magic(&content)?
        } else {
            content
        };
        fs::create_dir_all(place.parent().context("a module stands in a folder")?)?;
        Ok(fs::write(place, content)?)
    }
}

fn wanted(guest: &Guest) -> Wanted {
    let (name, suites) = (guest.name, guest.suites);
    match guest.origin {
        Origin::Package => Wanted {
            name,
            suites,
            choose: newest_kernel,
            finish: make_ready,
            is_current: |_| true,
        },
        Origin::Source => Wanted {
            name,
            suites,
            choose: built::source,
            finish: built::build,
            is_current: built::is_current,
        },
    }
}

/// What the package that has no files, and always stands for the newest kernel, depends on.
fn newest_kernel(world: &World) -> anyhow::Result<Package> {
    let newest = world.package("linux-image-amd64")?;
    let mut names = newest.depends.split([' ', ',']);
    let name = names.find(|name| name.starts_with("linux-image-"));
    world.package(name.context("linux-image-amd64 depends on no kernel")?)
}

/// Unpacks the kernel itself and lists what its modules need, which an installation would do.
fn make_ready(folder: &Path) -> anyhow::Result<()> {
    let release = release_in(folder)?;
    let image = folder.join(format!("boot/vmlinuz-{release}"));
    let shown = image.display().to_string();
    let packed = fs::read(&image).with_context(|| shown.clone())?;
    fs::write(
        folder.join(VMLINUX),
        boot_image::unpack(&packed).context(shown)?,
    )?;
    list_dependencies(folder, &release)
}

fn list_dependencies(folder: &Path, release: &str) -> anyhow::Result<()> {
    let mut depmod = programs::command("depmod")?;
    output(depmod.arg("--basedir").arg(folder).arg(release)).map(drop)
}

/// The release is the name of the one folder of modules.
fn release_in(folder: &Path) -> anyhow::Result<String> {
    let modules = folder.join("lib/modules");
    let shown = modules.display().to_string();
    let mut names = fs::read_dir(&modules).with_context(|| shown.clone())?;
    let name = names
        .next()
        .with_context(|| format!("{shown} is empty"))??;
    ensure!(names.next().is_none(), "{shown} has modules of two kernels");
    Ok(name.file_name().to_string_lossy().into_owned())
}
