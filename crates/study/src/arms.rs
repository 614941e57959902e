//! The arms that follow from a study on a machine that may lack some of its levers.

use model::Doubt;
use model::lever::{LeverSetting, LeverState};
use model::study::{Arm, DesignKind, Program, Role, Study};

/// Name of the first arm.
pub const BASELINE: &str = "baseline";
/// Name of the A/A arm.
pub const CONTROL: &str = "control";
/// Name of the bare echo.
pub const FLOOR: &str = "floor";

/// The arms of a study, and what had to be left out.
#[derive(Debug, PartialEq)]
pub struct Arms {
    pub arms: Vec<Arm>,
    pub doubts: Vec<Doubt>,
}

/// Builds the arms for a machine that offers `levers`. A lever it does not offer is left out of
/// every arm by name; a step in which nothing is left to change is left out as a whole.
#[must_use]
pub fn build(study: &Study, program: &Program, levers: &[LeverState]) -> Arms {
    let refusal = |setting: &LeverSetting| refusal(setting, program, levers);
    let usable = |wanted: &[LeverSetting]| -> Vec<LeverSetting> {
        wanted
            .iter()
            .filter(|setting| refusal(setting).is_none())
            .cloned()
            .collect()
    };
    let baseline = Arm {
        name: BASELINE.to_owned(),
        title: study.baseline.title.clone(),
        role: Role::Baseline,
        program: program.clone(),
        levers: usable(&study.baseline.levers),
        against: None,
        published: study.baseline.published,
    };
    let control = Arm {
        name: CONTROL.to_owned(),
        title: format!("{}, again", study.baseline.title),
        role: Role::Control,
        against: Some(BASELINE.to_owned()),
        published: None,
        ..baseline.clone()
    };
    let mut arms = vec![baseline.clone(), control];
    let mut before = baseline;
    for step in &study.steps {
        let mut levers = before.levers.clone();
        levers.retain(|lever| !step.take_away.contains(lever));
        levers.extend(usable(&step.add));
        if levers == before.levers {
            continue;
        }
        let against = match study.design.kind {
            DesignKind::Ladder => before.name.clone(),
            DesignKind::Compare => BASELINE.to_owned(),
        };
        let arm = Arm {
            name: step.name.clone(),
            title: step.title.clone(),
            role: Role::Step,
            program: program.clone(),
            levers,
            against: Some(against),
            published: step.published,
        };
        arms.push(arm.clone());
        if study.design.kind == DesignKind::Ladder {
            before = arm;
        }
    }
    if study.floor {
        arms.push(floor(&before));
    }
    Arms {
        arms,
        doubts: left_out(study, refusal),
    }
}

/// The echo lives under the levers of the last arm, so that only HTTP is between the two.
fn floor(last: &Arm) -> Arm {
    Arm {
        name: FLOOR.to_owned(),
        title: "bare echo of the same bytes".to_owned(),
        role: Role::Floor,
        program: Program::Echo,
        levers: last.levers.clone(),
        against: None,
        published: None,
    }
}

fn refusal(setting: &LeverSetting, program: &Program, levers: &[LeverState]) -> Option<String> {
    let Some(state) = levers.iter().find(|state| state.name == setting.name) else {
        return Some("this version of Linerate has no such lever".to_owned());
    };
    match program {
        Program::Service(name) if state.only_serve => Some(format!(
            "{name} has no such switch, it is one of `linerate serve`"
        )),
        _ => state.unavailable.clone(),
    }
}

fn left_out(study: &Study, refusal: impl Fn(&LeverSetting) -> Option<String>) -> Vec<Doubt> {
    let mut wanted: Vec<&LeverSetting> = study.baseline.levers.iter().collect();
    wanted.extend(study.steps.iter().flat_map(|step| &step.add));
    wanted.dedup();
    let refused = wanted.into_iter().filter_map(|setting| {
        let reason = refusal(setting)?;
        Some(Doubt::LeverSkipped {
            lever: setting.to_string(),
            reason,
        })
    });
    refused.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Binds;

    fn states(unavailable: Option<&str>) -> Vec<LeverState> {
        let study = study();
        let state = |setting: &LeverSetting| LeverState {
            name: setting.name.clone(),
            binds: Binds::Live,
            unavailable: (setting.name == "conntrack")
                .then(|| unavailable.map(str::to_owned))
                .flatten(),
            only_serve: setting.name == "split-send" || setting.name == "rearm-oneshot",
        };
        study.baseline.levers.iter().map(state).collect()
    }

    fn study() -> Study {
        crate::catalogue::find("http-json")
            .unwrap()
            .study
            .load()
            .unwrap()
    }

    #[test]
    fn a_ladder_has_each_step_against_the_one_before_and_ends_without_levers() {
        let arms = build(&study(), &Program::Serve, &states(None)).arms;
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names.first(), Some(&BASELINE));
        assert_eq!(names.last(), Some(&FLOOR));
        assert_eq!(
            arms[0].levers, arms[1].levers,
            "the control is the baseline again"
        );
        assert_eq!(arms[3].against.as_deref(), Some("application"));
        assert!(arms[arms.len() - 2].levers.is_empty());
    }

    #[test]
    fn a_lever_that_the_machine_lacks_is_named_and_its_step_left_out() {
        let whole = build(&study(), &Program::Serve, &states(None)).arms.len();
        let built = build(&study(), &Program::Serve, &states(Some("EPERM")));
        assert_eq!(built.arms.len(), whole - 1);
        assert!(
            built
                .arms
                .iter()
                .all(|arm| arm.levers.iter().all(|l| l.name != "conntrack"))
        );
        let expected = Doubt::LeverSkipped {
            lever: "conntrack".to_owned(),
            reason: "EPERM".to_owned(),
        };
        assert_eq!(built.doubts, [expected]);
    }

    #[test]
    fn a_step_that_only_our_server_can_take_is_left_out_of_a_service_by_name() {
        let nginx = Program::Service("nginx".to_owned());
        let built = build(&study(), &nginx, &states(None));
        let names: Vec<&str> = built.arms.iter().map(|arm| arm.name.as_str()).collect();
        assert!(!names.contains(&"application"), "{names:?}");
        assert_eq!(built.arms[0].program, nginx);
        assert_eq!(built.arms[2].against.as_deref(), Some(BASELINE));
        let words: Vec<String> = built.doubts.iter().map(Doubt::what).collect();
        assert_eq!(words.len(), 2, "{words:?}");
        for (lever, words) in ["split-send", "rearm-oneshot"].iter().zip(&words) {
            assert!(
                words.starts_with(lever) && words.contains("nginx has no such switch"),
                "{words}"
            );
        }
    }
}
