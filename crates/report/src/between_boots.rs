//! The section on a step that takes a reboot: what the run waits for and how the step is made, or
//! what was estimated between boots.

use model::judgement::{BetweenBoots, BootEstimate, BootResult, Outcome};
use model::reboot::{MeasuredBoot, Reboot};
use model::{Facts, Judgement, Role, RunRecord};

use crate::view::{Item, Page};
use crate::{numbers, sentences};

/// Adds the section to a page; nothing where the run asked for no reboot.
pub(crate) fn add_to(page: &mut Page, run: &RunRecord, judgement: &Judgement) {
    let Some((reboot, found)) = asked(run, judgement) else {
        return;
    };
    page.add(Item::Heading("Between boots"));
    page.paragraph(state(run, judgement, found));
    let boots = (1..).zip(&found.boots);
    let boots = boots.map(|(number, boot)| boot_line(number, boot, judgement.outcome));
    page.add(Item::List(boots.chain(what_differed(reboot)).collect()));
    page.paragraph(format!(
        "This machine boots with {}. Warning: {}. So take the step only on a single-tenant machine \
         that runs nothing untrusted.",
        reboot.change.loader, reboot.change.warning
    ));
    let make = "To take the step, type this as root, and then `linerate study resume` with the \
                folder of this run:";
    let leads = [make, "To go back, as root:"];
    for (lead, commands) in leads.into_iter().zip(commands_to_type(reboot, found)) {
        if !commands.is_empty() {
            page.add_to_browser(Item::Commands(lead.to_owned(), commands));
        }
    }
}

/// Returns the step and what was judged of it; `None` for a run that asked for no reboot.
fn asked<'a>(
    run: &'a RunRecord,
    judgement: &'a Judgement,
) -> Option<(&'a Reboot, &'a BetweenBoots)> {
    let found = judgement.ladder.as_ref()?.between_boots.as_ref()?;
    Some((run.reboot.as_ref()?, found))
}

/// Returns what a person types, or sentences where there is no command: first to take the step,
/// empty once it was measured; then to go back, empty where that is already done.
fn commands_to_type(reboot: &Reboot, found: &BetweenBoots) -> [Vec<String>; 2] {
    let step_is_on = reboot.boots.last().is_some_and(|boot| boot.has_step);
    let commands = |change: &[String], is_wanted: bool| {
        let change = change.iter().map(String::as_str).chain(["reboot"]);
        let wanted = change.filter(|_| is_wanted);
        wanted.map(str::to_owned).collect()
    };
    [
        commands(&reboot.change.make, found.waits),
        commands(&reboot.change.undo, found.waits || step_is_on),
    ]
}

/// Says that a run waits for a reboot, in a sentence that follows the answer.
pub(crate) fn waiting(run: &RunRecord, judgement: &Judgement) -> Option<String> {
    let found = judgement.ladder.as_ref()?.between_boots.as_ref()?;
    found.waits.then(|| {
        let (measured, title) = (climbed(run), &found.title);
        format!("It waits for a reboot: {measured}, “{title}” is not measured yet.")
    })
}

/// Formats the estimate for the list of steps that a run did not climb.
pub(crate) fn estimated(judgement: &Judgement, step: &str) -> Option<String> {
    let found = judgement.ladder.as_ref()?.between_boots.as_ref()?;
    let estimate = found.estimate.filter(|_| found.step == step)?;
    Some(format!(
        "estimated between boots at {} {} ({}), without a verdict",
        numbers::change_roughly(estimate.ratio),
        sentences::outcome_name(judgement.outcome),
        counted(&estimate)
    ))
}

fn climbed(run: &RunRecord) -> String {
    let steps = run.arms.iter().filter(|arm| arm.role == Role::Step);
    match steps.count() {
        1 => "1 step is measured".to_owned(),
        steps => format!("{steps} steps are measured"),
    }
}

fn state(run: &RunRecord, judgement: &Judgement, found: &BetweenBoots) -> String {
    let (title, option) = (&found.title, &found.option);
    match &found.estimate {
        Some(estimate) => estimate_in_words(found, estimate, judgement.outcome),
        None if found.waits => format!(
            "Waits for a reboot: {}, and the last state was measured once more in this boot. \
             “{title}” needs a kernel that is started with `{option}`.",
            climbed(run)
        ),
        None => format!(
            "“{title}” needs a reboot with `{option}`, and the last state is not yet measured in \
             full: `linerate study resume` continues."
        ),
    }
}

fn estimate_in_words(found: &BetweenBoots, estimate: &BootEstimate, outcome: Outcome) -> String {
    format!(
        "Between boots, “{}” (`{}`) changes {} by about {}: an estimate from {}, not from pairs, and \
         without a verdict. {}",
        found.title,
        found.option,
        sentences::outcome_name(outcome),
        numbers::change_roughly(estimate.ratio),
        counted(estimate),
        boot_noise(estimate)
    )
}

/// `1 boot without it and 1 with it`.
fn counted(estimate: &BootEstimate) -> String {
    let boots = if estimate.without == 1 {
        "boot"
    } else {
        "boots"
    };
    format!(
        "{} {boots} without it and {} with it",
        estimate.without, estimate.with
    )
}

/// Says what is known of how much boots of one state differ.
fn boot_noise(estimate: &BootEstimate) -> String {
    const MORE: &str = "each further reboot, with or without the step, and `linerate study resume` after it, adds a boot";
    let Some(apart) = estimate.same_arm_ratio else {
        return format!(
            "How much two boots of one state differ is not known with one boot of each, so there is \
             no interval; {MORE}."
        );
    };
    let is_lost = estimate.ratio.ln().abs() <= apart.ln();
    let apart = format!(
        "Two boots of one state came out up to {} apart{}",
        numbers::share(apart - 1.0),
        if is_lost {
            ", so this may be the boot and not the step"
        } else {
            ""
        }
    );
    match estimate.interval {
        Some([low, high]) => format!(
            "{apart}; over boots the 95 % interval by Welch's t is {} to {}.",
            numbers::change_roughly(low),
            numbers::change_roughly(high)
        ),
        None => format!("{apart}; an interval needs four boots of each, and {MORE}."),
    }
}

fn boot_line(number: u32, boot: &BootResult, outcome: Outcome) -> String {
    let kind = if boot.has_step { "with" } else { "without" };
    let figures = match outcome {
        Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
            boot.server_cpu_us_per_request.map(|found| {
                let interval = numbers::interval(&found, numbers::micros);
                let median = numbers::micros(found.value);
                format!(
                    "{median} µs of {} ({interval})",
                    sentences::outcome_name(outcome)
                )
            })
        }
        Outcome::Throughput => boot.throughput_rps.map(|found| {
            let interval = numbers::interval(&found, numbers::rate);
            format!("{} requests/s ({interval})", numbers::rate(found.value))
        }),
    };
    let figures = figures.unwrap_or_else(|| "nothing measured yet".to_owned());
    let control = boot.control.effect.as_ref();
    let control = control.map_or_else(String::new, |effect| {
        let drifted = if boot.drifted {
            ", which differs: the machine drifted within this boot, and the estimate may come from that"
        } else {
            ""
        };
        let effect = numbers::effect(effect);
        format!(", the last state against itself {effect}{drifted}")
    });
    let (done, planned) = (boot.rounds_done, boot.rounds_planned);
    format!("boot {number}, {kind} the step: {figures}{control}; {done} of {planned} rounds")
}

/// Lists what the kernel and the machine report differently in the first boot with the step than in
/// the first without it.
fn what_differed(reboot: &Reboot) -> Vec<String> {
    let first_boot = |has_step| {
        let mut boots = reboot.boots.iter();
        boots.find(|boot: &&MeasuredBoot| boot.has_step == has_step)
    };
    let (Some(without), Some(with)) = (first_boot(false), first_boot(true)) else {
        return Vec::new();
    };
    let (without, with) = (&without.facts, &with.facts);
    let said = "what the kernel reports without and with it: ";
    let besides = "what differs too, and so is in the estimate: ";
    let both = [
        listed(said, &weaknesses(without, with)),
        listed(besides, &surroundings(without, with)),
    ];
    both.into_iter().flatten().collect()
}

fn listed(lead: &str, parts: &[String]) -> Option<String> {
    (!parts.is_empty()).then(|| format!("{lead}{}", parts.join("; ")))
}

/// Lists the CPU weaknesses for which two boots report different mitigations.
pub(crate) fn weaknesses(one: &Facts, other: &Facts) -> Vec<String> {
    let differing = one.mitigations.iter().filter_map(|(name, before)| {
        let after = other.mitigations.get(name)?;
        (before != after).then(|| format!("{name} `{before}`, `{after}`"))
    });
    differing.collect()
}

fn surroundings(one: &Facts, other: &Facts) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let number = |value: Option<u64>| value.map_or_else(|| "none".to_owned(), numbers::duration);
    let values = |facts: &Facts| {
        [
            ("clock source", text(&facts.clocksource)),
            ("frequency governor", text(&facts.frequency_governor)),
            ("congestion control", text(&facts.congestion_control)),
            ("halt polling", number(facts.halt_poll_ns)),
            ("CPUs online", facts.cpus_online.to_string()),
        ]
    };
    let pairs = values(one).into_iter().zip(values(other));
    let differing = pairs.filter(|((_, before), (_, after))| before != after);
    let words = differing.map(|((name, before), (_, after))| format!("{name} {before}, {after}"));
    words.collect()
}

/// Returns what a person does next: the reboot that a run waits for, and the way back. The lines
/// are not broken, so that each can be copied; empty where nothing is to be done. `resume` is the
/// command that resumes the run.
pub fn next_steps(run: &RunRecord, judgement: &Judgement, resume: &str) -> Vec<String> {
    let Some((reboot, found)) = asked(run, judgement) else {
        return Vec::new();
    };
    let commands = |lead: &str, commands: &[String]| -> Vec<String> {
        let lines = commands.iter().map(|command| format!("  {command}"));
        std::iter::once(lead.to_owned()).chain(lines).collect()
    };
    let [make, undo] = commands_to_type(reboot, found);
    let mut lines = Vec::new();
    if !make.is_empty() {
        lines.extend(commands("to take the step, as root:", &make));
        lines.push(format!("and then: {resume}"));
    }
    if !undo.is_empty() {
        lines.extend(commands("to go back, as root:", &undo));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{html, sample, text};
    use model::judgement::{Judged, LadderJudgement};
    use model::reboot::{Boot, BootChange};
    use model::{Estimate, Verdict};

    const ADD: &str = "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX mitigations=off\" # linerate' \
                       >> /etc/default/grub";

    fn measured(has_step: bool, meltdown: &str) -> MeasuredBoot {
        let weakness = ("meltdown".to_owned(), meltdown.to_owned());
        MeasuredBoot {
            boot: Boot::default(),
            has_step,
            facts: Facts {
                mitigations: [weakness].into(),
                clocksource: Some(if has_step { "hpet" } else { "tsc" }.to_owned()),
                ..Facts::default()
            },
        }
    }

    fn result(has_step: bool, us: f64) -> BootResult {
        BootResult {
            has_step,
            server_cpu_us_per_request: Some(Estimate {
                value: us,
                low: us - 0.1,
                high: us + 0.1,
                n: 32,
            }),
            throughput_rps: None,
            control: Judged {
                verdict: Verdict::NoDifferenceThatMatters,
                effect: Some(sample::effect(1.002, 0.004)),
            },
            drifted: false,
            rounds_done: 16,
            rounds_planned: 16,
        }
    }

    /// Makes up a run that waits, or that has one boot of each kind.
    fn made_up(estimate: Option<BootEstimate>) -> (RunRecord, Judgement) {
        let (mut run, mut judgement) = (sample::run(), sample::judgement());
        let mut boots = vec![measured(false, "Mitigation: PTI")];
        let mut results = vec![result(false, 6.3)];
        if estimate.is_some() {
            boots.push(measured(true, "Vulnerable"));
            results.push(result(true, 5.0));
        }
        run.reboot = Some(Reboot {
            step: "mitigations".to_owned(),
            option: "mitigations=off".to_owned(),
            change: BootChange {
                loader: "GRUB".to_owned(),
                make: vec![ADD.to_owned(), "update-grub".to_owned()],
                undo: vec!["sed -i '/# linerate$/d' /etc/default/grub".to_owned()],
                warning: "other code may read the kernel's memory".to_owned(),
            },
            first: Boot::default(),
            arms: Vec::new(),
            rounds: 16,
            boots,
        });
        judgement.ladder = Some(LadderJudgement {
            rungs: Vec::new(),
            together: Vec::new(),
            confirmed: None,
            between_boots: Some(BetweenBoots {
                step: "mitigations".to_owned(),
                title: "no mitigations".to_owned(),
                option: "mitigations=off".to_owned(),
                waits: estimate.is_none(),
                boots: results,
                estimate,
            }),
        });
        (run, judgement)
    }

    const ESTIMATE: BootEstimate = BootEstimate {
        ratio: 0.79,
        without: 1,
        with: 1,
        same_arm_ratio: None,
        interval: None,
    };

    fn page((run, judgement): &(RunRecord, Judgement)) -> String {
        text::render(run, judgement, 2000, false)
    }

    #[test]
    fn a_run_that_waits_says_so_behind_its_answer_and_ends_with_what_to_type() {
        let made = made_up(None);
        let text = page(&made);
        let first = text.lines().next().unwrap_or_default();
        let waits =
            "It waits for a reboot: 5 steps are measured, “no mitigations” is not measured yet.";
        assert!(first.ends_with(waits), "{first}");
        let steps = next_steps(&made.0, &made.1, "linerate study resume runs/one").join("\n");
        for line in [
            &format!("\n  {ADD}\n  update-grub\n  reboot\n"),
            "and then: linerate study resume runs/one",
            "to go back, as root:\n  sed -i",
        ] {
            assert!(steps.contains(line), "{line} is not in {steps}");
        }
    }

    #[test]
    fn the_page_has_the_commands_as_they_are_typed_and_the_warning() {
        let (run, judgement) = made_up(None);
        let page = html::render(&run, &[], &judgement);
        let typed = minijinja::HtmlEscape(ADD).to_string();
        assert!(page.contains(&typed), "{typed}");
        assert!(page.contains("So take the step only on a single-tenant machine"));
    }

    #[test]
    fn two_boots_are_an_estimate_with_what_is_not_known_beside_it() {
        let made = made_up(Some(ESTIMATE));
        let text = page(&made);
        for words in [
            "by about −21 %: an estimate from 1 boot without it and 1 with it, not from pairs",
            "is not known with one boot of each",
            "boot 2, with the step: 5.00 µs",
            "meltdown `Mitigation: PTI`, `Vulnerable`",
            "so is in the estimate: clock source tsc, hpet",
        ] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        assert!(!text.contains("waits for a reboot"), "{text}");
        let steps = next_steps(&made.0, &made.1, "again").join("\n");
        assert!(steps.starts_with("to go back, as root:"), "{steps}");
    }

    #[test]
    fn the_way_back_is_told_where_the_step_stands_and_nowhere_else() {
        let (mut run, judgement) = made_up(Some(ESTIMATE));
        let heading = "To go back, as root";
        assert!(html::render(&run, &[], &judgement).contains(heading));
        let gone_back = measured(false, "Mitigation: PTI");
        run.reboot.as_mut().unwrap().boots.push(gone_back);
        assert!(!html::render(&run, &[], &judgement).contains(heading));
        assert!(next_steps(&run, &judgement, "again").is_empty());
    }

    #[test]
    fn a_boot_in_which_the_last_state_differs_from_itself_is_told_to_have_drifted() {
        let mut made = made_up(Some(ESTIMATE));
        assert!(!page(&made).contains("drifted"));
        let between = made.1.ladder.as_mut().unwrap().between_boots.as_mut();
        between.unwrap().boots[1].drifted = true;
        let text = page(&made);
        let of_second = text.find("boot 2, with the step").unwrap();
        assert!(
            text[of_second..].contains("the machine drifted within this boot"),
            "{text}"
        );
        assert!(!text[..of_second].contains("drifted"), "{text}");
    }

    #[test]
    fn an_estimate_within_what_boots_differ_by_anyhow_is_called_so() {
        let said = |same_arm_ratio, interval| {
            let estimate = BootEstimate {
                same_arm_ratio: Some(same_arm_ratio),
                interval,
                ..ESTIMATE
            };
            page(&made_up(Some(estimate)))
        };
        let lost = "may be the boot and not the step";
        assert!(said(1.3, None).contains(lost));
        let clear = said(1.03, Some([0.7, 0.9]));
        assert!(!clear.contains(lost), "{clear}");
        assert!(clear.contains("Welch's t is −30 % to −10 %"), "{clear}");
    }
}
