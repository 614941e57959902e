//! Figures and changes of factorial runs as every page shows them.

use model::judgement::{Change, Figure, MetricInfo};
use model::{Effect, Estimate};

use crate::numbers;

/// A value and its interval, as shown; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Shown {
    pub(crate) value: String,
    pub(crate) interval: String,
}

impl Shown {
    /// An arm's figure; one that never varies is a fact and has no interval.
    pub(crate) fn figure(figure: Option<&Figure>, metric: &MetricInfo) -> Self {
        let Some(figure) = figure else {
            return Self::default();
        };
        let Estimate { value, .. } = figure.estimate;
        if figure.steady {
            return Self::alone(numbers::counted(value, &metric.unit));
        }
        Self {
            value: numbers::quantity(value, &metric.unit),
            interval: numbers::quantity_interval(&figure.estimate, &metric.unit),
        }
    }

    pub(crate) fn change(change: &Change) -> Self {
        match change {
            Change::Estimated(effect) => Self::effect(effect),
            Change::Exact(same) if same.value == same.against => Self::alone("equal".to_owned()),
            Change::Exact(_) => Self::alone(change.ratio().map_or_else(
                || "differs".to_owned(),
                |ratio| format!("{}, exactly", numbers::ratio(ratio)),
            )),
            Change::Unknown => Self::alone(numbers::MISSING.to_owned()),
        }
    }

    pub(crate) fn effect(effect: &Effect) -> Self {
        Self {
            value: numbers::ratio(effect.ratio),
            interval: numbers::ratio_interval(effect),
        }
    }

    /// A ratio of which no interval is known.
    pub(crate) fn ratio(ratio: f64) -> Self {
        Self::alone(numbers::ratio(ratio))
    }

    fn alone(value: String) -> Self {
        Self {
            value,
            interval: String::new(),
        }
    }

    /// On one line: `304 µs (301…307)`.
    pub(crate) fn joined(&self) -> String {
        if self.interval.is_empty() {
            return self.value.clone();
        }
        format!("{} ({})", self.value, self.interval.replace(" … ", "…"))
    }

    /// For a sentence: `304 µs (301 … 307)`.
    pub(crate) fn spoken(&self) -> String {
        if self.interval.is_empty() {
            return self.value.clone();
        }
        format!("{} ({})", self.value, self.interval)
    }
}

/// The cell that something holds in, at the end of what it is; nothing for the one cell of a study.
pub(crate) fn after_comma(cell: &str) -> String {
    if cell.is_empty() {
        return String::new();
    }
    format!(", {cell}")
}

/// Pairs behind a change.
pub(crate) fn pairs(change: &Change) -> u32 {
    match change {
        Change::Estimated(effect) => effect.n,
        Change::Exact(exact) => exact.n,
        Change::Unknown => 0,
    }
}
