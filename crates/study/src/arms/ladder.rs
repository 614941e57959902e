//! The arms of a whole ladder besides those of its climb, derived from the arms that are climbed.

use std::collections::BTreeSet;

use model::ladder::{LAST, Whole, alone, both, without};
use model::lever::LeverSetting;
use model::run::Confirmation;
use model::study::{Arm, Role};

/// Returns each step alone on the first state, and the pairs of steps that are asked for together.
/// The first climbed step is alone on the first state anyhow.
pub(super) fn beside_the_climb(climbed: &[Arm], whole: &Whole) -> Vec<Arm> {
    let Some(first) = climbed.iter().find(|arm| arm.role == Role::Baseline) else {
        return Vec::new();
    };
    let rungs: Vec<Rung<'_>> = rungs(climbed).collect();
    let mut arms: Vec<Arm> = rungs
        .iter()
        .skip(1)
        .map(|rung| rung.alone_on(first))
        .collect();
    arms.extend(whole.together.iter().filter_map(|pair| {
        let of_step = |name: &String| rungs.iter().find(|rung| rung.arm.name == *name);
        let levers = of_step(&pair[1])?.on(&of_step(&pair[0])?.on(&first.levers));
        Some(Arm {
            name: both(pair),
            title: format!(
                "{} and {}",
                of_step(&pair[0])?.arm.title,
                of_step(&pair[1])?.arm.title
            ),
            role: Role::Both,
            levers,
            against: Some(first.name.clone()),
            published: None,
            ..first.clone()
        })
    }));
    arms.retain(|arm| !is_the_same_state(arm, first));
    arms
}

/// Plans how the last state is confirmed, without the steps that made things worse. There are no
/// arms if no step is left.
pub fn confirmation(climbed: &[Arm], dropped: &[String]) -> Confirmation {
    Confirmation {
        dropped: dropped.to_vec(),
        arms: confirming_arms(climbed, dropped).unwrap_or_default(),
    }
}

fn confirming_arms(climbed: &[Arm], dropped: &[String]) -> Option<Vec<Arm>> {
    let of_role = |role| climbed.iter().find(move |arm| arm.role == role);
    let (first, again) = (of_role(Role::Baseline)?, of_role(Role::Control)?);
    let kept: Vec<Rung<'_>> = rungs(climbed)
        .filter(|rung| !dropped.contains(&rung.arm.name))
        .collect();
    let top = kept.last()?;
    let state = |leaving_out: Option<&Rung<'_>>| {
        let taken = kept
            .iter()
            .filter(|rung| leaving_out.is_none_or(|left_out| left_out.arm.name != rung.arm.name));
        taken.fold(first.levers.clone(), |levers, rung| rung.on(&levers))
    };
    let last = Arm {
        name: LAST.to_owned(),
        title: format!("the last state, with “{}”", top.arm.title),
        role: Role::Last,
        levers: state(None),
        against: Some(first.name.clone()),
        ..top.arm.clone()
    };
    let lacking = kept.iter().map(|rung| Arm {
        name: without(&rung.arm.name),
        title: format!("without “{}”", rung.arm.title),
        role: Role::Without,
        levers: state(Some(rung)),
        against: Some(LAST.to_owned()),
        published: None,
        ..rung.arm.clone()
    });
    let lacking: Vec<Arm> = lacking
        .filter(|arm| !is_the_same_state(arm, &last))
        .collect();
    let mut arms = vec![first.clone(), again.clone(), last];
    arms.extend(lacking);
    Some(arms)
}

/// Whether two arms have the same levers, in whatever order.
fn is_the_same_state(one: &Arm, other: &Arm) -> bool {
    let levers = |arm: &Arm| arm.levers.iter().cloned().collect::<BTreeSet<_>>();
    levers(one) == levers(other)
}

/// A climbed step: its arm, and the arm of the state before it.
struct Rung<'a> {
    before: &'a Arm,
    arm: &'a Arm,
}

fn rungs(climbed: &[Arm]) -> impl Iterator<Item = Rung<'_>> {
    let steps = climbed.iter().filter(|arm| arm.role == Role::Step);
    steps.filter_map(|arm| {
        let against = arm.against.as_ref()?;
        let before = climbed.iter().find(|before| before.name == *against)?;
        Some(Rung { before, arm })
    })
}

impl Rung<'_> {
    /// Returns the levers of another state after this step. What the step took away is removed;
    /// what it added is added, and replaces any other value of the same lever.
    fn on(&self, state: &[LeverSetting]) -> Vec<LeverSetting> {
        let (before, after) = (&self.before.levers, &self.arm.levers);
        let added = after.iter().filter(|lever| !before.contains(lever));
        let is_left = |lever: &LeverSetting| {
            let is_taken = before.contains(lever) && !after.contains(lever);
            !is_taken && !added.clone().any(|new| new.name == lever.name)
        };
        let left = state.iter().filter(|lever| is_left(lever));
        left.chain(added.clone()).cloned().collect()
    }

    fn alone_on(&self, first: &Arm) -> Arm {
        Arm {
            name: alone(&self.arm.name),
            title: format!("“{}” alone", self.arm.title),
            role: Role::Alone,
            levers: self.on(&first.levers),
            against: Some(first.name.clone()),
            published: None,
            ..self.arm.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BASELINE, CONTROL};
    use super::*;
    use model::study::Program;

    fn arm(name: &str, role: Role, against: Option<&str>, levers: &[&str]) -> Arm {
        Arm {
            name: name.to_owned(),
            title: name.to_owned(),
            role,
            program: Program::Serve,
            path: None,
            workers: None,
            levers: levers.iter().map(|lever| lever.parse().unwrap()).collect(),
            against: against.map(str::to_owned),
            published: None,
        }
    }

    /// The steps: take a tap away, then put reno in the place of bbr, then add steering.
    fn climbed() -> Vec<Arm> {
        vec![
            arm(BASELINE, Role::Baseline, None, &["tap", "cc=bbr"]),
            arm(CONTROL, Role::Control, Some(BASELINE), &["tap", "cc=bbr"]),
            arm("quiet", Role::Step, Some(BASELINE), &["cc=bbr"]),
            arm("reno", Role::Step, Some("quiet"), &["cc=reno"]),
            arm("rps", Role::Step, Some("reno"), &["cc=reno", "rps=0-1"]),
        ]
    }

    fn levers(arms: &[Arm]) -> Vec<(&str, String)> {
        let words = |arm: &Arm| {
            let levers: Vec<String> = arm.levers.iter().map(ToString::to_string).collect();
            levers.join(" ")
        };
        arms.iter()
            .map(|arm| (arm.name.as_str(), words(arm)))
            .collect()
    }

    #[test]
    fn each_step_but_the_first_stands_alone_on_the_first_state_and_pairs_stand_together() {
        let whole = Whole {
            rig: model::rig::RigKind::Loopback,
            levers: Vec::new(),
            stand_ins: Vec::new(),
            confirm_rounds: 10,
            together: vec![["quiet".to_owned(), "rps".to_owned()]],
        };
        let arms = beside_the_climb(&climbed(), &whole);
        let expected = [
            ("alone:reno", "tap cc=reno".to_owned()),
            ("alone:rps", "tap cc=bbr rps=0-1".to_owned()),
            ("both:quiet+rps", "cc=bbr rps=0-1".to_owned()),
        ];
        assert_eq!(levers(&arms), expected);
    }

    #[test]
    fn the_last_state_is_without_what_made_things_worse_and_stands_beside_itself_without_each_step()
    {
        let found = confirmation(&climbed(), &["rps".to_owned()]);
        let expected = [
            (BASELINE, "tap cc=bbr".to_owned()),
            (CONTROL, "tap cc=bbr".to_owned()),
            (LAST, "cc=reno".to_owned()),
            ("without:quiet", "tap cc=reno".to_owned()),
            ("without:reno", "cc=bbr".to_owned()),
        ];
        assert_eq!(levers(&found.arms), expected);
        assert_eq!(found.dropped, ["rps"]);
    }

    #[test]
    fn where_every_step_made_things_worse_there_is_nothing_to_confirm() {
        let all = ["quiet", "reno", "rps"].map(str::to_owned);
        let found = confirmation(&climbed(), &all);
        assert_eq!(found.dropped, all);
        assert!(found.arms.is_empty());
    }

    #[test]
    fn a_step_that_a_later_one_overrules_is_not_left_out_of_the_last_state() {
        let mut climbed = climbed();
        climbed[2] = arm("cubic", Role::Step, Some(BASELINE), &["tap", "cc=cubic"]);
        climbed[3] = arm("reno", Role::Step, Some("cubic"), &["tap", "cc=reno"]);
        climbed.truncate(4);
        let found = confirmation(&climbed, &[]);
        let names: Vec<&str> = found.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, [BASELINE, CONTROL, LAST, "without:reno"]);
    }
}
