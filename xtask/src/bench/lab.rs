//! What every comparison needs: the program under test, a folder for what servers read, and the
//! kernel threads that are watched.

use std::cell::OnceCell;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use model::random::SplitMix64;

use super::client::{FILE, FILE_BYTES};
use super::options::Options;

/// The peers, and how each is asked for its version.
const VERSIONS: [(&str, &str); 6] = [
    ("nginx", "-v"),
    ("wrk", "-v"),
    ("curl", "--version"),
    ("h2o", "--version"),
    ("caddy", "version"),
    ("go", "version"),
];

/// Where comparisons are made. Dropping it removes its folder.
pub(super) struct Lab {
    pub(super) linerate: PathBuf,
    pub(super) options: Options,
    folder: PathBuf,
    ksoftirqd: Vec<u32>,
    /// Made when it is first asked for, as it takes its time.
    long_file: OnceCell<()>,
}

impl Lab {
    pub(super) fn new(linerate: PathBuf, options: Options) -> anyhow::Result<Self> {
        // Servers of thousands of connections, and this process that holds them, inherit it.
        sys::process::raise_open_file_limit()?;
        let name = format!("linerate-bench-{}", std::process::id());
        let lab = Self {
            linerate,
            options,
            folder: std::env::temp_dir().join(name),
            ksoftirqd: ksoftirqd()?,
            long_file: OnceCell::new(),
        };
        fs::create_dir_all(lab.root())?;
        Ok(lab)
    }

    /// The folder whose files are served.
    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// A place for a file that recipes name.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A folder of a server's own, by a name that a port or the like makes unique.
    pub(super) fn new_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.path(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Puts in what recipes call by name.
    pub(super) fn fill(&self, text: &str) -> String {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        text.replace("{linerate}", &shown(&self.linerate))
            .replace("{root}", &shown(&self.root()))
            .replace("{certificate}", &shown(&self.path(CERTIFICATE)))
            .replace("{key}", &shown(&self.path(KEY)))
            .replace("{answer}", &shown(&self.path(ANSWER)))
    }

    /// Has the long file in the page cache.
    pub(super) fn make_long_file(&self) -> anyhow::Result<()> {
        if self.long_file.get().is_none() {
            write_long_file(&self.root().join(FILE)).context("writing the long file")?;
            let _ = self.long_file.set(());
        }
        Ok(())
    }

    /// Makes the certificate that every server of TLS has.
    pub(super) fn make_certificate(&self) -> anyhow::Result<()> {
        let output = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=localhost", "-addext"])
            .args(["subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", KEY])
            .args(["-out", CERTIFICATE])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .context("openssl")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "openssl failed: {said}");
        Ok(())
    }

    /// CPU time so far of the kernel's threads that finish network work.
    pub(super) fn ksoftirqd_ns(&self) -> u64 {
        let each = self.ksoftirqd.iter();
        each.filter_map(|pid| sys::clock::process_cpu_ns(*pid).ok())
            .sum()
    }

    /// What takes part, a line each.
    pub(super) fn versions(&self) -> String {
        let ours = first_line(&self.linerate, "--version");
        let peers = VERSIONS.iter().map(|(program, argument)| {
            match first_line(Path::new(program), argument) {
                Some(line) if line.contains(program) => line,
                Some(line) => format!("{program} {line}"),
                None => format!("{program} is not here"),
            }
        });
        let kernel = sys::kernel_file::text("/proc/sys/kernel/osrelease");
        let kernel = format!("Linux {}", kernel.unwrap_or_default());
        ours.into_iter()
            .chain(peers)
            .chain([kernel])
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
/// The answer that a bare echo gives.
pub(super) const ANSWER: &str = "answer";

/// A random part again and again: no two bytes of it that are near one another are alike for a reason.
fn write_long_file(path: &Path) -> anyhow::Result<()> {
    const PART_BYTES: usize = 1 << 20;
    let mut random = SplitMix64::new(1);
    let words = std::iter::repeat_with(|| random.bits().to_le_bytes());
    let part: Vec<u8> = words.take(PART_BYTES / 8).flatten().collect();
    let mut file = File::create(path)?;
    for _ in 0..FILE_BYTES / PART_BYTES as u64 {
        file.write_all(&part)?;
    }
    // What is written to the disk meanwhile would be work beside the first laps.
    Ok(file.sync_all()?)
}

fn ksoftirqd() -> anyhow::Result<Vec<u32>> {
    let is_one = |pid: &u32| {
        let name = sys::kernel_file::text(format!("/proc/{pid}/comm"));
        name.is_some_and(|name| name.starts_with("ksoftirqd/"))
    };
    let names =
        fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = names.filter_map(|name| name.parse().ok());
    Ok(pids.filter(is_one).collect())
}

fn first_line(program: &Path, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).lines().next()?.to_owned())
}
