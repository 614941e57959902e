//! Commands that run once at the end of a study and whose output is saved: a disassembly, a
//! profile, a listing.

use model::command::Ran;
use model::command_run::{CommandArm, Evidence, EvidencePiece};
use model::command_study::{CpuUse, EvidenceSpec, LONGEST_STEP_S};
use model::{CommandDoubt, Doubt};

use super::hands::ArmCommands;
use crate::campaign::CampaignError;

/// The version of the shape of [`Evidence`].
const FORMAT: u32 = 1;

/// Runs the commands of the evidence. A command that cannot be run or fails becomes a doubt,
/// because the measurements hold without it.
pub(super) fn gather(
    hands: &mut ArmCommands<'_>,
    absent: &std::collections::BTreeMap<String, String>,
) -> Result<Evidence, CampaignError> {
    let mut evidence = Evidence {
        format: FORMAT,
        ..Evidence::default()
    };
    for spec in &hands.filler.study.evidence {
        let reason = spec.needs.iter().find_map(|need| absent.get(need)).cloned();
        if let Some(reason) = reason.or_else(|| level_left_out(spec, hands.arms)) {
            evidence.doubts.push(left_out(spec, reason));
            continue;
        }
        let words = hands.filler.command(&spec.run, &spec.levels, None);
        match hands.run(&words, LONGEST_STEP_S, CpuUse::All) {
            Ok(ran) if ran.is_cut => evidence.doubts.push(too_long(spec, &ran)),
            Ok(ran) => {
                evidence.doubts.extend(failed(spec, &ran, hands));
                evidence.pieces.push(piece(spec, &words, &ran, hands));
            }
            Err(CampaignError::Agent(refused)) if refused.is_refusal() => {
                evidence.doubts.push(left_out(spec, refused.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(evidence)
}

fn level_left_out(spec: &EvidenceSpec, arms: &[CommandArm]) -> Option<String> {
    let has = |arm: &CommandArm| {
        let mut levels = spec.levels.iter();
        levels.all(|(factor, level)| arm.levels.get(factor) == Some(level))
    };
    (!arms.iter().any(has)).then(|| "a level of its command was left out".to_owned())
}

fn left_out(spec: &EvidenceSpec, reason: String) -> Doubt {
    Doubt::Command(CommandDoubt::EvidenceLeftOut {
        title: spec.title.clone(),
        reason,
    })
}

/// Returns the doubt about a piece that is left out because its output was cut: counts in its
/// beginning would pass for counts in the whole.
fn too_long(spec: &EvidenceSpec, ran: &Ran) -> Doubt {
    let kept = ran.output.len();
    let reason = format!("its command printed more than the {kept} bytes that are kept of it");
    left_out(spec, reason)
}

fn failed(spec: &EvidenceSpec, ran: &Ran, hands: &ArmCommands<'_>) -> Option<Doubt> {
    let end = ran.reading.end;
    (!end.is_success()).then(|| {
        let words = hands.filler.shown(&ran.reading.last_words);
        let reason = [end.words(), words].join(" ").trim().to_owned();
        left_out(spec, format!("its command {reason}"))
    })
}

fn piece(
    spec: &EvidenceSpec,
    words: &[String],
    ran: &Ran,
    hands: &ArmCommands<'_>,
) -> EvidencePiece {
    let output = hands.filler.shown(&ran.output);
    let lines: Vec<String> = output
        .lines()
        .map(|line| foreign::shown(line).into())
        .collect();
    let kept = lines.len().min(spec.lines as usize);
    let holding = |text: &String| {
        let holds = lines.iter().filter(|line| line.contains(text.as_str()));
        (text.clone(), count(holds.count()))
    };
    EvidencePiece {
        title: spec.title.clone(),
        command: hands.filler.shown_command(words),
        end: ran.reading.end,
        output: lines[..kept].join("\n"),
        lines_left_out: count(lines.len() - kept),
        counts: spec.count.iter().map(holding).collect(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
