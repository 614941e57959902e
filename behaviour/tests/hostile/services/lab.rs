//! A folder in which services are started, and commands of users who have no part in them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::processes::working_in;
use crate::common::{Folder, answer, linerate};

/// A user of the machine who is neither root nor `nobody` nor a service.
pub(super) const STRANGER: u32 = 4242;

pub(super) struct Lab(pub(super) Folder);

impl Lab {
    pub(super) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        for public in ["tmp", "runtime"] {
            let path = folder.path().join(public);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).unwrap();
        }
        Self(folder)
    }

    /// A laboratory with a service of one's own.
    pub(super) fn with_service(name: &str, service: &str, text: &str) -> Self {
        let lab = Self::new(name);
        lab.write_service(service, text);
        lab
    }

    pub(super) fn write_service(&self, service: &str, text: &str) {
        let services = self.0.path().join("services");
        fs::create_dir_all(&services).unwrap();
        fs::write(services.join(format!("{service}.toml")), text).unwrap();
    }

    pub(super) fn linerate(&self, arguments: &[&str]) -> Command {
        let mut command = linerate(&self.0, arguments);
        command
            .env("TMPDIR", self.0.path().join("tmp"))
            .env("XDG_RUNTIME_DIR", self.0.path().join("runtime"));
        command
    }

    pub(super) fn start(&self, service: &str, further: &[&str]) -> Started<'_> {
        let start = ["service", "start", service, "--detach", "--json", "--trust"];
        let mut start = self.linerate(&[&start[..], further].concat());
        let said = answer(start.env("SECRET", "hunter2"));
        Started {
            lab: self,
            name: service.to_owned(),
            ready: serde_json::from_str(&said).unwrap(),
        }
    }
}

/// A service that runs. Dropping it stops it.
pub(super) struct Started<'a> {
    lab: &'a Lab,
    name: String,
    pub(super) ready: Value,
}

impl Started<'_> {
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.ready[field].as_str()
    }

    pub(super) fn folder(&self) -> &Path {
        self.text("folder").unwrap().as_ref()
    }

    /// The password, as the user who started the service reads it.
    pub(super) fn password(&self) -> String {
        let file = self.text("password_file").expect("it has a password");
        fs::read_to_string(file).unwrap().trim().to_owned()
    }

    /// The processes that work in its folder.
    pub(super) fn processes(&self) -> Vec<u32> {
        working_in(self.folder())
    }

    /// The user as whom it runs.
    pub(super) fn user(&self) -> u32 {
        let pid = self.processes()[0];
        fs::metadata(format!("/proc/{pid}")).unwrap().uid()
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        let mut stop = self.lab.linerate(&["service", "stop", &self.name]);
        let _ = stop.stdout(Stdio::null()).status();
    }
}

/// Makes a command run as another user.
pub(super) fn as_user(user: u32, command: &mut Command) -> &mut Command {
    command.uid(user).gid(user).current_dir("/")
}

/// All output of a command, whether it succeeds or not.
pub(super) fn all_said(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}
