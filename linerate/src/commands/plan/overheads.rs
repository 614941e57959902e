//! Overheads on the wire, as a run of the study `vpn` measured them.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use model::judgement::{ArmFigures, FactorialJudgement};
use model::run::RunKind;
use model::verdict::Estimate;

use super::price_list::{MeasuredBy, OVERHEADS, Overhead};

/// A run that measured overheads.
pub(super) struct MeasuredOverheads {
    folder: PathBuf,
    judged: FactorialJudgement,
}

impl MeasuredOverheads {
    pub(super) fn of(folder: &Path) -> anyhow::Result<Self> {
        let place = folder.display();
        ensure!(
            report::folder::kind(folder)? == RunKind::Commands,
            "--overheads {place}: it is not a run of `linerate study run vpn`"
        );
        let (run, blocks, _) = report::folder::read_commands(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            judged: judge::judge_commands(&run, &blocks),
        })
    }

    /// Returns a remark if doubts or missing rounds weaken its figures.
    pub(super) fn note(&self) -> Option<String> {
        let (judged, place) = (&self.judged, self.folder.display());
        let is_whole = judged.rounds_done >= judged.rounds_planned;
        (!judged.doubts.is_empty() || !is_whole).then(|| {
            format!(
                "{place}: doubts: {}, rounds: {} of {}; `linerate study report {place}` says more",
                judged.doubts.len(),
                judged.rounds_done,
                judged.rounds_planned
            )
        })
    }

    /// Returns the share of an overhead and the source of the share.
    ///
    /// # Errors
    /// When the run has no usable figure of it: says why.
    pub(super) fn share(&self, overhead: &Overhead) -> Result<(f64, String), String> {
        let (name, place) = (&overhead.name, self.folder.display());
        let by = overhead.measured.as_ref();
        let by = by.ok_or_else(|| format!("{name}: the list names no arm that measures it"))?;
        let found = self.arm(by).and_then(|arm| Some((arm, figure(arm, by)?)));
        let (arm, figure) = found.ok_or_else(|| {
            format!("{name}: {place} has no figure for it, so the list's figure is used")
        })?;
        let share = figure.value / 100.0;
        if !OVERHEADS.contains(&share) {
            return Err(format!(
                "{name}: {place} has {} %, which cannot be an overhead, so the list's figure is used",
                figure.value
            ));
        }
        Ok((share, format!("{place}, {}, runs: {}", arm.title, figure.n)))
    }

    fn arm(&self, by: &MeasuredBy) -> Option<&ArmFigures> {
        let has_all = |arm: &&ArmFigures| {
            let mut levels = by.levels.iter();
            levels.all(|(factor, level)| arm.levels.get(factor) == Some(level))
        };
        self.judged.arms.iter().find(has_all)
    }
}

fn figure<'a>(arm: &'a ArmFigures, by: &MeasuredBy) -> Option<&'a Estimate> {
    let mut figures = arm.figures.iter();
    let found = figures.find(|figure| figure.metric == by.percent)?;
    Some(&found.estimate)
}
