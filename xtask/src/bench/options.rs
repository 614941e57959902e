//! The command line of `cargo xtask bench`.

use anyhow::{Context as _, bail, ensure};

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    /// Benches whose name contains this text are run.
    pub(super) filter: String,
    /// Number of rounds, instead of the study's own.
    pub(super) rounds: Option<u32>,
    /// Commands that start further servers, each containing `{port}`.
    pub(super) against: Vec<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            filter: String::new(),
            rounds: None,
            against: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} takes a value"))
            };
            match *word {
                "--rounds" => options.rounds = Some(rounds(value()?)?),
                "--against" => options.against.push(server(value()?)?),
                flag if flag.starts_with('-') => bail!(
                    "`{flag}` is no option; there are --rounds N and --against 'COMMAND with {{port}}'"
                ),
                filter if options.filter.is_empty() => filter.clone_into(&mut options.filter),
                another => bail!("one part of a name is enough; `{another}` is too much"),
            }
        }
        Ok(options)
    }
}

fn rounds(text: &str) -> anyhow::Result<u32> {
    let rounds = text
        .parse()
        .ok()
        .filter(|rounds| (1..=1000).contains(rounds));
    rounds.with_context(|| format!("--rounds takes 1 to 1000, not `{text}`"))
}

fn server(command: &str) -> anyhow::Result<String> {
    ensure!(
        command.contains("{port}"),
        "--against must say where the server's port stands: `{command}` has no {{port}}"
    );
    Ok(command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_arguments_every_bench_has_its_own_rounds() {
        let options = Options::parse(&[]).unwrap();
        assert_eq!((options.filter.as_str(), options.rounds), ("", None));
    }

    #[test]
    fn peers_may_be_several_and_stand_anywhere() {
        let words = [
            "--against",
            "a {port}",
            "server",
            "--against",
            "b {port}",
            "--rounds",
            "6",
        ];
        let options = Options::parse(&words).unwrap();
        assert_eq!(
            (options.filter.as_str(), options.rounds),
            ("server", Some(6))
        );
        assert_eq!(options.against, ["a {port}", "b {port}"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        let refusal = |words: &[&str]| Options::parse(words).unwrap_err().to_string();
        assert!(refusal(&["--against", "serve"]).contains("no {port}"));
        assert!(refusal(&["--against"]).contains("takes a value"));
        assert!(refusal(&["--rounds", "0"]).contains("1 to 1000"));
        assert!(refusal(&["--round"]).contains("--rounds N"));
        assert!(refusal(&["a", "b"]).contains("too much"));
    }
}
