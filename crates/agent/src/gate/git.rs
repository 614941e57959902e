//! What is asked of git: commits, and worktrees of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::failure::Failure;

/// Those by which git is told of a repository in which a hook of it is run. Ours is the folder's.
const OF_A_HOOK: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
];

/// Takes from a command what would have git in it look at the repository of a hook that we are run by.
pub(crate) fn forget_the_hook(command: &mut Command) {
    for variable in OF_A_HOOK {
        command.env_remove(variable);
    }
}

/// A repository, by the folder at its top.
#[derive(Clone, Debug)]
pub struct Repository {
    pub top: PathBuf,
    /// Where below that somebody is; empty for there.
    pub below: String,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its whole hash.
    pub hash: String,
    /// As short as it is told from others.
    pub short: String,
}

impl Repository {
    /// The one in which a folder lies.
    ///
    /// # Errors
    /// Where git is absent, or finds none.
    pub fn around(folder: &Path) -> Result<Self, Failure> {
        let asked = git(folder, &["rev-parse", "--show-toplevel", "--show-prefix"]);
        let said = asked.map_err(|words| Failure {
            what: format!("no repository of git here: {words}"),
            advice: "go into the work tree of the project that is to be measured".to_owned(),
        })?;
        let mut lines = said.lines();
        Ok(Self {
            top: PathBuf::from(lines.next().unwrap_or_default()),
            below: lines.next().unwrap_or_default().to_owned(),
        })
    }

    /// The commit that a word means.
    ///
    /// # Errors
    /// Where it means none.
    pub fn resolve(&self, word: &str) -> Result<Resolved, Failure> {
        let commit = format!("{word}^{{commit}}");
        let parse = |arguments: &[&str]| {
            let asked = [&["rev-parse", "--quiet", "--verify"], arguments].concat();
            git(&self.top, &asked).ok().filter(|said| !said.is_empty())
        };
        let hash = parse(&["--end-of-options", &commit]).ok_or_else(|| Failure {
            what: format!("`{word}` is no commit of {}", self.top.display()),
            advice: self.how_to_get_one().to_owned(),
        })?;
        let short = parse(&["--short", &hash]).unwrap_or_else(|| hash.clone());
        Ok(Resolved { hash, short })
    }

    /// A checkout of CI has most often the newest commit alone.
    fn how_to_get_one(&self) -> &'static str {
        let asked = git(&self.top, &["rev-parse", "--is-shallow-repository"]);
        if asked.is_ok_and(|said| said == "true") {
            return "this clone has the newest commits alone: `git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'` \
                    gets all, as a checkout does with `fetch-depth: 0` on GitHub and `GIT_DEPTH: \"0\"` on GitLab; a \
                    branch is `origin/NAME` then";
        }
        "give a branch, a tag or a hash; `git log --oneline --all` shows those that are here, and `git fetch origin` gets \
         those of the remote, whose branches are `origin/NAME`"
    }

    /// Whether files that git knows have changes that are in no commit.
    pub fn is_dirty(&self) -> bool {
        // Without it, git would write its index anew.
        let reads = ["--no-optional-locks", "status"];
        let asked = [&reads[..], &["--porcelain", "--untracked-files=no"]].concat();
        git(&self.top, &asked).is_ok_and(|said| !said.is_empty())
    }
}

/// Checks a commit out into a folder that is not there yet. No hook is run.
pub(super) fn check_out(top: &Path, commit: &str, at: &Path) -> Result<(), String> {
    let at = at.display().to_string();
    git(top, &["worktree", "add", "--detach", &at, commit]).map(drop)
}

/// Takes a worktree away, or what git knows of one that is no more.
pub(super) fn remove(top: &Path, at: &Path) {
    let at = at.display().to_string();
    // Twice means also one that is locked, as git has it while it is checked out.
    let _ = git(top, &["worktree", "remove", "--force", "--force", &at]);
}

/// The worktrees that git knows of.
pub(super) fn worktrees(top: &Path) -> Vec<PathBuf> {
    let listed = git(top, &["worktree", "list", "--porcelain"]).unwrap_or_default();
    let paths = listed
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    paths.map(PathBuf::from).collect()
}

/// What git says, or its last words.
fn git(at: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    forget_the_hook(&mut command);
    command
        .args(["-c", "core.hooksPath=/dev/null", "-C"])
        .arg(at)
        .args(arguments)
        .stdin(Stdio::null());
    let ran = command.output().map_err(|error| format!("git: {error}"))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).trim_end().to_owned());
    }
    Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned())
}
