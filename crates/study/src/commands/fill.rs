//! The words of a study's commands with their variables filled in.

use std::collections::BTreeMap;

use model::CommandStudy;
use model::braces;
use model::command_run::CommandArm;
use model::command_study::LevelValue;
use model::message::ServerFolder;

/// Stands in a command for the address where its server listens; it is replaced once the server has
/// started.
pub(super) const SERVER_AT: &str = "{server_at}";
/// Replaces the path of a study's folder where commands are shown to people.
const SHOWN_FOLDER: &str = "DIR";

/// Knows the value of every variable of a study on this machine.
#[derive(Clone)]
pub(super) struct Filler<'a> {
    pub(super) study: &'a CommandStudy,
    /// Path of the study's folder.
    pub(super) folder: String,
    /// Folder of the study on the server's host, and the address of that host.
    pub(super) server: ServerFolder,
    /// Maps a need to the path of its program.
    pub(super) programs: BTreeMap<String, String>,
}

impl Filler<'_> {
    /// Fills in a command of an arm.
    pub(super) fn of_arm(
        &self,
        words: &[String],
        arm: &CommandArm,
        arms: &[CommandArm],
    ) -> Vec<String> {
        // The control runs the baseline again, with the baseline's builds.
        let same = arms.iter().find(|other| other.levels == arm.levels);
        let name = same.map_or(&arm.name, |baseline| &baseline.name);
        self.command(words, &arm.levels, Some(name))
    }

    /// Fills in the command that starts an arm's server on the server's host.
    pub(super) fn of_server(&self, arm: &CommandArm, arms: &[CommandArm]) -> Vec<String> {
        let there = Self {
            folder: self.server.path.clone(),
            ..self.clone()
        };
        there.of_arm(&self.study.workload.server, arm, arms)
    }

    /// Fills in a command with these levels.
    pub(super) fn command(
        &self,
        words: &[String],
        levels: &BTreeMap<String, String>,
        arm: Option<&String>,
    ) -> Vec<String> {
        let value = |variable: &str| {
            if variable == "arm" {
                return arm.cloned();
            }
            let level = variable.strip_suffix("_level");
            let level = level.and_then(|factor| levels.get(factor)).cloned();
            level
                .or_else(|| Some(self.words_of(variable, levels)?.join(" ")))
                .or_else(|| self.common(variable))
        };
        words
            .iter()
            .flat_map(|word| {
                let alone = word
                    .strip_prefix('{')
                    .and_then(|rest| rest.strip_suffix('}'));
                alone
                    .and_then(|variable| self.words_of(variable, levels))
                    .unwrap_or_else(|| vec![braces::fill(word, value)])
            })
            .collect()
    }

    /// Returns the words that stand for a factor at the one of its levels that is in `levels`.
    fn words_of(&self, factor: &str, levels: &BTreeMap<String, String>) -> Option<Vec<String>> {
        let level = self.study.factor(factor)?.level(levels.get(factor)?)?;
        let fill = |text: &String| braces::fill(text, |variable| self.common(variable));
        Some(match &level.value {
            None => vec![level.name.clone()],
            Some(LevelValue::Text(text)) => vec![fill(text)],
            Some(LevelValue::Words(words)) => words.iter().map(fill).collect(),
        })
    }

    /// Returns the value of a variable that is the same for all arms.
    fn common(&self, variable: &str) -> Option<String> {
        match variable {
            "dir" => Some(self.folder.clone()),
            "linerate" => Some(format!("{}/linerate", self.folder)),
            "server_address" => Some(self.server.address.to_string()),
            // The address is known only once the server listens.
            "server_at" => Some(SERVER_AT.to_owned()),
            other => {
                let size = self
                    .study
                    .sizes
                    .get(other)
                    .map(|size| size.full.to_string());
                size.or_else(|| self.programs.get(other).cloned())
            }
        }
    }

    /// Returns a text for people, in which the folder has a name that is the same in every run.
    pub(super) fn shown(&self, text: &str) -> String {
        text.replace(&self.folder, SHOWN_FOLDER)
    }

    /// Returns a command as a person would type it.
    pub(super) fn shown_command(&self, words: &[String]) -> String {
        self.shown(&shell_words::join(words))
    }
}

/// Whether a command of the study uses the copy of our own program.
pub(super) fn wants_linerate(study: &CommandStudy) -> bool {
    let workload = &study.workload;
    let lists = [&workload.build, &workload.prepare, &workload.cleanup];
    let evidence = study.evidence.iter().map(|piece| &piece.run);
    let commands = lists
        .into_iter()
        .flatten()
        .chain([&workload.run, &workload.server])
        .chain(evidence);
    let values = study.factors.iter().flat_map(|factor| &factor.levels);
    let values = values.flat_map(|level| match &level.value {
        None => &[][..],
        Some(LevelValue::Text(text)) => std::slice::from_ref(text),
        Some(LevelValue::Words(words)) => words,
    });
    commands
        .flatten()
        .chain(values)
        .any(|word| braces::words_in_braces(word).any(|variable| variable == "linerate"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::study::StudyFile;

    #[test]
    fn variables_of_all_kinds_are_filled_in_and_lists_become_words() {
        let text = include_str!("../../../../studies/strength-reduction.toml");
        let StudyFile::Commands(mut study) = crate::spec::parse(text, "s.toml").unwrap() else {
            panic!("a study of commands");
        };
        study.workload.server = vec!["{dir} {server_address}".to_owned()];
        let filler = Filler {
            study: &study,
            folder: "/tmp/f".to_owned(),
            server: ServerFolder {
                path: "/tmp/s".to_owned(),
                address: [10, 0, 0, 2].into(),
            },
            programs: [("gcc".to_owned(), "/usr/bin/gcc".to_owned())].into(),
        };
        let arms = super::super::arms::build(&study, &BTreeMap::new())
            .unwrap()
            .arms;
        let native = arms
            .iter()
            .find(|arm| arm.name == "add.gcc.o3-native")
            .unwrap();
        let build = filler.of_arm(&study.workload.build[0], native, &arms);
        let expected = [
            "/usr/bin/gcc",
            "-O3",
            "-march=native",
            "-std=c11",
            "-o",
            "/tmp/f/table-gcc-o3-native",
            "/tmp/f/table.c",
        ];
        assert_eq!(build, expected);
        assert!(
            filler
                .shown_command(&build)
                .ends_with("DIR/table-gcc-o3-native DIR/table.c")
        );
        let run = filler.of_arm(&study.workload.run, native, &arms);
        assert_eq!(run, ["/tmp/f/table-gcc-o3-native", "add", "300"]);
        assert_eq!(filler.of_server(native, &arms), ["/tmp/s 10.0.0.2"]);
        let words = ["{arm} {{dir}} {linerate}".to_owned()];
        let control = filler.of_arm(&words, &arms[1], &arms);
        assert_eq!(control, ["multiply.gcc.o3 {dir} /tmp/f/linerate"]);
    }
}
