//! The Debian package unpacks, and the program in it works for an ordinary user in an empty
//! folder, with nothing of this machine but its kernel.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::{Lab, Proof};
use crate::release::{self, output};

/// Debian's `nobody`.
const ORDINARY_USER: &str = "65534";

pub(crate) fn the_package_works_for_an_ordinary_user(lab: &Lab) -> anyhow::Result<Proof> {
    let release = release::make()?;
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--quiet", "SHA256SUMS"]);
    output(check.current_dir(&release.folder))?;
    let fields = ["Package", "Version", "Architecture", "Depends"];
    let mut field = Command::new("dpkg-deb");
    field.arg("--field").arg(&release.package).args(fields);
    let fields = String::from_utf8(output(&mut field)?)?;
    ensure!(
        !fields.contains("Depends"),
        "a static program needs nothing: {fields}"
    );
    let root = lab.folder().join("unpacked");
    let mut unpack = Command::new("dpkg-deb");
    output(unpack.arg("--extract").arg(&release.package).arg(&root))?;
    let seen = tried(&root, &lab.folder().join("empty"))?;
    Ok(Proof {
        claim: "the package unpacks and its program works for an ordinary user".to_owned(),
        seen: format!("{}; {seen}", fields.replace('\n', " ").trim_end()),
        held: true,
    })
}

/// Runs the program as a stranger would; an error says which step failed.
fn tried(root: &Path, empty: &Path) -> anyhow::Result<String> {
    let program = root.join("usr/bin/linerate");
    std::fs::create_dir(empty)?;
    for folder in [root.parent().context("the lab")?, root, empty] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777))?;
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", ORDINARY_USER, "--regid", ORDINARY_USER])
            .args(["--clear-groups", "--reset-env"])
            .arg(&program)
            .args(arguments)
            .current_dir(empty);
        output(&mut command).with_context(|| arguments.join(" "))
    };
    let version = String::from_utf8(run(&["--version"])?)?;
    run(&["doctor"])?;
    run(&[
        "study",
        "run",
        "http-json",
        "--smoke",
        "--yes",
        "--out",
        "run",
    ])?;
    let page = std::fs::read_to_string(empty.join("run/report.html"))?;
    ensure!(page.ends_with("</html>"), "the report is not whole");
    Ok(format!("{}, doctor and http-json ran", version.trim_end()))
}
