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

/// Both kinds of user.
pub(crate) const USERS: [User; 2] = [User::Root, User::Ordinary];

/// A user and his state folder. His rigs are cleaned when this is dropped, also after a failed
/// test.
pub(crate) struct Bench {
    pub(crate) folder: Folder,
    user: User,
}

impl Bench {
    pub(crate) fn new(name: &str, user: User) -> Self {
        let folder = Folder::new(&format!("rig-{name}-{user:?}"));
        Self { folder, user }
    }

    /// The folder of the journal, which exists once there was a journal.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state/linerate")
    }

    /// A command that runs the program as this user.
    pub(crate) fn linerate(&self, arguments: &[&str]) -> Command {
        let state = self.folder.path().join("state");
        match self.user {
            // All of root shares one state folder, so another one is mounted in its place here.
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

    /// A path at which this user may run the program.
    pub(crate) fn program(&self) -> String {
        match self.user {
            User::Root => crate::common::program().to_owned(),
            User::Ordinary => self.folder.path().join("linerate").display().to_string(),
        }
    }

    /// Standard output of a command that must succeed.
    pub(crate) fn answer(&self, arguments: &[&str]) -> String {
        crate::common::answer(&mut self.linerate(arguments))
    }

    /// Standard output of a command that must succeed, parsed as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.answer(arguments)).unwrap()
    }

    /// What a command says that must be refused.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> String {
        refusal_of(&mut self.linerate(arguments))
    }

    /// The rigs that `rig status` lists.
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
