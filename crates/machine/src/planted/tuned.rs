//! A lever of the machine as a part of an arm. It holds during the arm's blocks, and is put back
//! before a block of an arm without it.

use std::net::IpAddr;
use std::sync::LazyLock;

use model::Binds;
use model::lever::Takes;

use super::{ChildPart, Held, Planted, PlantedError, SetLever, Wanted, in_the_machines};
use crate::levers::carry::{self, KnobFate};
use crate::levers::{self, AtStart, Knob, Lever, Plan, Scope, Site, program};
use crate::namespace::{self, PrivateNamespace};

const LOOPBACK: &str = "lo";

static ALL: LazyLock<Vec<Tuned>> = LazyLock::new(|| levers::all().map(Tuned).collect());

/// Every lever, as an arm may have it.
pub(super) fn all() -> impl Iterator<Item = &'static dyn Planted> {
    ALL.iter().map(|tuned| -> &dyn Planted { tuned })
}

struct Tuned(&'static Lever);

impl Planted for Tuned {
    fn name(&'static self) -> &'static str {
        &self.0.name
    }

    fn binds(&self) -> Binds {
        self.0.binds
    }

    fn summary(&'static self) -> &'static str {
        &self.0.about
    }

    fn takes(&self) -> Takes {
        Takes::Words(self.0.values())
    }

    fn only_serve(&self) -> bool {
        self.0.is_of_our_server()
    }

    fn is_so(&'static self, wanted: Wanted<'_>) -> bool {
        if self.0.at_start(wanted.value).is_some() {
            return false;
        }
        let is_so = |reach: Reach| {
            reach.at(|| {
                let plan = self.0.plan(&reach.site(), wanted.spelled().as_deref());
                plan.is_ok_and(|plan| plan.steps.is_empty())
            })
        };
        self.reach(wanted).and_then(is_so).unwrap_or(false)
    }

    fn unavailable(&'static self, wanted: Wanted<'_>) -> Option<String> {
        if let Some(at_start) = self.at_start(wanted) {
            let rehearsed = at_start.and_then(|at_start| Ok(at_start.rehearse(wanted.cpus)?));
            return rehearsed.err().map(|refused| refused.to_string());
        }
        if let Some(why) = wanted.one_worker() {
            return Some(why);
        }
        let can_be_held = |reach: Reach| {
            reach.at(|| {
                let site = reach.site();
                self.plan(&site, reach, wanted)?.can_be_held(&site)?;
                Ok(())
            })?
        };
        let error: PlantedError = self.reach(wanted).and_then(can_be_held).err()?;
        Some(error.to_string())
    }

    fn set(&'static self, wanted: Wanted<'_>) -> Result<SetLever, PlantedError> {
        if let Some(at_start) = self.at_start(wanted) {
            return at_start.and_then(|at_start| self.of_an_arm(at_start));
        }
        let reach = self.reach(wanted)?;
        let held = reach.at(|| -> Result<_, PlantedError> {
            let site = reach.site();
            let plan = self.plan(&site, reach, wanted)?;
            Ok(match reach {
                Reach::Ours(proof) => carry::Held::in_our_namespace(&plan, &site, proof)?,
                Reach::InPlace | Reach::Machine | Reach::Card(_) => {
                    carry::Held::on_the_host(&plan, &site)?
                }
            })
        })??;
        Ok(SetLever::Held(Box::new(HeldLever {
            name: self.name(),
            reach,
            held: Some(held),
        })))
    }
}

impl From<AtStart> for SetLever {
    fn from(at_start: AtStart) -> Self {
        match at_start {
            AtStart::Program(part) => Self::Child(ChildPart {
                program: vec![part],
                ..ChildPart::default()
            }),
            AtStart::Server(part) => Self::ServeArgument(part.arguments()),
        }
    }
}

/// Where a lever is set for an arm.
#[derive(Clone, Copy)]
enum Reach {
    Ours(PrivateNamespace),
    /// The namespace that we are in, where somebody's server runs. The journal records the change.
    InPlace,
    Machine,
    /// A network card of the machine, found by one of its addresses.
    Card(IpAddr),
}

impl Reach {
    /// The place that its levers are asked about. The load on a server in its place goes over
    /// loopback.
    fn site(self) -> Site {
        match self {
            Self::InPlace => Site::here(Some(LOOPBACK.parse().expect("it is a name"))),
            Self::Card(address) => Site::towards(address),
            Self::Ours(_) | Self::Machine => Site::here(None),
        }
    }

    /// Does some work in that place.
    fn at<T: Send>(self, work: impl FnOnce() -> T + Send) -> Result<T, PlantedError> {
        match self {
            Self::Ours(_) | Self::InPlace => Ok(work()),
            Self::Machine | Self::Card(_) => in_the_machines(work),
        }
    }
}

impl Tuned {
    /// Sets a lever that is set at start. If a program would hold it for others too, we hold it for
    /// the arm's blocks, since the servers of several arms are up at the same time.
    fn of_an_arm(&'static self, at_start: AtStart) -> Result<SetLever, PlantedError> {
        let held = match &at_start {
            AtStart::Program(part) => part.hold(),
            AtStart::Server(_) => None,
        };
        let Some(held) = held else {
            return Ok(at_start.into());
        };
        Ok(SetLever::Held(Box::new(HeldOpen {
            lever: self.name(),
            held: held?,
        })))
    }

    /// Returns what a program is to be started with. If that reaches further than the program, or
    /// lets it run before all others, the study must be allowed to do so.
    fn at_start(&'static self, wanted: Wanted<'_>) -> Option<Result<AtStart, PlantedError>> {
        let at_start = self.0.at_start(wanted.value)?;
        let starves =
            matches!(&at_start, Ok(AtStart::Program(part)) if part.goes_before_all_others());
        let may_reach = match self.0.scope {
            Scope::Process | Scope::Socket if !starves => Ok(()),
            _ => self.reach(wanted).map(drop),
        };
        Some(may_reach.and_then(|()| Ok(at_start?)))
    }

    /// Returns where the lever is set, if the study may reach that far.
    fn reach(&'static self, wanted: Wanted<'_>) -> Result<Reach, PlantedError> {
        let lever = self.name();
        match (self.0.scope, namespace::ours()) {
            (Scope::Namespace, _) if wanted.leave.in_place => Ok(Reach::InPlace),
            (Scope::Device, _) if wanted.leave.in_place => match wanted.leave.on_host {
                true => Ok(Reach::InPlace),
                false => Err(PlantedError::beyond_us(lever)),
            },
            (Scope::Namespace | Scope::Device, Ok(proof)) => Ok(Reach::Ours(proof)),
            (Scope::Device, Err(_)) if let Some(address) = wanted.leave.card_at => {
                match wanted.leave.on_host {
                    true => Ok(Reach::Card(address)),
                    false => Err(PlantedError::beyond_us(lever)),
                }
            }
            (Scope::Namespace | Scope::Device, Err(_)) => Err(PlantedError::Words(format!(
                "{lever} is set in a network namespace of our own, and there is none here; `--rig \
                 netns` makes one"
            ))),
            // A lever that only a person can set says so itself.
            (Scope::Boot, _) => Ok(Reach::Machine),
            _ if wanted.leave.on_host => Ok(Reach::Machine),
            _ => Err(PlantedError::beyond_us(lever)),
        }
    }

    /// Returns what would be set. A lever of a namespace that would also change things outside it
    /// cannot be part of an arm.
    fn plan(
        &'static self,
        site: &Site,
        reach: Reach,
        wanted: Wanted<'_>,
    ) -> Result<Plan, PlantedError> {
        let plan = self.0.plan(site, wanted.spelled().as_deref())?;
        match reach {
            Reach::Ours(_) if !plan.is_of_a_namespace() => Err(PlantedError::Words(format!(
                "{} is set on a device, and reaches the whole machine: a study sets it only over \
                 `--hosts`, with `--host`",
                self.name()
            ))),
            _ => Ok(plan),
        }
    }
}

/// A setting that holds as long as its descriptor is open.
struct HeldOpen {
    lever: &'static str,
    held: program::Held,
}

impl Held for HeldOpen {
    fn verify(&self) -> Result<(), PlantedError> {
        let verified = self.held.verify();
        verified.map_err(|what| PlantedError::without_effect(self.lever, &what))
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        Ok(())
    }
}

struct HeldLever {
    name: &'static str,
    reach: Reach,
    /// `None` once it was put back.
    held: Option<carry::Held>,
}

impl Held for HeldLever {
    fn verify(&self) -> Result<(), PlantedError> {
        let Some(held) = &self.held else {
            return Ok(());
        };
        Ok(self.reach.at(|| held.verify())??)
    }

    fn undo(mut self: Box<Self>) -> Result<(), PlantedError> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        let not_back = self.reach.at(|| held.put_back())??;
        let Some((knob, fate)) = not_back.first() else {
            return Ok(());
        };
        Err(PlantedError::Words(format!(
            "{} could not be put back: {}",
            self.name,
            what_became(knob, fate)
        )))
    }
}

impl Drop for HeldLever {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            // No caller is left to report an error to; `linerate levers undo` puts back what is in
            // the journal.
            let _ = self.reach.at(|| drop(held));
        }
    }
}

fn what_became(knob: &Knob, fate: &KnobFate) -> String {
    match fate {
        KnobFate::SetByOthers { now, ours } => {
            format!(
                "{knob} holds `{now}` where we had set `{ours}`: somebody else has set it since"
            )
        }
        KnobFate::Refused { why } => format!("{knob}: {why}"),
        _ => format!("{knob}: see `linerate levers journal`"),
    }
}
