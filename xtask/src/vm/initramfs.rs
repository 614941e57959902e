//! Packs the initial file system of a guest: busybox, the kernel's modules, our program, some tools
//! of this machine, and the errand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::guest::Kernel;
use crate::commands::output;

const INIT: &str = include_str!("init.sh");
const LAY_OUT: &str = include_str!("initramfs.sh");

/// The work that a guest is to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errand {
    /// Shell script that the guest runs.
    pub(crate) script: String,
    /// Files of this machine that are copied into the guest, each with its path there.
    pub(crate) files_in: Vec<(PathBuf, String)>,
    /// Files of the guest that are copied out.
    pub(crate) files_out: Vec<String>,
    /// Further options for the kernel's command line.
    pub(crate) kernel_options: String,
}

/// The parts that all boots of a session share.
pub(super) struct Parts {
    /// The folder of busybox's package.
    pub(super) busybox: PathBuf,
    /// The program that is installed in the guest as `linerate`.
    pub(super) program: PathBuf,
    pub(super) kernel: Kernel,
}

impl Parts {
    /// Packs the file system for an errand into a file in `folder` and returns its path.
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
