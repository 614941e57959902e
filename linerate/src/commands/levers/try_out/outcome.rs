//! What came of it: the levers that were proven, and how they are kept; those that were not tried.

use machine::levers::{self, Lasting};
use model::lever::LeverSetting;
use model::{Judgement, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use super::choice::{Choice, Untried, site};
use crate::shown::Addition;

/// What was proven, how it is kept, and what was not tried.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversTried {
    /// The levers with which the server was better, each by itself.
    proven: Vec<String>,
    /// What a person would type to set them, until the next boot.
    commands: Vec<String>,
    /// A file for /etc/sysctl.d that sets those of them that are sysctls; null where none is.
    sysctl_d: Option<String>,
    /// A profile of tuned, /etc/tuned/linerate/tuned.conf, that sets those of them that are sysctls or
    /// files of /sys; null where none is.
    tuned: Option<String>,
    /// What was asked for and not tried.
    untried: Vec<Untried>,
}

const FILE_OF_SYSCTLS: &str = "/etc/sysctl.d/90-linerate.conf";
const FILE_OF_TUNED: &str = "/etc/tuned/linerate/tuned.conf";

/// Beside the judgement of a run.
pub(super) fn of(choice: Choice, judgement: &Judgement) -> Addition {
    let verdicts = judgement.steps.iter();
    let better = verdicts.filter(|step| step.verdict == Verdict::Better);
    let proven: Vec<String> = better.map(|step| step.arm.clone()).collect();
    let tried = tried(proven, choice.untried);
    Addition {
        text: text(&tried),
        slo: None,
        levers: Some(tried),
    }
}

fn tried(proven: Vec<String>, untried: Vec<Untried>) -> LeversTried {
    let settings: Vec<LeverSetting> = proven.iter().filter_map(|it| it.parse().ok()).collect();
    let plans = settings.iter().filter_map(|setting| {
        let lever = levers::find(&setting.name)?;
        lever.plan(&site(), setting.value.as_deref()).ok()
    });
    let (mut commands, mut lasting) = (Vec::new(), Vec::new());
    for plan in plans {
        commands.extend(plan.commands());
        lasting.extend(plan.lasting());
    }
    LeversTried {
        commands,
        sysctl_d: sysctl_d(&lasting),
        tuned: tuned(&lasting),
        proven,
        untried,
    }
}

fn sysctl_d(lasting: &[Lasting]) -> Option<String> {
    let lines = section(lasting, true, " = ");
    (!lines.is_empty()).then(|| format!("# Measured by `linerate levers try`.\n{lines}"))
}

fn tuned(lasting: &[Lasting]) -> Option<String> {
    let part = |(name, is_sysctl)| {
        let lines = section(lasting, is_sysctl, "=");
        (!lines.is_empty()).then(|| format!("\n[{name}]\n{lines}"))
    };
    let parts = [("sysctl", true), ("sysfs", false)].into_iter();
    let parts: String = parts.filter_map(part).collect();
    let main = "[main]\nsummary=Measured by `linerate levers try`\n";
    (!parts.is_empty()).then(|| format!("{main}{parts}"))
}

fn section(lasting: &[Lasting], of_sysctls: bool, between: &str) -> String {
    let of_it = lasting.iter().filter(|it| it.is_sysctl == of_sysctls);
    let lines = of_it.map(|Lasting { name, value, .. }| format!("{name}{between}{value}\n"));
    lines.collect()
}

fn text(tried: &LeversTried) -> String {
    let mut parts = vec![match tried.proven.len() {
        0 => "No lever was proven to help; all is as it was before.".to_owned(),
        1 => format!(
            "Proven to help: {}. All is as it was before.",
            tried.proven[0]
        ),
        _ => format!(
            "Proven to help, each by itself and not together: {}. All is as it was before.",
            tried.proven.join(", ")
        ),
    }];
    parts.extend(block("To set it until the next boot:", &tried.commands));
    let files = [
        (FILE_OF_SYSCTLS, &tried.sysctl_d),
        (FILE_OF_TUNED, &tried.tuned),
    ];
    for (file, text) in files {
        let lines: Vec<String> = text
            .iter()
            .flat_map(|it| it.lines())
            .map(Into::into)
            .collect();
        parts.extend(block(&format!("To keep it, as {file}:"), &lines));
    }
    parts.extend(untried(&tried.untried));
    parts.join("\n\n")
}

fn block(heading: &str, lines: &[String]) -> Option<String> {
    (!lines.is_empty()).then(|| format!("{heading}\n    {}", lines.join("\n    ")))
}

/// What was not tried: those of one reason together.
pub(super) fn untried(untried: &[Untried]) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in untried {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, levers)) => levers.push(&one.lever),
            None => reasons.push((&one.why, vec![&one.lever])),
        }
    }
    let told = reasons
        .iter()
        .map(|(why, levers)| format!("  {}: {why}", levers.join(", ")));
    let mut lines: Vec<String> = told.collect();
    for one in untried.iter().filter(|one| !one.commands.is_empty()) {
        lines.push(format!("  To measure {}:", one.lever));
        lines.extend(one.commands.iter().map(|line| format!("    {line}")));
    }
    (!lines.is_empty()).then(|| format!("Not tried:\n{}", lines.join("\n")))
}
