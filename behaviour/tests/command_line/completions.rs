//! Completion scripts, run in the shell that they are for.

use std::process::Command;

use crate::command_line::answer;

/// The completions that a real bash offers for the last of these words, once it has read the
/// script.
fn offered(words: &str) -> Vec<String> {
    let ask = format!(
        r#"source <("$0" completions bash) || exit 1
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
complete=$(complete -p linerate) && function=${{complete##*-F }} && function=${{function%% *}}
"$function" linerate "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
printf '%s\n' "${{COMPREPLY[@]}}""#
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &ask, crate::common::program()]);
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(offered("linerate lo"), ["load"]);
    assert_eq!(offered("linerate study rep"), ["report"]);
    assert_eq!(offered("linerate load --ra"), ["--rate"]);
    assert_eq!(offered("linerate load --arrivals p"), ["poisson"]);
}

#[test]
fn what_is_hidden_is_not_offered() {
    let commands = offered("linerate ''");
    assert!(commands.contains(&"doctor".to_owned()), "{commands:?}");
    for hidden in ["agent", "ask", "echo"] {
        assert!(!commands.contains(&hidden.to_owned()), "{commands:?}");
    }
    assert_eq!(offered("linerate serve --work"), ["--workers"]);
}

#[test]
fn every_shell_gets_a_script_that_knows_the_flags_of_load() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = answer(&["completions", shell]);
        assert!(
            script.contains("throughput") && !script.contains("busy-work"),
            "{shell}"
        );
    }
}
