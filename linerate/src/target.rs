//! The program that a study measures, as the command line names it.

use std::borrow::Cow;
use std::path::Path;

use anyhow::ensure;
use model::Study;
use model::service::Protocol;
use model::study::SERVE;
use study::Targets;
use study::services::{self, KnownService};

use crate::trust::TrustFlag;

/// Name of our own server in the sentences of a study.
const OURS: &str = "our own server";

/// Flags that choose the program under test.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct TargetFlags {
    /// Measure this service instead of our own server; `linerate service list` shows all services
    ///
    /// NAME@VERSION is only that version of it, such as nginx@1.24, and NAME@/PATH/OF/PROGRAM that
    /// program. A study that compares programs, such as http-frameworks, measures it beside the
    /// others.
    #[arg(long, value_name = "SERVICE")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) trust: TrustFlag,
}

impl TargetFlags {
    /// Returns the programs that the arms of a study load, if they can be loaded and their commands
    /// may be run. In a study that compares programs, the one that is asked for is one more.
    pub(crate) fn targets(&self, study: &mut Study) -> anyhow::Result<Targets> {
        let asked = self.target.as_ref().map(|name| self.service(name, study));
        let asked = asked.transpose()?.map(Box::new);
        if !study.compares_programs() {
            return Ok(Targets::Started {
                common: asked,
                own: Vec::new(),
                asked: None,
            });
        }
        let of_baseline = study.baseline.target.as_deref();
        let common = of_baseline
            .filter(|name| *name != SERVE)
            .map(|name| self.service(name, study).map(Box::new))
            .transpose()?;
        let own = study.own_targets().into_iter();
        let own: Vec<KnownService> = own
            .map(|name| self.service(name, study))
            .collect::<anyhow::Result<_>>()?;
        for (index, one) in own.iter().enumerate() {
            let is_alike = |other: &KnownService| {
                other.service.name == one.service.name && other.service != one.service
            };
            ensure!(
                !own[..index].iter().any(is_alike) && !common.iter().any(|it| is_alike(it)),
                "two targets of {} would be called `{}`; give one of their programs another path",
                study.name,
                one.service.name
            );
        }
        if let Some(one_more) = &asked {
            study::one_more::add(study, &one_more.service)?;
        }
        Ok(Targets::Started { common, own, asked })
    }

    fn service(&self, name: &str, study: &Study) -> anyhow::Result<KnownService> {
        let known = services::find(name)?;
        services::check_speaks(&known.service, Protocol::Http, &study.name)?;
        self.trust.check(&known.service)?;
        Ok(known)
    }

    /// Returns the name of the service that was asked for; of a service's file, the file's stem.
    pub(crate) fn name(&self) -> Option<Cow<'_, str>> {
        let target = self.target.as_ref()?;
        if !target.ends_with(".toml") {
            return Some(study::pinned::name_of(target).into());
        }
        Some(Path::new(target).file_stem()?.to_string_lossy())
    }
}

/// Returns what the program under test is called in sentences.
pub(crate) fn name(targets: &Targets) -> &str {
    match targets {
        Targets::Started {
            common: Some(known),
            ..
        } => &known.service.title,
        Targets::Started { .. }
        | Targets::Tried(_)
        | Targets::Watched(_)
        | Targets::Built { .. }
        | Targets::Running { .. } => OURS,
    }
}
