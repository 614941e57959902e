//! A small study of shell scripts in a folder of its own, with its own place for temporary files.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use model::CommandBlock;
use model::command_run::{CommandBlocks, CommandRun};
use model::run::RunRecord;

use crate::common::{Folder, linerate, refusal_of, words};

/// Two ways and two sizes make four arms, and the control a fifth.
const STUDY: &str = r#"
format = 1
name = "small"
title = "A small study"
question = "Does it work?"
method = "It is run."

[design]
kind = "factorial"
compare = "way"
rounds = 3
smallest_effect = 0.05

[workload]
kind = "command"
build = [["sh", "-c", "echo built >> built.{size}"]]
run = ["sh", "work.sh", "{way}", "{size}", "{arm}"]
timeout_s = 20
agree = { on = { regex = 'sum (\d+)' } }

[[factor]]
name = "way"
title = "Way"
level = [{ name = "one", title = "one way" }, { name = "other", title = "the other way" }]

[[factor]]
name = "size"
title = "Size"
level = [{ name = "small", title = "small" }, { name = "large", title = "large", value = "9" }]

[[metric]]
name = "took_ms"
title = "it took"
unit = "ms"
better = "lower"
from = { regex = 'took (\d+)' }

[[metric]]
name = "wall_ns"
title = "wall time"
unit = "ns"
better = "lower"
from = "wall"

[[published]]
levels = { way = "other", size = "small" }
against = { way = "one" }
metric = "took_ms"
value = 0.8
machine = "another"

[[evidence]]
title = "How often each size was built"
run = ["wc", "-l", "built.small", "built.9"]
count = ["1 built"]
lines = 2

[files]
"work.sh" = '''
echo "$1 $2 $3 $(id -u) $HOME" >> LOG
echo "took 5 ms, sum 7"
'''
"#;

/// Where a study is run.
pub(crate) struct Lab {
    pub(crate) folder: Folder,
}

impl Lab {
    /// Sets up the study with these changes, each a text and its replacement.
    pub(crate) fn new(name: &str, changes: &[(&str, &str)]) -> Self {
        let folder = Folder::new(&format!("commands-{name}"));
        let below = |name: &str| folder.path().join(name);
        std::fs::create_dir(below("tmp")).unwrap();
        std::fs::write(below("log"), "").unwrap();
        // Where we are root, the commands run as `nobody`.
        for open in ["tmp", "log"] {
            let mode = std::fs::Permissions::from_mode(0o1777);
            std::fs::set_permissions(below(open), mode).unwrap();
        }
        let mut study = STUDY.to_owned();
        for (from, to) in changes {
            assert!(study.contains(from), "{from} is not in the study");
            study = study.replacen(from, to, 1);
        }
        let study = study.replace("LOG", &below("log").display().to_string());
        std::fs::write(below("small.toml"), study).unwrap();
        Self { folder }
    }

    /// The program, to be run in the folder of this study with its own place for temporary files.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = linerate(&self.folder, arguments);
        command.env("TMPDIR", self.folder.path().join("tmp"));
        command
    }

    pub(crate) fn start(&self) -> Command {
        self.command(&words(
            "study run small.toml --yes --trust --json --out run",
        ))
    }

    pub(crate) fn resume(&self) -> Output {
        let arguments = ["study", "resume", "run", "--yes", "--trust", "--json"];
        self.command(&arguments).output().unwrap()
    }

    /// What a run that must be refused says; asserts that nothing is left of it.
    pub(crate) fn refusal(&self) -> String {
        let said = refusal_of(&mut self.start());
        assert!(!self.folder.path().join("run").exists());
        assert_eq!(self.folder.names("tmp"), [""; 0]);
        said
    }

    pub(crate) fn record(&self) -> CommandRun {
        RunRecord::parse(&self.folder.text("run/run.json")).unwrap()
    }

    pub(crate) fn blocks(&self) -> Vec<CommandBlock> {
        let text = self.folder.text("run/blocks.jsonl");
        CommandBlocks::parse(&text).unwrap().records
    }
}
