//! Node's parser, in a process of its own.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use super::corpus::{Outcome, outcome};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parsers/node.js");

/// What Node made of the heads, in their order.
pub(crate) struct Answers {
    /// As Node says it: `v20.20.2`.
    pub(crate) version: String,
    pub(crate) answers: Vec<NodeAnswer>,
}

/// A line such as `take POST / 1.1 length=3 keep=true` or `refuse HPE_INVALID_METHOD`.
#[derive(Debug)]
pub(crate) struct NodeAnswer(String);

/// A request as Node read it.
pub(crate) struct Taken {
    pub(crate) target: String,
    pub(crate) framing: String,
    /// `None` where Node leaves this to the code that it hands the connection to.
    pub(crate) keep_alive: Option<bool>,
}

impl NodeAnswer {
    pub(crate) fn outcome(&self) -> Outcome {
        outcome(self.0.split(' ').next().unwrap_or_default())
    }

    pub(crate) fn taken(&self) -> Option<Taken> {
        let words: Vec<&str> = self.0.split(' ').collect();
        let ["take", _, target, _, framing, keep] = words[..] else {
            return None;
        };
        Some(Taken {
            target: target.to_owned(),
            framing: framing.to_owned(),
            keep_alive: keep
                .strip_prefix("keep=")
                .and_then(|word| word.parse().ok()),
        })
    }
}

/// Asks Node about every head.
pub(crate) fn run(heads: &[impl AsRef<[u8]>]) -> Answers {
    let mut input = String::new();
    for head in heads {
        head.as_ref()
            .iter()
            .for_each(|byte| write!(input, "{byte:02x}").expect("text takes text"));
        input.push('\n');
    }
    let file = std::env::temp_dir().join(format!("wire-parsers-{:?}", std::thread::current().id()));
    let file = file.with_extension(std::process::id().to_string());
    std::fs::write(&file, input).expect("the folder for temporary files takes one");
    let standard_input = std::fs::File::open(&file).expect("it was written");
    let output = Command::new("node")
        .arg(SCRIPT)
        .stdin(Stdio::from(standard_input))
        .output()
        .expect("Node is needed: `apt-get install nodejs`");
    std::fs::remove_file(&file).expect("it is ours");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let text = String::from_utf8(output.stdout).expect("the script writes text");
    let mut lines = text.lines().map(str::to_owned);
    let version = lines.next().expect("the version comes first");
    let answers: Vec<NodeAnswer> = lines.map(NodeAnswer).collect();
    assert_eq!(answers.len(), heads.len(), "{words}");
    Answers { version, answers }
}
