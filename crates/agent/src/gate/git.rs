//! Asks git for commits, and for worktrees of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::failure::Failure;

/// The variables by which git, when it runs a hook, names the hook's repository to other calls of
/// git. We mean the repository of the folder instead.
const OF_A_HOOK: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
];

/// Removes the variables of a hook from a command. If a hook runs us, they would make git in the
/// command use the hook's repository.
pub(crate) fn forget_the_hook(command: &mut Command) {
    for variable in OF_A_HOOK {
        command.env_remove(variable);
    }
}

/// A repository, by the folder at its top.
#[derive(Clone, Debug)]
pub struct Repository {
    pub top: PathBuf,
    /// The current folder, relative to `top`; empty at the top.
    pub below: String,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its full hash.
    pub hash: String,
    /// Its hash, shortened as far as it stays unique.
    pub short: String,
}

impl Repository {
    /// Finds the repository in which a folder lies.
    ///
    /// # Errors
    /// Where git is absent, or finds none.
    pub fn around(folder: &Path) -> Result<Self, Failure> {
        let asked = git(folder, &["rev-parse", "--show-toplevel", "--show-prefix"]);
        let said = asked.map_err(|words| Failure {
            what: format!("there is no git repository here: {words}"),
            advice: "go into the work tree of the project that is to be measured".to_owned(),
        })?;
        let mut lines = said.lines();
        Ok(Self {
            top: PathBuf::from(lines.next().unwrap_or_default()),
            below: lines.next().unwrap_or_default().to_owned(),
        })
    }

    /// Finds the commit that a word names.
    ///
    /// # Errors
    /// Where it names none.
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

    /// Advice on a missing commit. A checkout in CI mostly has only the newest commit.
    fn how_to_get_one(&self) -> &'static str {
        let asked = git(&self.top, &["rev-parse", "--is-shallow-repository"]);
        if asked.is_ok_and(|said| said == "true") {
            return "this clone has only the newest commits: `git fetch --unshallow origin \
                    '+refs/heads/*:refs/remotes/origin/*'` gets all, as a checkout does with \
                    `fetch-depth: 0` on GitHub and `GIT_DEPTH: \"0\"` on GitLab; a branch is \
                    `origin/NAME` then";
        }
        "give a branch, a tag or a hash; `git log --oneline --all` shows those that are here, and `git fetch origin` gets \
         those of the remote, whose branches are `origin/NAME`"
    }

    /// Whether files that git knows have changes that are in no commit.
    pub fn is_dirty(&self) -> bool {
        // Without `--no-optional-locks`, git would rewrite its index.
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

/// Removes a worktree, or what git still knows of one that no longer exists.
pub(super) fn remove(top: &Path, at: &Path) {
    let at = at.display().to_string();
    // `--force` given twice also removes a locked one; git locks a worktree while it fills it.
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

/// Runs git. Returns its standard output or, where it fails, its standard error.
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
