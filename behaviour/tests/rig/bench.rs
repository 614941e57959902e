//! A user with a state folder of his own, so that no test sees another's rigs, or this machine's.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, refusal_of};
use crate::machine::confined::in_place_of_a_shell;

/// Who puts rigs up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum User {
    Root,
    Ordinary,
}

/// Both kinds.
pub(crate) const USERS: [User; 2] = [User::Root, User::Ordinary];

/// A user and his state. His rigs go with it, also when the test has failed.
pub(crate) struct Bench {
    pub(crate) folder: Folder,
    user: User,
}

impl Bench {
    pub(crate) fn new(name: &str, user: User) -> Self {
        let folder = Folder::new(&format!("rig-{name}-{user:?}"));
        Self { folder, user }
    }

    /// Where the journal is, once there was one.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state/linerate")
    }

    /// The program as this user runs it.
    pub(crate) fn linerate(&self, arguments: &[&str]) -> Command {
        let state = self.folder.path().join("state");
        match self.user {
            // Root's folder is the same for all of root, so it is another one here.
            User::Root => {
                std::fs::create_dir_all(&state).unwrap();
                let bind = format!("mount --bind {} /var/lib", state.display());
                let shell = ["unshare", "--mount", "sh"];
                in_place_of_a_shell(&shell, &bind, &self.folder, arguments)
            }
            User::Ordinary => {
                let mut command = linerate_as_nobody(&self.folder, arguments);
                command.env("XDG_STATE_HOME", state);
                command
            }
        }
    }

    /// A path of the program that this user may run.
    pub(crate) fn program(&self) -> String {
        match self.user {
            User::Root => crate::common::program().to_owned(),
            User::Ordinary => self.folder.path().join("linerate").display().to_string(),
        }
    }

    /// Standard output of a command that must do well.
    pub(crate) fn answer(&self, arguments: &[&str]) -> String {
        crate::common::answer(&mut self.linerate(arguments))
    }

    /// Its answer as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.answer(arguments)).unwrap()
    }

    /// What a command that could not run said of it.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> String {
        refusal_of(&mut self.linerate(arguments))
    }

    /// The rigs that there are.
    pub(crate) fn rigs(&self) -> Vec<Value> {
        let status = self.json(&["rig", "status", "--json"]);
        status["rigs"].as_array().unwrap().clone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.linerate(&["rig", "clean"]).output();
    }
}
