//! Debian's packages by apt, in a world of its own: sources, lists and cache are ours, nothing is
//! ever installed, and the machine's own apt is neither asked nor changed. How the network is
//! reached, a proxy for one, is as the machine has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::programs;

/// What names another mirror.
pub(super) const MIRROR_VARIABLE: &str = "LINERATE_DEBIAN_MIRROR";
const USUAL_MIRROR: &str = "http://deb.debian.org";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Sources with what is known of their packages.
pub(super) struct World {
    configuration: PathBuf,
    mirror: String,
}

/// A package in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) sha256: String,
    pub(super) depends: String,
}

impl World {
    /// A world of some suites in a folder, with lists of today.
    pub(super) fn open(folder: &Path, suites: &[(&str, &str)]) -> anyhow::Result<Self> {
        let set = std::env::var(MIRROR_VARIABLE).ok();
        let mirror = set.filter(|mirror| !mirror.is_empty());
        let mirror = mirror.unwrap_or_else(|| USUAL_MIRROR.to_owned());
        for part in ["lists/partial", "cache/archives/partial", "none"] {
            fs::create_dir_all(folder.join(part)).with_context(|| folder.display().to_string())?;
        }
        fs::write(folder.join("sources.list"), sources(&mirror, suites))?;
        fs::write(folder.join("status"), "")?;
        let configuration = folder.join("apt.conf");
        fs::write(&configuration, settings(folder))?;
        let world = Self {
            configuration,
            mirror,
        };
        world.ask(world.apt("apt-get")?.args(["update", "-qq"]))?;
        Ok(world)
    }

    /// The package of that name that apt would choose.
    pub(super) fn package(&self, name: &str) -> anyhow::Result<Package> {
        let mut show = self.apt("apt-cache")?;
        let text = self.ask(show.args(["show", "--no-all-versions", name]))?;
        let text = String::from_utf8(text)?;
        let field = |wanted: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(": "));
            let found = fields.find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.to_owned())
        };
        let needed = |wanted: &str| field(wanted).with_context(|| format!("{name}: no {wanted}"));
        Ok(Package {
            name: needed("Package")?,
            version: needed("Version")?,
            sha256: needed("SHA256")?,
            depends: field("Depends").unwrap_or_default(),
        })
    }

    /// Downloads a package, which apt holds against the signed lists, and unpacks it into a folder.
    pub(super) fn unpack(&self, package: &Package, into: &Path) -> anyhow::Result<()> {
        let archive = into.with_extension("deb");
        fs::create_dir_all(&archive)?;
        let wanted = format!("{}={}", package.name, package.version);
        let mut download = self.apt("apt-get")?;
        download.args(["download", "-qq", &wanted]);
        self.ask(download.current_dir(&archive))?;
        let file = fs::read_dir(&archive)?
            .next()
            .context("apt-get download left no file")??;
        let mut extract = programs::command("dpkg-deb")?;
        self.ask(extract.arg("--extract").arg(file.path()).arg(into))?;
        fs::remove_dir_all(archive)?;
        Ok(())
    }

    fn apt(&self, program: &str) -> anyhow::Result<Command> {
        let mut command = programs::command(program)?;
        // Its words are read here.
        command
            .env("LC_ALL", "C")
            .arg("-c")
            .arg(&self.configuration);
        Ok(command)
    }

    /// What a program prints; an error tells which mirror it was about, and the program's own words.
    fn ask(&self, command: &mut Command) -> anyhow::Result<Vec<u8>> {
        let program = command.get_program().display().to_string();
        let output = command.output().with_context(|| program.clone())?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let mut told = words.lines().filter(|line| line.starts_with(['E', 'W']));
        let Some(why) = told.next() else {
            bail!("{program} ended with {}: {words}", output.status);
        };
        bail!(
            "{why}\n  See that {} can be reached (apt's own proxy settings hold), or set \
             {MIRROR_VARIABLE} to another mirror.",
            self.mirror
        )
    }
}

fn sources(mirror: &str, suites: &[(&str, &str)]) -> String {
    let lines = suites.iter().map(|(folder, suite)| {
        format!("deb [arch=amd64 signed-by={KEYRING}] {mirror}/{folder} {suite} main\n")
    });
    lines.collect()
}

/// Read after the machine's settings, so that these win.
fn settings(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let paths = [
        ("Dir::State::lists", at("lists")),
        ("Dir::State::status", at("status")),
        ("Dir::Cache", at("cache")),
        ("Dir::Etc::sourcelist", at("sources.list")),
        ("Dir::Etc::sourceparts", at("none")),
        ("Dir::Etc::preferences", at("none/preferences")),
        ("Dir::Etc::preferencesparts", at("none")),
        // The lists belong to whoever runs this, and apt's own user may not see the folder.
        ("APT::Sandbox::User", String::new()),
        ("APT::Architecture", "amd64".to_owned()),
        ("Acquire::Languages", "none".to_owned()),
        // Without it an unreachable mirror is a warning.
        ("APT::Update::Error-Mode", "any".to_owned()),
        ("Acquire::http::Timeout", "30".to_owned()),
    ];
    let mut text = "#clear APT::Update;\n#clear DPkg;\n".to_owned();
    for (name, value) in paths {
        text += &format!("{name} \"{value}\";\n");
    }
    text
}
