//! Two commits of a small project: built, measured, judged, and removed afterwards.

mod broken;
mod killed;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use model::Judgement;
use model::gate::Passage;

use crate::common::{Folder, errors, linerate, program, words};

/// A project of two commits, tagged `one` and `two`, with a folder for temporary files.
struct Project {
    folder: Folder,
    temporary: Folder,
    /// The `XDG_RUNTIME_DIR` of this project only, where Linerate registers folders and services.
    register: Folder,
}

impl Project {
    /// Makes a project whose file `part` holds these texts at the first and at the second commit.
    fn new(parts: [&str; 2]) -> Self {
        let project = Self {
            folder: Folder::new("gate"),
            temporary: Folder::new("gate-temporary"),
            register: Folder::new("gate-register"),
        };
        project.git(&["init", "-q", "-b", "main"]);
        for (part, tag) in parts.iter().zip(["one", "two"]) {
            std::fs::write(project.folder.path().join("part"), part).unwrap();
            project.git(&["add", "part"]);
            project.git(&["commit", "-q", "--allow-empty", "-m", tag]);
            project.git(&["tag", tag]);
        }
        project
    }

    fn git(&self, arguments: &[&str]) -> String {
        let ran = self.run_git(arguments);
        assert!(ran.status.success(), "{arguments:?}: {}", errors(&ran));
        String::from_utf8(ran.stdout).unwrap()
    }

    fn run_git(&self, arguments: &[&str]) -> Output {
        Command::new("git")
            .args(words(
                "-c user.name=a -c user.email=a@b.example -c init.defaultBranch=main",
            ))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    fn gate(&self, arguments: &[&str]) -> Command {
        let mut command = linerate(&self.folder, &["gate", "one", "two", "--yes"]);
        command
            .args(arguments)
            .env("TMPDIR", self.temporary.path())
            .env("XDG_RUNTIME_DIR", self.register.path())
            .env("LINERATE", program());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.gate(arguments).output().unwrap()
    }

    /// Whether git knows of no worktree but the first, and no folder or process of ours is left.
    fn is_clean(&self) -> bool {
        // While a worktree is being removed, git may fail to list them.
        let worktrees = self.run_git(&["worktree", "list"]);
        let is_empty = self.temporary.names("").is_empty();
        worktrees.status.success()
            && String::from_utf8_lossy(&worktrees.stdout).lines().count() == 1
            && is_empty
            && working_below(self.temporary.path()).is_empty()
    }

    fn assert_clean(&self) {
        assert!(
            self.is_clean(),
            "{} {:?}",
            self.git(&["worktree", "list"]),
            self.temporary.names("")
        );
    }
}

/// The processes whose working folder is, or was, below a folder.
fn working_below(folder: &Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let folders =
        processes.filter_map(|process| std::fs::read_link(process.ok()?.path().join("cwd")).ok());
    folders.filter(|at| at.starts_with(folder)).collect()
}

fn judged(output: &Output) -> Judgement {
    let judged = serde_json::from_slice(&output.stdout);
    judged.unwrap_or_else(|error| panic!("{error}: {}", errors(output)))
}

const COUNTS: &str = "n=$(cat part); i=0; while [ $i -lt $n ]; do i=$((i+1)); done";
const SERVES: &str = "exec $LINERATE serve --listen 127.0.0.1:{port} --message \"$(cat part)\"";

#[test]
fn a_command_that_costs_four_times_as_much_is_slower_and_the_other_way_round_it_passes() {
    for (parts, code, passage) in [
        (["5000", "20000"], 1, Passage::Slower),
        (["20000", "5000"], 0, Passage::Passes),
    ] {
        let project = Project::new(parts);
        let flags = words("--rounds 10 --json --markdown gate.md --html gate.html --out run");
        let output = project.run(&[&["--run", COUNTS][..], &flags].concat());
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
        let gate = judged(&output).gate.unwrap();
        assert_eq!(gate.passage, passage, "{gate:?}");
        assert!(gate.floor.is_some() && gate.cost.is_some(), "{gate:?}");
        let comment = project.folder.text("gate.md");
        assert!(comment.starts_with("**two "), "{comment}");
        for part in [
            "| CPU, µs per run |",
            "control: one",
            "The floor: ",
            "    linerate gate one two --run ",
        ] {
            assert!(comment.contains(part), "{part} is missing in {comment}");
        }
        for page in ["gate.html", "run/report.html"] {
            let repeats = project
                .folder
                .text(page)
                .contains("linerate gate one two --run ");
            assert!(repeats, "{page}");
        }
        project.assert_clean();
    }
}

#[test]
fn servers_are_started_anew_in_every_round_and_two_rounds_tell_nothing() {
    let project = Project::new(["Hello", "Hello"]);
    std::fs::write(project.folder.path().join("part"), "changed").unwrap();
    let hook = project.folder.path().join(".git/hooks/post-checkout");
    std::fs::write(&hook, "#!/bin/sh\ntouch \"$TMPDIR/hook-was-run\"\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, executable).unwrap();
    let arguments = [
        "--serve",
        SERVES,
        "--url",
        "/plaintext",
        "--smoke",
        "--out",
        "run",
        "--markdown",
        "gate.md",
        "-H",
        "Authorization: Bearer hush",
    ];
    let output = project.run(&arguments);
    assert_eq!(output.status.code(), Some(4), "{}", errors(&output));
    let said = errors(&output);
    assert!(said.contains("uncommitted changes"), "{said}");
    let comment = project.folder.text("gate.md");
    assert!(
        comment.contains("a verdict takes 10: let the gate run"),
        "{comment}"
    );
    let kept = ["run/run.json", "run/report.html"].map(|name| project.folder.text(name));
    for text in [&said, &comment].into_iter().chain(&kept) {
        assert!(!text.contains("hush"), "{text}");
    }
    assert_eq!(project.folder.text("part"), "changed");
    let blocks = project.folder.text("run/blocks.jsonl");
    let epochs = [0, 1].map(|epoch| blocks.matches(&format!("\"epoch\":{epoch},")).count());
    assert_eq!(epochs, [3, 3], "{blocks}");
    project.assert_clean();
}

#[test]
fn a_worktree_that_a_crash_left_in_the_repository_is_removed_by_the_next_gate() {
    let project = Project::new(["a", "b"]);
    let lost = project
        .temporary
        .path()
        .join("linerate-gate-0123456789abcdef");
    std::fs::create_dir(&lost).unwrap();
    project.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        lost.join("base").to_str().unwrap(),
    ]);
    std::fs::remove_dir_all(&lost).unwrap();
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 2);
    // A git hook runs with `GIT_DIR` set.
    let here = "git rev-parse --verify -q HEAD";
    let mut of_a_hook = project.gate(&["--build", here, "--run", here, "--smoke"]);
    let output = of_a_hook.env("GIT_DIR", "/absent").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", errors(&output));
    project.assert_clean();
}

/// The indented block of lines after each `mark` in a Markdown text, without its indentation and
/// list dashes.
fn blocks_after<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = String> + 'a {
    text.split(mark).skip(1).map(|rest| {
        let mut lines = rest.lines().skip(1).peekable();
        let first = lines.peek().copied().unwrap_or_default();
        let indent = &first[..first.len() - first.trim_start().len()];
        let of_block = lines.map_while(|line| line.strip_prefix(indent));
        of_block.fold(String::new(), |block, line| {
            let line = line.strip_prefix("- ").unwrap_or(line);
            block + line + "\n"
        })
    })
}

#[test]
fn the_lines_of_the_workflows_in_the_docs_install_it_and_leave_a_comment() {
    let docs = std::fs::read_to_string("../docs/ci.md").unwrap();
    let github: Vec<String> = blocks_after(&docs, "run: |").collect();
    let gitlab = ["before_script:", "  script:"].map(|mark| blocks_after(&docs, mark).next());
    let gitlab: Vec<String> = gitlab.into_iter().flatten().collect();
    for lines in [github, gitlab] {
        assert_eq!(lines.len(), 2, "{lines:?}");
        let project = Project::new(["Hello", "Hello"]);
        let app = "#!/bin/sh\nexec $LINERATE serve --listen 127.0.0.1:$1\n";
        std::fs::write(project.folder.path().join("app.sh"), app).unwrap();
        let makefile = "app: app.sh\n\tcp app.sh app && chmod +x app\n";
        std::fs::write(project.folder.path().join("Makefile"), makefile).unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "-q", "-m", "an app"]);
        let script = lines.concat().replace("apt-get", ": apt-get");
        assert!(script.contains("--url / --yes"), "{script}");
        let script = script.replace("--url / --yes", "--url /plaintext --yes --smoke");
        let mut shell = Command::new("/bin/sh");
        let ran = shell
            .args(["-e", "-c", &script])
            .current_dir(project.folder.path())
            .env("LINERATE_URL", format!("file://{}", program()))
            .env("LINERATE", program())
            .env("BASE", "HEAD")
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", "HEAD")
            .env("RUNNER_TEMP", project.register.path())
            .env("TMPDIR", project.temporary.path())
            .env("XDG_RUNTIME_DIR", project.register.path())
            .env("GITHUB_STEP_SUMMARY", project.folder.path().join("summary"))
            .output()
            .unwrap();
        let code = ran.status.code().unwrap();
        assert!([0, 4].contains(&code), "{script}\n{}", errors(&ran));
        assert!(project.folder.text("gate.md").contains("Cannot tell"));
        project.assert_clean();
    }
}
