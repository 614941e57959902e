//! Figures and changes of factorial runs as every page shows them.

use model::judgement::{Change, Figure, MetricInfo};
use model::{Effect, Estimate};

use crate::numbers;
use crate::view::Shown;

impl Shown {
    /// Shows an arm's figure. A figure that never varies is a fact and has no interval.
    pub(crate) fn figure(figure: Option<&Figure>, metric: &MetricInfo) -> Self {
        let Some(figure) = figure else {
            return Self::default();
        };
        let Estimate { value, .. } = figure.estimate;
        if figure.steady {
            return Self::text(numbers::counted(value, &metric.unit));
        }
        Self {
            value: numbers::quantity(value, &metric.unit),
            interval: numbers::quantity_interval(&figure.estimate, &metric.unit),
            ..Self::default()
        }
    }

    pub(crate) fn changed(change: &Change) -> Self {
        match change {
            Change::Estimated(effect) => Self::effect(effect),
            Change::Exact(same) if same.value == same.against => Self::text("equal".to_owned()),
            Change::Exact(_) => Self::text(change.ratio().map_or_else(
                || "differs".to_owned(),
                |ratio| format!("{}, exactly", numbers::ratio(ratio)),
            )),
            Change::Unknown => Self::text(numbers::MISSING.to_owned()),
        }
    }

    pub(crate) fn effect(effect: &Effect) -> Self {
        Self {
            value: numbers::ratio(effect.ratio),
            interval: numbers::ratio_interval(effect),
            ..Self::default()
        }
    }

    /// Shows a ratio whose interval is unknown.
    pub(crate) fn ratio(ratio: f64) -> Self {
        Self::text(numbers::ratio(ratio))
    }
}

/// Formats a cell as a suffix to what holds in it; empty for the one cell of a study.
pub(crate) fn after_comma(cell: &str) -> String {
    if cell.is_empty() {
        return String::new();
    }
    format!(", {cell}")
}

/// Number of pairs behind a change.
pub(super) fn pairs(change: &Change) -> u32 {
    match change {
        Change::Estimated(effect) => effect.n,
        Change::Exact(exact) => exact.n,
        Change::Unknown => 0,
    }
}
