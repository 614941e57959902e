//! `--files-by`: how files leave in the clear.

use anyhow::ensure;
use clap::ValueEnum;
use traffic::engine::FileWay;

/// How files leave in the clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilesBy {
    #[default]
    Sendfile,
    Copy,
}

impl FilesBy {
    /// As the flag takes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sendfile => "sendfile",
            Self::Copy => "copy",
        }
    }

    /// # Errors
    /// Why files cannot leave so.
    pub(crate) fn check(self, is_secured: bool) -> anyhow::Result<()> {
        ensure!(
            self == Self::Sendfile || !is_secured,
            "--files-by {}: over TLS files are read and encrypted, here or by the kernel \
             (--kernel-tls)",
            self.name()
        );
        Ok(())
    }
}

impl From<FilesBy> for FileWay {
    fn from(files_by: FilesBy) -> Self {
        match files_by {
            FilesBy::Sendfile => Self::Sendfile,
            FilesBy::Copy => Self::Copy,
        }
    }
}
