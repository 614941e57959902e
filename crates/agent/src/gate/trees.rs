//! The worktrees of a gate, in a folder of ours that is removed with them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;

use model::failure::Failure;
use model::gate::Build;

use super::{ended_well, git, shell};
use crate::command::{CommandRunner, Prepared};
use crate::service::leftovers;
use crate::workshop::own_folder::OwnFolder;

/// The kind of our folders in which worktrees lie, as their names have it.
const KIND: &str = "gate";

/// One runner for builds and runs alike: a signal reaches only the newest runner of a process.
pub(super) type Runner = Rc<RefCell<CommandRunner>>;

/// Everything that was built. Dropping it removes the worktrees.
pub(crate) struct Trees {
    built: BTreeMap<String, Tree>,
    /// The repository and path of each worktree that was made, even in part.
    made: Vec<(PathBuf, PathBuf)>,
    folder: OwnFolder,
    runner: Runner,
}

/// A commit that was built.
pub(crate) struct Tree {
    pub(crate) build: Build,
    /// The folder in which its commands run.
    pub(crate) path: PathBuf,
    /// The folder of ours in which the worktree lies.
    pub(crate) folder: PathBuf,
    pub(super) runner: Runner,
    /// Whether its command was seen to end well.
    pub(super) was_run: Cell<bool>,
}

impl Trees {
    pub(crate) fn new() -> Result<Self, Failure> {
        let runner = CommandRunner::new().map_err(|error| cannot("watching commands", &error))?;
        Ok(Self {
            built: BTreeMap::new(),
            made: Vec::new(),
            folder: OwnFolder::new(&std::env::temp_dir(), KIND)?,
            runner: Rc::new(RefCell::new(runner)),
        })
    }

    /// Checks a commit out and builds it.
    pub(crate) fn build(&mut self, build: Build) -> Result<(), Failure> {
        let repository = PathBuf::from(&build.repository);
        forget_lost(&repository);
        let root = self.folder.path().join(&build.name);
        self.made.push((repository.clone(), root.clone()));
        git::check_out(&repository, &build.commit, &root).map_err(|words| Failure {
            what: format!("{} cannot be checked out: {words}", build.title),
            advice: format!(
                "check free space and permissions in {}, or set TMPDIR to another folder",
                std::env::temp_dir().display()
            ),
        })?;
        let tree = Tree {
            path: root.join(&build.below),
            folder: self.folder.path().to_owned(),
            runner: self.runner.clone(),
            was_run: Cell::new(false),
            build,
        };
        if !tree.path.is_dir() {
            return Err(has_no_folder(&tree.build));
        }
        run(&tree)?;
        self.built.insert(tree.build.name.clone(), tree);
        Ok(())
    }

    /// The tree that was built under this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Tree> {
        self.built.get(name)
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        for (repository, root) in &self.made {
            git::remove(repository, root);
        }
    }
}

/// Runs the build command of a tree.
fn run(tree: &Tree) -> Result<(), Failure> {
    let Build { title, command, .. } = &tree.build;
    // Only the end of standard error is kept, so the build writes everything there.
    let mut prepared = shell(&format!("exec >&2\n{command}"), &tree.path, &tree.folder);
    prepared
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let ran = tree.runner.borrow_mut().run_prepared(Prepared {
        command: prepared,
        timeout_ms: None,
        keep_bytes: 0,
        ends_group: true,
    });
    let ended = ended_well(ran).map_err(|end| Failure {
        what: format!("the build of {title}, `{command}`, {end}"),
        advice: advice_on_a_build(tree).to_owned(),
    });
    ended.map(|_| ())
}

/// Advice on a failed build: most miss something that only the user's own work tree has.
fn advice_on_a_build(tree: &Tree) -> &'static str {
    let root = tree.folder.join(&tree.build.name);
    let has_submodules = root.join(".gitmodules").exists();
    if has_submodules && !tree.build.command.contains("submodule") {
        "submodules are not checked out: begin the line with `git submodule update --init &&`"
    } else {
        "try it in a fresh clone: nothing is there but what is in the commit"
    }
}

fn has_no_folder(build: &Build) -> Failure {
    let Build { title, below, .. } = build;
    Failure {
        what: format!("{title} has no folder {below}, in which its commands are to be run"),
        advice: "start from a folder that both commits have".to_owned(),
    }
}

/// Makes git forget worktrees of ours that a crash left and whose folder has been removed since.
fn forget_lost(repository: &Path) {
    let is_ours = |path: &&PathBuf| {
        let folder = path.parent();
        folder.and_then(leftovers::kind_of) == Some(KIND)
    };
    // A worktree that cannot be looked for, as on a disk that is not mounted, may still exist.
    let is_gone = |path: &&PathBuf| path.try_exists().is_ok_and(|is_there| !is_there);
    let all = git::worktrees(repository);
    for lost in all.iter().filter(is_ours).filter(is_gone) {
        git::remove(repository, lost);
    }
}

fn cannot(doing: &str, error: &io::Error) -> Failure {
    Failure {
        what: format!("{doing}: {error}"),
        advice: "check the limits of open files and processes".to_owned(),
    }
}
