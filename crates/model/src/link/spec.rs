//! A link as a study file describes it, in the words of the command line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::impossible;
use super::spelling::{Said, Setting};
use super::{ImpossibleLink, LinkPlan, Via};

/// The properties of a link, each as it is typed after the flag of that name of `linerate link`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkSpec {
    /// Delay in each direction, with its unit: ms, us, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    /// How fast bits leave, with its unit: bit/s, kbit/s, Mbit/s, Gbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// A higher rate while there is credit: burst=RATE,bucket=SIZE,base=RATE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credit: Option<String>,
    /// Share of the packets lost by chance, %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// Share of the packets, %, that skip the delay, or a given part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<String>,
    /// How much may wait for the rate: packets, a size or a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// KEY=VALUE for the direction from client to server alone; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub up: Vec<String>,
    /// KEY=VALUE for the direction from server to client alone; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<String>,
    /// Seed of losses and reordering; if absent, that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What carries the link: a program of ours by packet sockets, or a queueing
    /// discipline of the kernel.
    pub via: Via,
}

impl LinkSpec {
    /// Makes the plan of the link.
    ///
    /// # Errors
    /// A word that has no meaning, words that contradict each other, or a link that is impossible.
    pub fn plan(&self) -> Result<LinkPlan, ImpossibleLink> {
        if self.rate.is_some() && self.credit.is_some() {
            return impossible(
                "`rate` and `credit` both say how fast bits leave; expected one of them",
            );
        }
        let said = Said {
            both: self.both()?,
            up: settings(&self.up)?,
            down: settings(&self.down)?,
        };
        LinkPlan::new(said.shapes()?, self.seed, self.via)
    }

    fn both(&self) -> Result<Vec<Setting>, ImpossibleLink> {
        let fields = [
            ("delay", &self.delay),
            ("rate", &self.rate),
            ("credit", &self.credit),
            ("loss", &self.loss),
            ("reorder", &self.reorder),
            ("queue", &self.queue),
        ];
        let said = fields.into_iter().filter_map(|(key, value)| {
            let value = value.as_deref()?;
            Some(Setting::of(key, value).map_err(ImpossibleLink))
        });
        said.collect()
    }
}

fn settings(texts: &[String]) -> Result<Vec<Setting>, ImpossibleLink> {
    let settings = texts
        .iter()
        .map(|text| text.parse().map_err(ImpossibleLink));
    settings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::spelling;

    fn text(word: &str) -> Option<String> {
        Some(word.to_owned())
    }

    #[test]
    fn the_words_of_a_study_make_the_link_that_the_flags_make() {
        let spec = LinkSpec {
            delay: text("20ms"),
            loss: text("0.1%"),
            down: vec!["rate=10Mbit/s".to_owned()],
            ..LinkSpec::default()
        };
        let plan = spec.plan().unwrap();
        assert_eq!(
            (plan.up.delay_ns, plan.down.delay_ns),
            (20_000_000, 20_000_000)
        );
        assert_eq!((plan.up.rate, plan.up.loss_share), (None, 0.001));
        assert_eq!(plan.down.rate, Some(spelling::steady(10_000_000)));
        let respelled = LinkSpec {
            delay: text("20000us"),
            ..spec
        };
        assert_eq!(respelled.plan(), Ok(plan));
    }

    #[test]
    fn words_that_contradict_each_other_or_mean_nothing_are_refused() {
        let both = LinkSpec {
            rate: text("1Mbit/s"),
            credit: text("burst=5Mbit/s,bucket=1MB,base=1Mbit/s"),
            ..LinkSpec::default()
        };
        let none = LinkSpec {
            up: vec!["jitter=1ms".to_owned()],
            ..LinkSpec::default()
        };
        let lacking = LinkSpec {
            delay: text("20ms"),
            via: Via::Tbf,
            ..LinkSpec::default()
        };
        for (spec, why) in [
            (both, "expected one of them"),
            (none, "`jitter` is none of"),
            (lacking, "tbf has no delay"),
        ] {
            let error = spec.plan().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn only_what_is_said_is_written_down() {
        let spec = LinkSpec {
            delay: text("20ms"),
            ..LinkSpec::default()
        };
        let written = serde_json::to_string(&spec).unwrap();
        assert_eq!(written, r#"{"delay":"20ms","via":"userspace"}"#);
        assert_eq!(serde_json::from_str::<LinkSpec>(&written).unwrap(), spec);
    }
}
