//! Builds the arms of a study for a machine that may lack some of its levers.

mod ladder;

use std::collections::BTreeMap;

use model::ladder::LeftOut;
use model::lever::{LeverSetting, LeverState};
use model::study::{Arm, BaselineSpec, DesignKind, Program, Role, SERVE, StepSpec, Study};
use model::{Binds, Doubt};

use crate::pinned::name_of;

pub use ladder::confirmation;

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
    /// Steps that are not climbed at all.
    pub left_out: Vec<LeftOut>,
    /// Name the levers without which arms are not quite what the study says.
    pub doubts: Vec<Doubt>,
}

/// Builds the arms for a machine that offers `levers`. A lever that it does not offer is left out
/// of every arm, and named. A step is left out as a whole if nothing is left to change, or if its
/// program is not there.
pub fn build(study: &Study, programs: &Programs, levers: &[LeverState]) -> Arms {
    let builder = Builder {
        study,
        programs,
        levers,
    };
    let mut before = builder.baseline();
    let mut arms = vec![before.clone(), builder.control(&before)];
    let first = builder.first_levers();
    let (mut left_out, mut doubts) = (Vec::new(), builder.offer(&before.program).refused(&first));
    for step in &study.steps {
        let arm = match builder.after(step, &before, &arms) {
            Ok(arm) => arm,
            Err(why) => {
                left_out.push(why);
                continue;
            }
        };
        doubts.extend(builder.offer(&arm.program).refused(&step.add));
        arms.push(arm.clone());
        if study.design.kind == DesignKind::Ladder {
            before = arm;
        }
    }
    if let Some(whole) = &study.whole {
        arms.extend(ladder::beside_the_climb(&arms, whole));
    }
    if study.floor {
        arms.push(floor(&before));
    }
    Arms {
        arms,
        left_out,
        doubts,
    }
}

/// Builds one arm after the other.
struct Builder<'a> {
    study: &'a Study,
    programs: &'a Programs,
    levers: &'a [LeverState],
}

impl Builder<'_> {
    fn offer<'o>(&'o self, program: &'o Program) -> Offer<'o> {
        Offer {
            program,
            levers: self.levers,
        }
    }

    fn baseline(&self) -> Arm {
        let program = &self.programs.common;
        let BaselineSpec {
            title, published, ..
        } = &self.study.baseline;
        Arm {
            levers: self.offer(program).usable(&self.first_levers()),
            published: *published,
            ..Arm::new(BASELINE, title, Role::Baseline, program.clone())
        }
    }

    /// Returns the levers of the first state, without stand-ins for levers that the machine offers.
    fn first_levers(&self) -> Vec<LeverSetting> {
        let mut levers = self.study.first_levers();
        let offer = self.offer(&self.programs.common);
        let stand_ins = self.study.whole.iter().flat_map(|whole| &whole.stand_ins);
        for [lever, other] in stand_ins {
            levers.retain(|first| first != lever || offer.refusal(other).is_some());
        }
        levers
    }

    fn control(&self, baseline: &Arm) -> Arm {
        Arm {
            name: CONTROL.to_owned(),
            title: format!("{}, again", self.study.baseline.title),
            role: Role::Control,
            against: Some(BASELINE.to_owned()),
            published: None,
            ..baseline.clone()
        }
    }

    /// Returns the arm of a step, or why the step is left out.
    fn after(&self, step: &StepSpec, before: &Arm, arms: &[Arm]) -> Result<Arm, LeftOut> {
        if step.whole && self.study.whole.is_none() {
            return Err(only_whole(step));
        }
        self.programs.check(step, arms)?;
        let program = self.programs.named(step.target.as_deref());
        let offer = self.offer(&program);
        let levers = offer.after(step, &before.levers);
        let is_other = step.path.is_some() || step.workers.is_some();
        if levers == before.levers && program == before.program && !is_other {
            return Err(offer.why_left_out(step));
        }
        let against = match (self.study.design.kind, &step.against) {
            (DesignKind::Ladder, _) => before.name.clone(),
            (DesignKind::Compare, Some(other)) => other.clone(),
            (DesignKind::Compare, None) => BASELINE.to_owned(),
        };
        Ok(Arm {
            name: step.name.clone(),
            title: step.title.clone(),
            role: Role::Step,
            program,
            path: step.path.clone(),
            workers: step.workers,
            levers,
            against: Some(against),
            published: step.published,
        })
    }
}

fn only_whole(step: &StepSpec) -> LeftOut {
    LeftOut {
        step: step.name.clone(),
        why: "only the whole ladder, which `--whole` climbs, has it".to_owned(),
        of_the_boot: false,
    }
}

/// The programs that the arms of a study drive.
#[derive(Debug)]
pub struct Programs {
    /// The program of every arm that has none of its own.
    pub common: Program,
    /// The services that are not here, by name, and why.
    pub missing: BTreeMap<String, String>,
}

impl Programs {
    /// Uses one program for every arm.
    pub const fn all(common: Program) -> Self {
        Self {
            common,
            missing: BTreeMap::new(),
        }
    }

    fn named(&self, target: Option<&str>) -> Program {
        match target {
            None => self.common.clone(),
            Some(SERVE) => Program::Serve,
            Some(target) => Program::Service(name_of(target)),
        }
    }

    /// Checks that a step's program is here, and the arm that the step is compared with.
    fn check(&self, step: &StepSpec, arms: &[Arm]) -> Result<(), LeftOut> {
        let target = step.target.as_deref().map(name_of);
        let missing = target.and_then(|name| self.missing.get(&name));
        let has_arm = |name: &&String| arms.iter().any(|arm| arm.name == **name);
        let alone = step.against.as_ref().filter(|name| !has_arm(name));
        let why = missing.cloned().or_else(|| {
            alone.map(|name| format!("it is compared with `{name}`, which is left out"))
        });
        why.map_or(Ok(()), |why| {
            Err(LeftOut {
                step: step.name.clone(),
                why,
                of_the_boot: false,
            })
        })
    }
}

/// What a machine offers to a program under test.
struct Offer<'a> {
    program: &'a Program,
    levers: &'a [LeverState],
}

impl Offer<'_> {
    /// Returns the levers of an arm after a step; unchanged if the step changes nothing here.
    fn after(&self, step: &StepSpec, before: &[LeverSetting]) -> Vec<LeverSetting> {
        let is_held = |name: &str| before.iter().any(|lever| lever.name == name);
        let mut added = self.usable(&step.add);
        // A value that the machine holds by itself changes only an arm that holds another value.
        // Levers after a change are kept, because that change may move them.
        let changes = |lever: &LeverSetting| is_held(&lever.name) || !self.is_so(lever);
        let first = added.iter().position(changes).unwrap_or(added.len());
        added.drain(..first);
        let is_replaced = |held: &LeverSetting| added.iter().any(|lever| lever.name == held.name);
        let mut levers = before.to_vec();
        levers.retain(|held| !step.take_away.contains(held) && !is_replaced(held));
        levers.extend(added);
        levers
    }

    fn usable(&self, wanted: &[LeverSetting]) -> Vec<LeverSetting> {
        let mut usable = wanted.to_vec();
        usable.retain(|setting| self.refusal(setting).is_none());
        usable
    }

    fn state(&self, setting: &LeverSetting) -> Option<&LeverState> {
        self.levers.iter().find(|state| state.setting == *setting)
    }

    fn is_so(&self, setting: &LeverSetting) -> bool {
        self.state(setting).is_some_and(|state| state.is_so)
    }

    fn refusal(&self, setting: &LeverSetting) -> Option<String> {
        let Some(state) = self.state(setting) else {
            return Some("that version of Linerate has no such lever".to_owned());
        };
        match self.program {
            Program::Service(name) if state.only_serve => Some(format!(
                "{name} has no such switch, it is one of `linerate serve`"
            )),
            _ => state.unavailable.clone(),
        }
    }

    /// Returns a doubt for each lever that cannot be set.
    fn refused(&self, wanted: &[LeverSetting]) -> Vec<Doubt> {
        let refused = wanted.iter().filter_map(|setting| {
            Some(Doubt::LeverSkipped {
                lever: setting.to_string(),
                reason: self.refusal(setting)?,
            })
        });
        refused.collect()
    }

    /// Says why nothing of a step can be climbed: what it would set cannot be set or is so already,
    /// and what it would take away could not be set to begin with.
    fn why_left_out(&self, step: &StepSpec) -> LeftOut {
        let why = |setting: &LeverSetting| match self.refusal(setting) {
            Some(reason) => format!("{setting}: {reason}"),
            None => format!("{setting}: this machine is already set so"),
        };
        let all: Vec<String> = step.add.iter().chain(&step.take_away).map(why).collect();
        LeftOut {
            step: step.name.clone(),
            why: all.join("; "),
            of_the_boot: step.add.iter().any(|setting| {
                let state = self.state(setting);
                let is_refused = self.refusal(setting).is_some();
                is_refused && state.is_some_and(|state| state.binds == Binds::Boot)
            }),
        }
    }
}

/// Builds the bare echo under the levers of the last arm, so that only HTTP is between the two.
fn floor(last: &Arm) -> Arm {
    Arm {
        levers: last.levers.clone(),
        ..Arm::new(
            FLOOR,
            "bare echo of the same bytes",
            Role::Floor,
            Program::Echo,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(unavailable: Option<&str>) -> Vec<LeverState> {
        let study = study();
        let state = |setting: &LeverSetting| LeverState {
            setting: setting.clone(),
            is_so: false,
            binds: Binds::Live,
            unavailable: (setting.name == "conntrack")
                .then(|| unavailable.map(str::to_owned))
                .flatten(),
            only_serve: setting.name == "split-send" || setting.name == "rearm-oneshot",
        };
        study.baseline.levers.iter().map(state).collect()
    }

    fn study() -> Study {
        let found = crate::catalogue::find("http-json").unwrap();
        Study {
            whole: None,
            ..found.study.load().unwrap()
        }
    }

    #[test]
    fn a_ladder_has_each_step_against_the_one_before_and_ends_without_levers() {
        let arms = build(&study(), &Programs::all(Program::Serve), &states(None)).arms;
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
        let whole = build(&study(), &Programs::all(Program::Serve), &states(None))
            .arms
            .len();
        let built = build(
            &study(),
            &Programs::all(Program::Serve),
            &states(Some("EPERM")),
        );
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
        let why = "conntrack: EPERM".to_owned();
        let left_out = LeftOut {
            step: "conntrack".to_owned(),
            why,
            of_the_boot: false,
        };
        assert!(built.left_out.contains(&left_out));
    }

    /// Builds the whole ladder on a machine of which `told` says, by the name of a lever, whether
    /// it is so already and why it is unavailable. Returns the levers of the first state, those of
    /// the locality step, and the doubts.
    fn locality(
        told: impl Fn(&str) -> (bool, Option<&'static str>),
    ) -> (Vec<String>, Option<Vec<String>>, Vec<Doubt>) {
        let found = crate::catalogue::find("http-json").unwrap();
        let study = found.study.load().unwrap();
        let state = |setting: LeverSetting| LeverState {
            is_so: told(&setting.name).0,
            unavailable: told(&setting.name).1.map(str::to_owned),
            binds: Binds::Live,
            only_serve: false,
            setting,
        };
        let states: Vec<LeverState> = study.levers().into_iter().map(state).collect();
        let built = build(&study, &Programs::all(Program::Serve), &states);
        let words = |arm: &Arm| arm.levers.iter().map(ToString::to_string).collect();
        let step = built.arms.iter().find(|arm| arm.name == "locality");
        (words(&built.arms[0]), step.map(words), built.doubts)
    }

    const RECEIVE_STEERING: &str = "receive-packet-steering=0-1";
    /// The step as the article has it, in the order in which it is set.
    const ARTICLE: [&str; 4] = [
        "combined-channels=spread",
        "interrupt-affinity=spread",
        "transmit-packet-steering=spread",
        "connection-steering=cbpf",
    ];

    #[test]
    fn a_card_with_queues_takes_the_locality_step_of_the_article_and_nothing_in_its_place() {
        // What the first queue alone holds by itself, the others may not.
        let (first, step, doubts) = locality(|name| (name == "interrupt-affinity", None));
        assert!(!first.contains(&RECEIVE_STEERING.to_owned()), "{first:?}");
        assert!(first.contains(&"connection-steering=hash".to_owned()));
        let step = step.unwrap();
        assert!(step.ends_with(&ARTICLE.map(str::to_owned)), "{step:?}");
        assert_eq!(doubts, []);
    }

    #[test]
    fn without_workers_and_queues_receive_steering_stands_for_the_step_and_each_part_is_named() {
        let parts = ARTICLE.map(|part| part.split_once('=').unwrap().0);
        let missing = |name: &str| parts.contains(&name).then_some("it has one queue");
        let (first, step, doubts) = locality(|name| (false, missing(name)));
        assert!(first.contains(&RECEIVE_STEERING.to_owned()), "{first:?}");
        assert!(!step.unwrap().contains(&RECEIVE_STEERING.to_owned()));
        for part in ARTICLE {
            let told = format!("{part} was left out: it has one queue");
            assert!(
                doubts.iter().any(|doubt| doubt.what() == told),
                "{doubts:?}"
            );
        }
    }

    #[test]
    fn a_step_that_only_our_server_can_take_is_left_out_of_a_service_by_name() {
        let nginx = Program::Service("nginx".to_owned());
        let built = build(&study(), &Programs::all(nginx.clone()), &states(None));
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

    fn frameworks() -> Study {
        let found = crate::catalogue::find("http-frameworks").unwrap();
        found.study.load().unwrap()
    }

    #[test]
    fn programs_are_compared_with_the_first_of_their_path() {
        let arms = build(&frameworks(), &Programs::all(Program::Serve), &[]).arms;
        let arm = |name: &str| arms.iter().find(|arm| arm.name == name).unwrap();
        let caddy = Program::Service("caddy".to_owned());
        assert_eq!(arm("caddy").program, caddy);
        assert_eq!(arm("caddy").against.as_deref(), Some(BASELINE));
        let plain = arm("caddy-plaintext");
        assert_eq!(
            (&plain.program, plain.path.as_deref()),
            (&caddy, Some("/plaintext"))
        );
        assert_eq!(plain.against.as_deref(), Some("plaintext"));
        assert_eq!(arm("plaintext").program, Program::Serve);
        assert_eq!(arm(FLOOR).path, None);
    }

    #[test]
    fn a_program_that_is_not_here_is_left_out_with_what_is_compared_with_it() {
        let mut study = frameworks();
        for step in &mut study.steps {
            if step.name == "node-plaintext" {
                step.against = Some("caddy-plaintext".to_owned());
            }
        }
        let programs = Programs {
            missing: [("caddy".to_owned(), "Caddy is not here".to_owned())].into(),
            ..Programs::all(Program::Serve)
        };
        let built = build(&study, &programs, &[]);
        let left_out: Vec<(&str, &str)> = built
            .left_out
            .iter()
            .map(|left_out| (left_out.step.as_str(), left_out.why.as_str()))
            .collect();
        let alone = "it is compared with `caddy-plaintext`, which is left out";
        assert_eq!(
            left_out,
            [
                ("caddy", "Caddy is not here"),
                ("caddy-plaintext", "Caddy is not here"),
                ("node-plaintext", alone),
            ]
        );
        assert_eq!(built.arms.len() + left_out.len(), 16);
    }
}
