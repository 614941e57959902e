//! `--files-by`: how files leave in the clear, and what is told at the end of those without a copy.

use std::fmt;
use std::ops::AddAssign;

use anyhow::ensure;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sys::zero_copy::ZeroCopyTally;
use traffic::engine::FileWay;

/// How files leave in the clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilesBy {
    #[default]
    Sendfile,
    Copy,
    ZeroCopy,
}

impl FilesBy {
    /// As the flag takes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sendfile => "sendfile",
            Self::Copy => "copy",
            Self::ZeroCopy => "zero-copy",
        }
    }

    /// # Errors
    /// Why files cannot leave so.
    pub(crate) fn check(self, is_secured: bool, is_by_ring: bool) -> anyhow::Result<()> {
        let name = self.name();
        ensure!(
            self == Self::Sendfile || !is_secured,
            "--files-by {name}: over TLS files are read and encrypted, here or by the kernel \
             (--kernel-tls)"
        );
        ensure!(
            self != Self::ZeroCopy || !is_by_ring,
            "--files-by {name} takes --engine epoll: files leave by calls of their own there, of \
             which a ring is not told"
        );
        Ok(())
    }
}

impl From<FilesBy> for FileWay {
    fn from(files_by: FilesBy) -> Self {
        match files_by {
            FilesBy::Sendfile => Self::Sendfile,
            FilesBy::Copy => Self::Copy,
            FilesBy::ZeroCopy => Self::ZeroCopy,
        }
    }
}

/// What a server says to programs when it ends.
#[derive(Deserialize)]
struct EndRecord {
    zero_copy: Account,
}

/// What became of the sends of a server.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Account {
    /// Sends that the kernel took so; a file takes one for each quarter of a megabyte, or more where there
    /// was no room for all of it.
    sends: u64,
    /// Of these it told that it copied all the same, as over loopback and veth.
    copied: u64,
    /// Of these it told that it did not copy.
    uncopied: u64,
    /// Of these it had told nothing when their connections were closed.
    untold: u64,
    /// Sends beside those that it took with a copy at once, for want of memory to keep account of
    /// them (net.core.optmem_max, RLIMIT_MEMLOCK).
    declined: u64,
    /// Workers that ended without a word, as when they are killed; their sends are in none of the
    /// other numbers.
    #[serde(default)]
    silent_workers: u64,
}

impl Account {
    /// All workers together, each by its last words; one that was killed has none.
    pub(crate) fn of_workers(last_words: &[String]) -> Self {
        let silent = Self {
            silent_workers: 1,
            ..Self::default()
        };
        let mut sum = Self::default();
        for words in last_words {
            sum += serde_json::from_str(words).unwrap_or(silent);
        }
        sum
    }

    /// Of a server that has said this to programs when it ended; `None` where it sent nothing so.
    pub(crate) fn of_the_end(said: &str) -> Option<Self> {
        let end: EndRecord = serde_json::from_str(said).ok()?;
        Some(end.zero_copy)
    }
}

impl From<ZeroCopyTally> for Account {
    fn from(tally: ZeroCopyTally) -> Self {
        Self {
            sends: tally.sends,
            copied: tally.copied,
            uncopied: tally.uncopied,
            untold: tally.untold(),
            declined: tally.declined,
            silent_workers: 0,
        }
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        self.sends += other.sends;
        self.copied += other.copied;
        self.uncopied += other.uncopied;
        self.untold += other.untold;
        self.declined += other.declined;
        self.silent_workers += other.silent_workers;
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sends,
            copied,
            uncopied,
            untold,
            declined,
            silent_workers,
        } = self;
        if *sends == 0 && *declined == 0 && *silent_workers == 0 {
            return formatter.write_str("no file was sent so");
        }
        write!(
            formatter,
            "of {sends} sends the kernel copied {copied} all the same and {uncopied} not"
        )?;
        if *untold > 0 {
            write!(formatter, ", and {untold} it had not told of")?;
        }
        if *declined > 0 {
            write!(
                formatter,
                "; {declined} more were sent as usual, for want of memory to keep account of them \
                 (net.core.optmem_max, ulimit -l)"
            )?;
        }
        if *silent_workers > 0 {
            write!(
                formatter,
                "; {silent_workers} of the workers ended without a word, and theirs are not counted"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_said_last_is_added_up_and_silence_is_told() {
        let words = [
            r#"{"sends":5,"copied":2,"uncopied":1,"untold":2,"declined":4}"#,
            "",
            r#"{"sends":1,"copied":0,"uncopied":1,"untold":0,"declined":0}"#,
        ];
        let sum = Account::of_workers(&words.map(str::to_owned));
        assert_eq!(
            sum.to_string(),
            "of 6 sends the kernel copied 2 all the same and 2 not, and 2 it had not told \
             of; 4 more were sent as usual, for want of memory to keep account of them \
             (net.core.optmem_max, ulimit -l); 1 of the workers ended without a word, and theirs are \
             not counted"
        );
    }
}
