//! The arms of a study of commands: every combination of the levels that this machine has the
//! programs for.

use std::collections::BTreeMap;

use model::CommandStudy;
use model::command_run::CommandArm;
use model::command_study::{Against, Factor, Level};
use model::{CommandDoubt, Doubt, Role};

use crate::arms::CONTROL;
use crate::refusal::Refusal;

/// The arms of a study, and what is left out of them.
#[derive(Debug, PartialEq)]
pub struct CommandArms {
    pub arms: Vec<CommandArm>,
    pub doubts: Vec<Doubt>,
}

/// Maps a factor to its level.
type Levels = BTreeMap<String, String>;

/// Builds the arms for a machine that lacks the programs `absent`, which maps each to the reason
/// and what to do. The first combination occurs twice: its second arm is the control.
///
/// # Errors
/// If a factor has no level left, or the compared factor fewer than two.
pub fn build(
    study: &CommandStudy,
    absent: &BTreeMap<String, String>,
) -> Result<CommandArms, Refusal> {
    let mut doubts = Vec::new();
    let mut factors = Vec::new();
    for factor in &study.factors {
        let (levels, left_out) = usable_levels(factor, absent);
        let is_compared = factor.name == study.design.compare;
        if levels.is_empty() || (is_compared && levels.len() < 2) {
            return Err(nothing_left(factor, &left_out, is_compared));
        }
        doubts.extend(left_out.into_iter().map(Doubt::Command));
        factors.push((factor, levels));
    }
    let mut arms: Vec<CommandArm> = combinations(&factors)
        .into_iter()
        .map(|chosen| arm(study, &factors, &chosen))
        .collect();
    if let Some(baseline) = arms.first_mut() {
        baseline.role = Role::Baseline;
        let control = control(baseline);
        arms.insert(1, control);
    }
    Ok(CommandArms { arms, doubts })
}

/// The levels of a factor whose programs are there, and why the others are left out.
fn usable_levels<'a>(
    factor: &'a Factor,
    absent: &BTreeMap<String, String>,
) -> (Vec<&'a Level>, Vec<CommandDoubt>) {
    let reason = |level: &Level| {
        level
            .needs
            .iter()
            .find_map(|need| absent.get(need))
            .cloned()
    };
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for level in &factor.levels {
        match reason(level) {
            None => kept.push(level),
            Some(reason) => left_out.push(CommandDoubt::LevelLeftOut {
                factor: factor.title.clone(),
                level: level.title.clone(),
                reason,
            }),
        }
    }
    (kept, left_out)
}

fn nothing_left(factor: &Factor, left_out: &[CommandDoubt], is_compared: bool) -> Refusal {
    let title = &factor.title;
    let words: Vec<String> = left_out.iter().map(CommandDoubt::what).collect();
    let left_out = words.join("; ");
    Refusal(match is_compared {
        true => format!("nothing is left to compare of {title}: {left_out}"),
        false => format!("nothing is left of {title}: {left_out}"),
    })
}

/// Returns every choice of one level of each factor; the last factor changes fastest.
fn combinations<'a>(factors: &[(&'a Factor, Vec<&'a Level>)]) -> Vec<Vec<&'a Level>> {
    factors
        .iter()
        .fold(vec![Vec::new()], |chosen, (_, levels)| {
            let with = |before: &Vec<&'a Level>| {
                let before = before.clone();
                let add = move |level: &&'a Level| [&before[..], &[*level]].concat();
                levels.iter().map(add).collect::<Vec<_>>()
            };
            chosen.iter().flat_map(with).collect()
        })
}

fn arm(study: &CommandStudy, factors: &[(&Factor, Vec<&Level>)], chosen: &[&Level]) -> CommandArm {
    let titles: Vec<&str> = chosen.iter().map(|level| level.title.as_str()).collect();
    let named = |(factor, _): &(&Factor, Vec<&Level>)| factor.name.clone();
    let levels = chosen.iter().map(|level| level.name.clone());
    CommandArm {
        name: name(chosen),
        title: titles.join(", "),
        role: Role::Step,
        levels: factors.iter().map(named).zip(levels).collect::<Levels>(),
        against: against(study, factors, chosen),
    }
}

fn name(chosen: &[&Level]) -> String {
    let names: Vec<&str> = chosen.iter().map(|level| level.name.as_str()).collect();
    names.join(".")
}

/// Name of the arm that an arm is compared with: the one that differs only in the level of the
/// compared factor.
fn against(
    study: &CommandStudy,
    factors: &[(&Factor, Vec<&Level>)],
    chosen: &[&Level],
) -> Option<String> {
    let is_compared = |(factor, _): &(&Factor, _)| factor.name == study.design.compare;
    let place = factors.iter().position(is_compared)?;
    let levels = &factors[place].1;
    let own = levels.iter().position(|level| *level == chosen[place])?;
    let other = match study.design.against {
        Against::First => (own > 0).then_some(0)?,
        Against::Previous => own.checked_sub(1)?,
    };
    let mut others = chosen.to_vec();
    others[place] = levels[other];
    Some(name(&others))
}

fn control(baseline: &CommandArm) -> CommandArm {
    CommandArm {
        name: CONTROL.to_owned(),
        title: format!("{}, again", baseline.title),
        role: Role::Control,
        levels: baseline.levels.clone(),
        against: Some(baseline.name.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::study::StudyFile;

    fn study() -> CommandStudy {
        let text = include_str!("../../../../studies/strength-reduction.toml");
        match crate::spec::parse(text, "strength-reduction.toml").unwrap() {
            StudyFile::Commands(study) => *study,
            StudyFile::Load(_) => panic!("a study of commands"),
        }
    }

    fn absent(programs: &[&str]) -> BTreeMap<String, String> {
        let reason = |name: &&str| ((*name).to_owned(), format!("{name} is not installed"));
        programs.iter().map(reason).collect()
    }

    fn names(arms: &CommandArms) -> Vec<&str> {
        arms.arms.iter().map(|arm| arm.name.as_str()).collect()
    }

    #[test]
    fn every_combination_is_an_arm_and_the_first_comes_twice() {
        let built = build(&study(), &BTreeMap::new()).unwrap();
        let names = names(&built);
        assert_eq!(names.len(), 3 * 2 * 5 + 1);
        assert_eq!(names[..3], ["multiply.gcc.o3", CONTROL, "multiply.gcc.o0"]);
        assert_eq!(built.arms[0].levels, built.arms[1].levels);
        assert!(built.doubts.is_empty());
    }

    #[test]
    fn a_level_is_compared_with_the_first_or_the_one_before_in_its_own_cell() {
        let mut study = study();
        let against = |study: &CommandStudy| {
            let built = build(study, &BTreeMap::new()).unwrap().arms;
            let arm = built.iter().find(|arm| arm.name == "add-eight.clang.o1");
            arm.unwrap().against.clone().unwrap()
        };
        assert_eq!(against(&study), "multiply.clang.o1");
        study.design.against = Against::Previous;
        assert_eq!(against(&study), "add.clang.o1");
    }

    #[test]
    fn a_level_without_its_program_is_left_out_with_the_reason() {
        let built = build(&study(), &absent(&["clang", "objdump"])).unwrap();
        assert_eq!(built.arms.len(), 3 * 5 + 1);
        let words: Vec<String> = built.doubts.iter().map(Doubt::what).collect();
        assert_eq!(words.len(), 1, "{words:?}");
        assert!(words[0].contains("Clang") && words[0].contains("not installed"));
    }

    #[test]
    fn what_leaves_nothing_to_compare_is_refused_by_name() {
        let refused = build(&study(), &absent(&["gcc", "clang"])).unwrap_err();
        let words = refused.to_string();
        assert!(
            words.contains("Compiler") && words.contains("gcc is not"),
            "{words}"
        );
        let mut study = study();
        study.factors[0].levels[1].needs = vec!["gcc".to_owned()];
        study.factors[0].levels[2].needs = vec!["gcc".to_owned()];
        let words = build(&study, &absent(&["gcc"])).unwrap_err().to_string();
        assert!(words.contains("nothing is left to compare"), "{words}");
    }
}
