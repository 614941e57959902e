//! Settings that an arm of a study may have: costs of known kind and switches of our own server,
//! which are the rows of `crates/machine/planted.toml`, and the levers of the machine.
//!
//! A setting that binds live changes the network namespace of this process, and only if that
//! namespace is our own: see [`crate::namespace`]. A setting that reaches further needs the
//! permission of its owner.

mod cost;
mod packet_tap;
mod rules;
mod seccomp_filter;
mod token_bucket;
mod tuned;

use std::borrow::Cow;
use std::io;

pub use cost::all;
use model::Binds;
use model::lever::{Leave, LeverShape, ONE_WORKER, Takes};
use sys::classic_bpf::FilterInstruction;
use thiserror::Error;

use crate::levers::carry::CarryError;
use crate::levers::{Obstacle, ProgramPart, SPREAD};
use crate::namespace::{self, PrivateNamespace};
use crate::rig::qdisc::QdiscError;

/// A cost, switch or lever that an arm of a study can have.
pub trait Planted: Send + Sync {
    /// Its name in study files: lower-case words joined by hyphens.
    fn name(&'static self) -> &'static str;

    /// What must be redone before it takes effect.
    fn binds(&self) -> Binds;

    /// What it does and what it costs, in one sentence.
    fn summary(&'static self) -> &'static str;

    /// The values that it takes. Without a value it has its default.
    fn takes(&self) -> Takes;

    /// Whether it is a switch of our own server, which no other program has.
    fn only_serve(&self) -> bool;

    /// Whether the machine has the wanted value already, so that there is nothing to set.
    fn is_so(&'static self, _: Wanted<'_>) -> bool {
        false
    }

    /// `None` if this process can use it, otherwise the reason with its errno.
    fn unavailable(&'static self, wanted: Wanted<'_>) -> Option<String>;

    /// Sets it to a value, or to its default.
    ///
    /// # Errors
    /// If the value is out of range, there is no namespace of our own, or the kernel refuses it.
    fn set(&'static self, wanted: Wanted<'_>) -> Result<SetLever, PlantedError>;
}

/// What is wanted of a setting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The value as it was typed. Without a value it has its default.
    pub value: Option<&'a str>,
    pub leave: Leave,
    /// The CPUs of the server's workers, one each; empty if nobody names them.
    pub cpus: &'a [usize],
}

impl Wanted<'_> {
    /// The value. If it says to spread over CPUs without naming them, the CPUs of the workers are
    /// added.
    fn spelled(&self) -> Option<Cow<'_, str>> {
        match self.value? {
            SPREAD if !self.cpus.is_empty() => {
                let cpus = sys::cpu::format_list(self.cpus);
                Some(format!("{SPREAD}:{cpus}").into())
            }
            value => Some(value.into()),
        }
    }

    /// The reason why nothing can be spread, if there is just one worker.
    fn one_worker(&self) -> Option<String> {
        let is_spread = self.value == Some(SPREAD);
        (is_spread && self.cpus.len() == 1).then(|| ONE_WORKER.to_owned())
    }
}

/// The result of setting a lever.
pub enum SetLever {
    /// A setting that holds as long as this lives; dropping it undoes the setting.
    Held(Box<dyn Held + Send>),
    /// To be added to the start of the target's process.
    Child(ChildPart),
    /// To be added to the command line of our own server.
    ServeArgument(Vec<String>),
}

/// What a target's process takes on between fork and exec; see [`sys::process::ChildSetup`].
#[derive(Clone, Default)]
pub struct ChildPart {
    pub seccomp: Vec<FilterInstruction>,
    /// The levers of a program that it takes on.
    pub program: Vec<ProgramPart>,
}

/// A live setting of ours.
pub trait Held {
    /// Checks that it still holds, by what the kernel shows rather than by what was returned.
    ///
    /// # Errors
    /// Says what differs from what was set.
    fn verify(&self) -> Result<(), PlantedError>;

    /// Undoes it and checks that it is gone.
    ///
    /// # Errors
    /// What the kernel refused, or what is still there.
    fn undo(self: Box<Self>) -> Result<(), PlantedError>;
}

/// Why a lever could not be set, verified or undone.
#[derive(Debug, Error)]
pub enum PlantedError {
    #[error("{0}")]
    Words(String),
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    #[error(transparent)]
    Qdisc(#[from] QdiscError),
    #[error(transparent)]
    Carry(#[from] CarryError),
}

impl PlantedError {
    /// The error for a name that no lever has.
    pub fn unknown(name: &str) -> Self {
        Self::Words(format!("this version of Linerate has no lever `{name}`"))
    }

    /// The error for what the kernel refused while a lever did something.
    fn refused(lever: &str, doing: &str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Words(format!("{lever}: {doing} failed: {error}"))
    }

    fn without_effect(lever: &str, what: &str) -> Self {
        Self::Words(format!("{lever} did not take effect: {what}"))
    }

    fn beyond_us(lever: &str) -> Self {
        Self::Words(format!(
            "{lever} reaches further than a namespace of our own; with `--host` it is set for its \
             blocks and put back"
        ))
    }
}

/// Returns the proof that we are in a network namespace of our own, for a lever that is set nowhere
/// else.
fn ours(lever: &str) -> Result<PrivateNamespace, PlantedError> {
    namespace::ours().map_err(|reason| PlantedError::Words(format!("{lever}: {reason}")))
}

/// Does some work in the machine's network namespace.
fn in_the_machines<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, PlantedError> {
    namespace::in_the_machines(work).map_err(|error| {
        PlantedError::Words(format!(
            "the network namespace of the machine cannot be entered from ours: {error}"
        ))
    })
}

/// Finds the cost, the switch or the lever of that name.
pub fn find(name: &str) -> Option<&'static dyn Planted> {
    everything().find(|lever| lever.name() == name)
}

fn everything() -> impl Iterator<Item = &'static dyn Planted> {
    all().chain(tuned::all())
}

/// The form in which each may be written in a study file.
pub fn shapes() -> Vec<LeverShape> {
    let shape = |lever: &'static dyn Planted| LeverShape {
        name: lever.name(),
        takes: lever.takes(),
    };
    everything().map(shape).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sys::wake_latency;

    use super::*;

    fn beyond(on_host: bool) -> Leave {
        Leave {
            on_host,
            ..Leave::default()
        }
    }

    fn is_beyond_us(set: Result<SetLever, PlantedError>) -> bool {
        set.is_err_and(|error| error.to_string().contains("reaches further"))
    }

    #[test]
    fn everything_is_found_by_its_name_and_can_be_written_in_a_study() {
        for lever in everything() {
            assert_eq!(find(lever.name()).unwrap().summary(), lever.summary());
            assert!(
                lever.name().parse::<model::LeverSetting>().is_ok(),
                "{}",
                lever.name()
            );
        }
        assert!(find("no-such-lever").is_none());
    }

    #[test]
    fn each_has_a_page_of_its_own_and_no_page_is_of_none() {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/planted");
        let pages = std::fs::read_dir(pages).unwrap().map(|page| {
            let page = page.unwrap().path();
            page.file_stem().unwrap().to_str().unwrap().to_owned()
        });
        let names = all().map(|lever| lever.name()).chain(["README"]);
        assert_eq!(
            pages.collect::<BTreeSet<_>>(),
            names.map(str::to_owned).collect()
        );
    }

    #[test]
    fn live_levers_refuse_to_touch_a_namespace_that_is_not_ours() {
        // `nothing` sets nothing, so it works in any namespace.
        let sets = |lever: &&'static dyn Planted| {
            lever.binds() == Binds::Live && lever.name() != "nothing"
        };
        let live: Vec<_> = all().filter(sets).collect();
        assert_eq!(live.len(), 7);
        for lever in live {
            let refused = lever.set(Wanted::default()).err().unwrap();
            let unavailable = lever.unavailable(Wanted::default()).unwrap();
            for words in [refused.to_string(), unavailable] {
                assert!(words.contains("namespace of our own"), "{words}");
            }
        }
    }

    #[test]
    fn a_program_goes_before_all_others_only_with_leave() {
        let lever = find("scheduler").unwrap();
        let set = |value, on_host| {
            lever.set(Wanted {
                value: Some(value),
                leave: beyond(on_host),
                ..Wanted::default()
            })
        };
        for value in ["fifo:1", "rr:99"] {
            assert!(is_beyond_us(set(value, false)));
        }
        assert!(matches!(set("batch", false), Ok(SetLever::Child(_))));
        assert!(!is_beyond_us(set("fifo:1", true)));
    }

    #[test]
    fn what_a_program_holds_for_the_whole_machine_takes_leave_to_go_there() {
        let lever = find("cpu-dma-latency").unwrap();
        let wanted = |on_host| Wanted {
            value: Some("20us"),
            leave: beyond(on_host),
            ..Wanted::default()
        };
        assert!(is_beyond_us(lever.set(wanted(false))));
        assert!(lever.unavailable(wanted(false)).unwrap().contains("--host"));
        // Servers of other arms are up at the same time, so it holds only for an arm's blocks.
        assert_eq!(lever.binds(), Binds::Live);
        if let Ok(before_us) = wake_latency::now_us()
            && let Ok(SetLever::Held(held)) = lever.set(wanted(true))
        {
            held.verify().unwrap();
            assert_eq!(wake_latency::now_us().unwrap(), before_us.min(20));
            held.undo().unwrap();
            assert_eq!(wake_latency::now_us().unwrap(), before_us);
        }
        let of_the_program = find("timer-slack").unwrap().set(Wanted {
            value: Some("1us"),
            leave: beyond(false),
            ..Wanted::default()
        });
        assert!(matches!(of_the_program, Ok(SetLever::Child(_))));
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        for (name, value) in [
            ("nft-rules", "0"),
            ("packet-tap", "65"),
            ("packet-tap", "many"),
            ("conntrack", "1"),
            ("split-send", "2"),
            ("message-bytes", "0"),
            ("token-bucket", "1gbit"),
            ("nothing", "0"),
        ] {
            let wanted = Wanted {
                value: Some(value),
                leave: beyond(false),
                ..Wanted::default()
            };
            let error = find(name).unwrap().set(wanted).err().unwrap().to_string();
            let refusal = format!("{name} cannot be {value}; expected ");
            assert!(error.starts_with(&refusal), "{error}");
        }
    }
}
