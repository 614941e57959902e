//! The first file system of a guest: busybox, the kernel's modules, our program, some tools of
//! this machine, and the errand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::guest::Kernel;
use crate::commands::output;

const INIT: &str = include_str!("init.sh");
const LAY_OUT: &str = include_str!("initramfs.sh");

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

/// What every boot of a session starts with.
pub(super) struct Parts {
    /// The folder of its package.
    pub(super) busybox: PathBuf,
    /// Stands in the guest as `linerate`.
    pub(super) program: PathBuf,
    pub(super) kernel: Kernel,
}

impl Parts {
    /// Packs the file system for an errand into a file of that folder.
    pub(super) fn pack(&self, errand: &Errand, folder: &Path) -> anyhow::Result<PathBuf> {
        let (packed, root) = (folder.join("file-system"), folder.join("root"));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("errand"))?;
        fs::write(root.join("init"), INIT)?;
        fs::write(root.join("errand/command"), &errand.script)?;
        fs::write(root.join("errand/drivers"), self.kernel.drivers)?;
        fs::write(root.join("errand/files"), errand.files_out.join("\n"))?;
        let mut lay_out = Command::new("sh");
        lay_out.args(["-c", LAY_OUT, "sh"]).arg(&packed);
        lay_out.arg(self.busybox.join("bin/busybox"));
        lay_out.arg(&self.program).arg(&self.kernel.folder);
        let Kernel {
            drivers, loadable, ..
        } = self.kernel;
        lay_out.arg(format!("{drivers} {loadable}").trim());
        for (here, there) in &errand.files_in {
            lay_out.arg(std::path::absolute(here)?).arg(there);
        }
        output(lay_out.current_dir(&root))?;
        fs::remove_dir_all(root)?;
        Ok(packed)
    }
}
