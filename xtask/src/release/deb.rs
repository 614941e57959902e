//! The Debian package, put together by `dpkg-deb` from the files of the release.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::{DEBIAN_ARCHITECTURE, output, version};

const DESCRIPTION: &str = "\
how fast a Linux machine can serve, and what holds it back
 Linerate measures small HTTP servers in interleaved pairs, with an interval and
 a verdict for each step of tuning, and refuses when the machine cannot see the
 effect. It is one static program: server, load generator, studies and reports.";

/// Builds the package beside the files in `dist` and returns its path.
pub(super) fn build(dist: &Path) -> anyhow::Result<PathBuf> {
    let root = dist.join("package");
    lay_out(dist, &root)?;
    let control = root.join("DEBIAN");
    fs::create_dir(&control)?;
    fs::write(control.join("control"), control_file(&root)?)?;
    fs::write(control.join("md5sums"), checksums(&root)?)?;
    let package = dist.join(format!("linerate_{}_{DEBIAN_ARCHITECTURE}.deb", version()));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]);
    output(build.arg(&root).arg(&package))?;
    fs::remove_dir_all(root)?;
    Ok(package)
}

/// Puts each file where Debian's policy has it.
fn lay_out(dist: &Path, root: &Path) -> anyhow::Result<()> {
    let share = root.join("usr/share");
    let document = share.join("doc/linerate");
    place(
        &dist.join("linerate"),
        &root.join("usr/bin/linerate"),
        0o755,
    )?;
    for page in fs::read_dir(dist.join("man"))? {
        let page = page?;
        place_packed(&page.path(), &share.join("man/man1").join(page.file_name()))?;
    }
    let completions = dist.join("completions");
    for (shell, path) in [
        ("bash", "bash-completion/completions/linerate"),
        ("zsh", "zsh/vendor-completions/_linerate"),
        ("fish", "fish/vendor_completions.d/linerate.fish"),
    ] {
        place(&completions.join(shell), &share.join(path), 0o644)?;
    }
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY"] {
        place(&dist.join(name), &document.join(name), 0o644)?;
    }
    place_packed(&dist.join("CHANGELOG.md"), &document.join("changelog"))?;
    place(
        &dist.join("LICENSE-MIT"),
        &document.join("copyright"),
        0o644,
    )
}

fn place(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    let folder = to.parent().context("a file stands in a folder")?;
    fs::create_dir_all(folder)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Manual pages and changelogs are packed, as small as can be and without a time.
fn place_packed(from: &Path, to: &Path) -> anyhow::Result<()> {
    place(from, to, 0o644)?;
    output(Command::new("gzip").args(["-9", "--no-name"]).arg(to))?;
    Ok(())
}

fn control_file(root: &Path) -> anyhow::Result<String> {
    let size = output(
        Command::new("du")
            .args(["-sk", "--apparent-size"])
            .arg(root),
    )?;
    let size = String::from_utf8(size)?;
    let kibibytes = size.split_whitespace().next().context("du says no size")?;
    Ok(format!(
        "Package: linerate\nVersion: {}\nArchitecture: {DEBIAN_ARCHITECTURE}\n\
         Maintainer: The Linerate authors <linerate@localhost>\nInstalled-Size: {kibibytes}\n\
         Section: net\nPriority: optional\nDescription: {DESCRIPTION}\n",
        version()
    ))
}

fn checksums(root: &Path) -> anyhow::Result<Vec<u8>> {
    let mut sums = Command::new("sh");
    sums.args([
        "-c",
        "find usr -type f | LC_ALL=C sort | xargs -d '\\n' md5sum",
    ]);
    output(sums.current_dir(root))
}
