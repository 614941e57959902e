//! The outcome of a trial: the proven levers and how to keep them set, and those that were not
//! tried.

use machine::levers::{self, Lasting};
use minijinja::context;
use minijinja::value::Serde;
use model::lever::LeverSetting;
use model::{Judgement, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use super::choice::{Choice, Untried, site};
use crate::console::Console;
use crate::shown::Addition;
use crate::told::{self, template};

/// Levers that were proven, how to keep them set, and levers that were not tried.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversTried {
    /// The levers with which the server was better, each by itself.
    proven: Vec<String>,
    /// Commands that set them by hand, until the next boot.
    commands: Vec<String>,
    /// A file for /etc/sysctl.d that sets those of them that are sysctls; null where none is.
    sysctl_d: Option<String>,
    /// A profile of tuned, /etc/tuned/linerate/tuned.conf, that sets those of them that are sysctls or
    /// files of /sys; null where none is.
    tuned: Option<String>,
    /// Levers that were asked for and not tried.
    untried: Vec<Untried>,
}

/// What the trial adds to the judgement of a run.
pub(super) fn of(choice: Choice, judgement: &Judgement, console: &Console) -> Addition {
    let verdicts = judgement.steps.iter();
    let better = verdicts.filter(|step| step.verdict == Verdict::Better);
    let proven: Vec<String> = better.map(|step| step.arm.clone()).collect();
    let tried = tried(proven, choice.untried);
    Addition {
        text: told::page(&tried, template!("levers-try"), console.width()),
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
    let chosen = lasting.iter().filter(|it| it.is_sysctl == of_sysctls);
    let lines = chosen.map(|Lasting { name, value, .. }| format!("{name}{between}{value}\n"));
    lines.collect()
}

/// The levers that were not tried, in words; empty where all were.
pub(super) fn untried(untried: &[Untried], console: &Console) -> String {
    let untried = context! { untried => Serde(untried) };
    told::page(&untried, template!("levers-try"), console.width())
}
